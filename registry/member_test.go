package registry_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// edition is the mint's Metaplex edition account, as the chain's own library finds it.
func edition(t *testing.T, mint solana.PublicKey) solana.PublicKey {
	t.Helper()
	program := solana.MustPublicKeyFromBase58(schemas.ProgramMetaplex)
	address, _, err := solana.FindProgramAddress([][]byte{[]byte("metadata"), program[:], mint[:], []byte("edition")}, program)
	require.NoError(t, err)
	return address
}

func TestIsEdition(t *testing.T) {
	for n := range 200 {
		mint := solana.PublicKey{1, byte(n)}
		require.True(t, registry.IsEdition(pubkey.Key(mint), edition(t, mint).String()))
		require.False(t, registry.IsEdition(pubkey.Key(mint), edition(t, solana.PublicKey{2, byte(n)}).String()))
	}
	for _, text := range []string{"", "x", "0OIl", schemas.MintWrappedSOL, "11111111111111111111111111111111"} {
		require.False(t, registry.IsEdition(registry.WrappedSOL(), text), text)
	}
}

// TestABurnedNonFungibleIsNoToken, whichever way a node knows of it: burning takes away the
// metadata account, which said the token standard, and leaves a mint without supply whose authority
// is the edition account.
func TestABurnedNonFungibleIsNoToken(t *testing.T) {
	mint := solana.PublicKey{7}
	account := func(decimals uint32, supply uint64, authority solana.PublicKey) *eventspb.Enrichment {
		program := solana.TokenProgramID
		return &eventspb.Enrichment{Mint: mint[:], Slot: 9, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
			ProgramId: program[:], Decimals: decimals, Supply: supply, MintAuthority: authority[:],
		}}}
	}
	standard := uint32(0)
	seen := &eventspb.TokenEvent{
		Mint: mint[:], Position: &eventspb.Position{Slot: 3}, Payload: &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{TokenStandard: &standard}},
	}
	member := func(event *eventspb.TokenEvent, read *eventspb.Enrichment) bool {
		var state registry.State
		if event != nil {
			for _, fact := range registry.FactsOfEvent(event) {
				state.Apply(fact)
			}
		}
		for _, fact := range registry.FactsOfEnrichment(read) {
			state.Apply(fact)
		}
		require.Equal(t, state.Member(pubkey.Key(mint)), func() bool { _, m := state.Token(pubkey.Key(mint)); return m }())
		return state.Member(pubkey.Key(mint))
	}
	own, other := edition(t, mint), solana.PublicKey{8}
	require.False(t, member(seen, account(0, 0, own)), "who followed the chain knows the standard")
	require.False(t, member(nil, account(0, 0, own)), "who read the accounts does not")
	require.False(t, member(nil, account(0, 1, own)), "an old one, whose metadata names no standard")
	require.True(t, member(nil, account(0, 0, other)), "somebody can mint")
	require.True(t, member(nil, account(0, 2, own)))
	require.True(t, member(nil, account(6, 0, own)))
}
