package swap

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

func instructions(t *testing.T, text string) (*solana.Transaction, []string) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	require.LessOrEqual(t, len(raw), 1232)
	tx, err := solana.TransactionFromBytes(raw)
	require.NoError(t, err)
	require.Equal(t, solana.MessageVersionV0, tx.Message.GetVersion())
	require.Equal(t, []solana.Signature{{}}, tx.Signatures, "one signer, not signed yet")
	require.Equal(t, wallet, tx.Message.AccountKeys[0])
	require.Equal(t, solana.Hash(swaptest.Named("blockhash")), tx.Message.RecentBlockhash)
	var steps []string
	for _, ix := range tx.Message.Instructions {
		program := tx.Message.AccountKeys[ix.ProgramIDIndex]
		steps = append(steps, fmt.Sprintf("%s %d", program.String()[:5], ix.Data[0]))
	}
	return tx, steps
}

const (
	stepLimit  = "Compu 2"
	stepPrice  = "Compu 3"
	stepCreate = "AToke 1"
	stepSend   = "11111 2"
	stepSync   = "Token 17"
	stepSwap   = "CPMMo 143"
	stepClose  = "Token 9"
)

func TestTransactions(t *testing.T) {
	c := chain()
	sol := c.CPMM(swaptest.Pool{Name: "sol", Mints: [2]venue.Key{taxed, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	c.CPMM(swaptest.Pool{Name: "tokens", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	user := wallet.String()

	f.refused(t, http.MethodGet, query(coin, taxed, "100000", fieldUser, cpmm.Program.String()), "", http.StatusBadRequest,
		fieldUser+` is "`+cpmm.Program.String()+`": must be a wallet, and no program that the transaction calls`)

	r := f.quoteOK(t, query(coin, taxed, "100000", fieldUser, user))
	_, steps := instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap}, steps)
	require.False(t, r.Unwraps)
	require.EqualValues(t, 1150, r.LastValidBlockHeight)

	r = f.quoteOK(t, query(swaptest.WrappedSOL, taxed, "100000", fieldUser, user))
	tx, steps := instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepCreate, stepSend, stepSync, stepSwap, stepClose}, steps)
	swapIx := tx.Message.Instructions[6]
	metas, err := swapIx.ResolveInstructionAccounts(&tx.Message)
	require.NoError(t, err)
	side := 0
	if sol.Mints[1] == swaptest.WrappedSOL {
		side = 1
	}
	ata := func(mint, program venue.Key) solana.PublicKey {
		a, _, err := solana.FindProgramAddress([][]byte{wallet[:], program[:], mint[:]}, solana.SPLAssociatedTokenAccountProgramID)
		require.NoError(t, err)
		return a
	}
	var got []string
	for _, m := range metas {
		text := m.PublicKey.String()
		if m.IsSigner {
			text += " s"
		}
		if m.IsWritable {
			text += " w"
		}
		got = append(got, text)
	}
	text := pubkey.Key.String
	require.Equal(t, []string{
		user + " s w", text(cpmm.Authority), text(sol.Config), text(sol.Pool) + " w",
		ata(swaptest.WrappedSOL, swaptest.TokenProgram).String() + " w", ata(taxed, swaptest.Token2022Program).String() + " w",
		text(sol.Vaults[side]) + " w", text(sol.Vaults[1-side]) + " w", text(swaptest.TokenProgram), text(swaptest.Token2022Program),
		text(swaptest.WrappedSOL), text(taxed), text(sol.Observation) + " w",
	}, got)
	require.Len(t, swapIx.Data, 24)

	r = f.quoteOK(t, query(taxed, swaptest.WrappedSOL, "100000", fieldUser, user))
	_, steps = instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap, stepClose}, steps)
	require.True(t, r.Unwraps)

	// A user who keeps wrapped SOL keeps it wrapped.
	account := make([]byte, 165)
	c.Set(venue.Key(ata(swaptest.WrappedSOL, swaptest.TokenProgram)), swaptest.TokenProgram, account)
	r = f.quoteOK(t, query(taxed, swaptest.WrappedSOL, "100000", fieldUser, user))
	_, steps = instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap}, steps)
	require.False(t, r.Unwraps)
	r = f.quoteOK(t, query(swaptest.WrappedSOL, taxed, "100000", fieldUser, user))
	_, steps = instructions(t, r.Txn)
	require.NotContains(t, steps, stepClose)

	status, body := f.do(t, http.MethodPost, "/api/v2/swap", fmt.Sprintf(`{"src_mint":%q,"dst_mint":%q,"amount_in":100000,"slippage_bps":"50","user_account":%q}`,
		text(swaptest.WrappedSOL), text(taxed), user))
	require.Equal(t, http.StatusOK, status, string(body))
	var posted Response
	require.NoError(t, json.Unmarshal(body, &posted))
	for _, answer := range []*Response{&r, &posted} {
		answer.StateAgeMs, answer.TimeTakenMs = 0, 0
	}
	require.Equal(t, r, posted, "the same answer by POST")
}
