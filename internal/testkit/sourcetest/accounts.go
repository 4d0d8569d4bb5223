package sourcetest

import (
	"encoding/binary"
	"testing"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
)

// mintAccount returns the account of the block's i-th mint: without authorities, with a supply and
// six decimals. A mint has 82 bytes: the supply is at 36, the decimals at 44, and 1 for initialised
// at 45.
func (b *Block) mintAccount(i int) []byte {
	data := make([]byte, 82)
	binary.LittleEndian.PutUint64(data[36:], b.Slot<<8|uint64(i))
	data[44], data[45] = 6, 1
	return data
}

// mintRent is what makes an account of 82 bytes rent-exempt, in lamports.
const mintRent = 1_461_600

// AccountUpdates returns the mint accounts that the block's transactions wrote, as Geyser streams
// them.
func (b *Block) AccountUpdates() (updates []*pb.SubscribeUpdate) {
	owner, _ := base58.Decode(schemas.ProgramToken)
	for i := range b.Transactions {
		updates = append(updates, &pb.SubscribeUpdate{Filters: []string{"mintlake_mints"}, UpdateOneof: &pb.SubscribeUpdate_Account{
			Account: &pb.SubscribeUpdateAccount{Slot: b.Slot, Account: &pb.SubscribeUpdateAccountInfo{
				Pubkey: b.mints[i], Lamports: mintRent, Owner: owner, RentEpoch: ^uint64(0), Data: b.mintAccount(i),
				WriteVersion: b.Slot<<8 | uint64(i), TxnSignature: b.signatures[i],
			}}}})
	}
	return updates
}

// RequireAccounts checks that a block has exactly the accounts that its own transactions wrote.
func (b *Block) RequireAccounts(t testing.TB, got *chain.Block) {
	t.Helper()
	require.Len(t, got.Accounts, b.Transactions)
	for i := range got.Accounts {
		require.Equal(t, b.mints[i], got.Accounts[i].Key[:])
		require.Equal(t, b.mintAccount(i), got.Accounts[i].Data)
		require.Equal(t, i, got.Accounts[i].Transaction)
	}
}
