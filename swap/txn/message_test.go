package txn

import (
	"math/rand/v2"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/venue"
)

// TestMessagesAreThoseOfTheLibrary, byte by byte.
func TestMessagesAreThoseOfTheLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		// An account has the same rights in all instructions: where they differ, the library puts
		// it elsewhere.
		metas := make([]venue.Meta, 1+random.IntN(40))
		for i := range metas {
			metas[i] = venue.Meta{Key: venue.Key{byte(i), 1}, Signer: random.IntN(8) == 0, Writable: random.IntN(2) == 0}
		}
		payer := venue.Key{byte(random.IntN(2 * len(metas))), 1}
		list := make([]venue.Instruction, 1+random.IntN(6))
		var same []solana.Instruction
		for i := range list {
			list[i] = venue.Instruction{Program: venue.Key{byte(random.IntN(50)), 2}, Data: append([]byte{byte(i), byte(random.IntN(256))}, make([]byte, random.IntN(200))...)}
			var accounts solana.AccountMetaSlice
			for range random.IntN(20) {
				m := metas[random.IntN(len(metas))]
				m.Signer, m.Writable = m.Signer || m.Key == payer, m.Writable || m.Key == payer
				list[i].Accounts = append(list[i].Accounts, m)
				accounts = append(accounts, solana.NewAccountMeta(solana.PublicKey(m.Key), m.Writable, m.Signer))
			}
			same = append(same, solana.NewInstruction(solana.PublicKey(list[i].Program), accounts, list[i].Data))
		}
		blockhash := venue.Key{5, byte(random.IntN(256))}
		theirs, err := solana.NewTransaction(same, solana.Hash(blockhash), solana.TransactionPayer(solana.PublicKey(payer)))
		require.NoError(t, err)
		theirs.Message.SetVersion(solana.MessageVersionV0)
		wanted, err := theirs.MarshalBinary()
		require.NoError(t, err)
		message := compile(payer, blockhash, list)
		ours, err := (&solana.Transaction{Message: message}).MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, wanted, ours)
		require.Len(t, ours, size(&message))
		require.Len(t, ours, plainSize(accountsOf(nil, payer, list), list))
	}
}

// TestAnAccountHasTheRightsOfAllItsUses: one that one instruction reads, another writes and a third
// wants signed, stands once in the message, signs and is written.
func TestAnAccountHasTheRightsOfAllItsUses(t *testing.T) {
	payer, shared, other, program := venue.Key{1}, venue.Key{2}, venue.Key{3}, venue.Key{4}
	use := func(metas ...venue.Meta) venue.Instruction {
		return venue.Instruction{Program: program, Accounts: metas}
	}
	message := compile(payer, venue.Key{}, []venue.Instruction{
		use(venue.Meta{Key: shared}, venue.Meta{Key: payer}), use(venue.Meta{Key: other, Writable: true}),
		use(venue.Meta{Key: shared, Writable: true}), use(venue.Meta{Key: shared, Signer: true}),
	})
	require.Equal(t, solana.PublicKeySlice{solana.PublicKey(payer), solana.PublicKey(shared), solana.PublicKey(other), solana.PublicKey(program)}, message.AccountKeys)
	require.Equal(t, solana.MessageHeader{NumRequiredSignatures: 2, NumReadonlyUnsignedAccounts: 1}, message.Header)
	require.Equal(t, []uint16{1, 0}, message.Instructions[0].Accounts)
}
