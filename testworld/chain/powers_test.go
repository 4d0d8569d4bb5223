package chain

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/layout"
)

// TestEveryPowerIsThereInTheFirstMinute: among the tokens that a chain is asked for are mints with
// each extension, the product reads them, and what cannot be moved stays with its creator.
func TestEveryPowerIsThereInTheFirstMinute(t *testing.T) {
	cfg := Config{Seed: 3, TPS: 20, Tokens: 300, Past: 120, GenesisTime: time.Unix(1_800_000_000, 0)}
	g, err := New(cfg)
	require.NoError(t, err)
	for range cfg.Past + 5 {
		g.Next(nil)
	}
	kinds, pooled := map[string]int{}, map[uint16]int{}
	for _, token := range g.tokens {
		account := g.st.get(token.mint)
		if account.Owner != Token2022Program {
			continue
		}
		mint, err := tokenaccount.ParseMint(account.Owner, account.Data)
		require.NoError(t, err)
		for _, e := range mint.Extensions {
			kinds[e.Name]++
			require.NotContains(t, e.Name, "unknown")
			if token.pool != nil {
				pooled[e.Type]++
			}
		}
		if token.still {
			require.Len(t, token.holders, 1)
		}
	}
	for _, name := range []string{
		"permanent_delegate", "scaled_ui_amount", "default_account_state", "pausable", "transfer_hook", "interest_bearing_config", "confidential_transfer_mint",
		"non_transferable", "group_pointer", "group_member_pointer", "permissioned_burn", "transfer_fee_config", "mint_close_authority", "metadata_pointer", "token_metadata",
	} {
		require.Positive(t, kinds[name], "no mint has %s: %v", name, kinds)
	}
	for _, p := range powers {
		if p.unpoolable {
			require.Zero(t, pooled[p.kind], "pools refuse %d", p.kind)
		}
	}
}

// powered returns a token of the chain with an extension, and its creator.
func powered(t *testing.T, g *Generator, kind uint16) (*token, *Signer) {
	t.Helper()
	for _, token := range g.tokens {
		a := g.st.get(token.mint)
		if at, _ := layout.Extension(a.Data, kind); a.Owner == Token2022Program && at >= 0 {
			return token, g.wallets[token.holders[0]]
		}
	}
	t.Fatalf("no token has extension %d", kind)
	return nil, nil
}

// TestPowersAreKept: accounts of some mints begin frozen, tokens of some cannot be moved, those of
// some not be burnt without permission, and only the authority changes a multiplier. What is
// refused fails with the error of the real program.
func TestPowersAreKept(t *testing.T) {
	cfg := Config{Seed: 3, TPS: 20, Tokens: 300, Past: 120, GenesisTime: time.Unix(1_800_000_000, 0)}
	g, err := New(cfg)
	require.NoError(t, err)
	for range cfg.Past {
		g.Next(nil)
	}
	try := func(payer *Signer, ixs ...Instruction) *TxError {
		message, err := compile(payer.Key, ixs, txwire.Legacy, nil, g.hash)
		require.NoError(t, err)
		tx := &Tx{Message: message, sign: []*Signer{payer}}
		require.NoError(t, tx.signAll())
		require.NoError(t, g.Simulate(tx))
		return tx.Meta.Err
	}
	move := func(kind uint16) *TxError {
		token, owner := powered(t, g, kind)
		other := deriveSigner(9, "stranger", uint64(kind)).Key
		to := g.ata(other, token)
		return try(owner, ixCreateATA(owner.Key, to, other, token.mint, token.program, false),
			ixTransferChecked(token.program, g.ata(owner.Key, token), token.mint, to, owner.Key, 1, token.decimals))
	}
	require.Equal(t, &TxError{Index: 1, Kind: ErrCustom, Custom: tokFrozen}, move(layout.ExtDefaultState))
	require.Equal(t, &TxError{Index: 1, Kind: ErrCustom, Custom: tokNonTransferable}, move(layout.ExtNonTransferable))
	for _, kind := range []uint16{layout.ExtPausable, layout.ExtTransferHook, layout.ExtPermanentDelegate, layout.ExtScaledAmount, layout.ExtPermissionedBurn} {
		require.Nil(t, move(kind), kind)
	}
	burn := func(kind uint16) *TxError {
		token, owner := powered(t, g, kind)
		return try(owner, ixBurn(token.program, g.ata(owner.Key, token), token.mint, owner.Key, 1))
	}
	require.Equal(t, &TxError{Index: 0, Kind: ErrCustom, Custom: tokInvalidInstr}, burn(layout.ExtPermissionedBurn))
	require.Nil(t, burn(layout.ExtPausable))

	token, creator := powered(t, g, layout.ExtScaledAmount)
	at, n := layout.Extension(g.st.get(token.mint).Data, layout.ExtScaledAmount)
	require.Equal(t, layout.ScaledSize, n)
	mint, err := tokenaccount.ParseMint(Token2022Program, g.st.get(token.mint).Data)
	require.NoError(t, err)
	said := map[string]string{}
	for _, e := range mint.Extensions {
		for _, attribute := range e.Attributes {
			said[e.Name+"."+attribute.Name] = attribute.Value
		}
	}
	require.Equal(t, []string{"1.25", "1.5"}, []string{said["scaled_ui_amount.multiplier"], said["scaled_ui_amount.new_multiplier"]})
	from, err := strconv.ParseInt(said["scaled_ui_amount.new_multiplier_effective_timestamp"], 10, 64)
	require.NoError(t, err)
	require.Greater(t, from, g.x.now)
	require.LessOrEqual(t, from, g.x.now+24*60*60)
	before := bytes.Clone(g.st.get(token.mint).Data[at : at+n])
	stranger := g.wallets[(token.holders[0]+1)%uint32(len(g.wallets))]
	require.Equal(t, &TxError{Index: 0, Kind: ErrCustom, Custom: tokOwnerMismatch}, try(stranger, ixMultiplier(token.mint, stranger.Key, 3, 0)))
	require.Equal(t, &TxError{Index: 0, Kind: ErrCustom, Custom: tokInvalidScale}, try(creator, ixMultiplier(token.mint, creator.Key, 0, 0)))
	require.Nil(t, try(creator, ixMultiplier(token.mint, creator.Key, 3, 0)))
	require.Equal(t, before, g.st.get(token.mint).Data[at:at+n], "a simulation changes nothing")
}
