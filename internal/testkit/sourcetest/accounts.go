package sourcetest

import (
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/testworld/geyser"
	"github.com/mintlake/mintlake/testworld/layout"
)

// mint returns the block's i-th mint: without authorities, with a supply and six decimals.
func (b *Block) mint(i int) *layout.Mint {
	return &layout.Mint{Supply: b.Slot<<8 | uint64(i), Decimals: 6}
}

// AccountUpdates returns the mint accounts that the block's transactions wrote, as Geyser streams
// them.
func (b *Block) AccountUpdates() (updates []*pb.SubscribeUpdate) {
	for _, account := range geyser.AccountUpdates(b.made()) {
		updates = append(updates, &pb.SubscribeUpdate{Filters: []string{"mintlake_mints"}, UpdateOneof: &pb.SubscribeUpdate_Account{Account: account}})
	}
	return updates
}

// RequireAccounts checks that a block has exactly the accounts that its own transactions wrote.
func (b *Block) RequireAccounts(t testing.TB, got *chain.Block) {
	t.Helper()
	require.Len(t, got.Accounts, b.Transactions)
	for i := range got.Accounts {
		require.Equal(t, b.mints[i], got.Accounts[i].Key)
		require.Equal(t, b.mint(i).Bytes(), got.Accounts[i].Data)
		require.Equal(t, i, got.Accounts[i].Transaction)
	}
}
