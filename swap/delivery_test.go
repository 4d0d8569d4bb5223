package swap

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// step is an instruction of a transaction: its program and first byte, and its accounts.
type step struct {
	name     string
	accounts []venue.Key
}

// stepsOf reads a transaction of any version with our own reader.
func stepsOf(t *testing.T, text string) (*txwire.Transaction, []step) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	tx := &txwire.Transaction{}
	require.NoError(t, tx.Parse(raw))
	require.NoError(t, tx.CheckLimits(len(raw)))
	var steps []step
	for _, in := range tx.Instructions {
		s := step{name: fmt.Sprintf("%s %d", venue.Key(tx.Keys[in.Program]).String()[:5], in.Data[0])}
		for _, place := range in.Accounts {
			s.accounts = append(s.accounts, venue.Key(tx.Keys[place]))
		}
		steps = append(steps, s)
	}
	return tx, steps
}

// named returns the first step with a name.
func named(t *testing.T, steps []step, name string) step {
	t.Helper()
	i := slices.IndexFunc(steps, func(s step) bool { return s.name == name })
	require.GreaterOrEqual(t, i, 0, "%s in %v", name, steps)
	return steps[i]
}

// holding is the data of a token account.
func holding(mint, owner venue.Key, state byte) []byte {
	data := make([]byte, 165)
	copy(data, mint[:])
	copy(data[holderAt:], owner[:])
	data[holdingStateAt] = state
	return data
}

// second returns another wallet.
func second(n byte) venue.Key {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return venue.Key(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
}

const (
	stepTransfer = "Token 12"
	stepUnwrap   = "Token 45"
)

// TestMoneyGoesWhereItIsSent: each parameter about the money, and what its accounts may not be.
func TestMoneyGoesWhereItIsSent(t *testing.T) {
	c := onePool()
	f := start(t, Config{}, c)
	user, friend, payer := venue.Key(wallet), second(1), second(2)
	own := func(mint venue.Key) venue.Key {
		account, err := venue.AssociatedAccount(user, mint, swaptest.TokenProgram)
		require.NoError(t, err)
		return account
	}
	theirs, frozen, other := swaptest.Named("theirs"), swaptest.Named("frozen"), swaptest.Named("other")
	c.Set(theirs, swaptest.TokenProgram, holding(coin, friend, holdingInit))
	c.Set(frozen, swaptest.TokenProgram, holding(coin, friend, holdingFrozen))
	c.Set(other, swaptest.TokenProgram, holding(swaptest.WrappedSOL, friend, holdingInit))
	c.Set(swaptest.Named("forged"), swaptest.Named("nobody"), holding(coin, friend, holdingInit))
	buy := func(more ...string) string {
		return query(swaptest.WrappedSOL, coin, "1000000", append([]string{fieldUser, user.String()}, more...)...)
	}
	sell := func(more ...string) string {
		return query(coin, swaptest.WrappedSOL, "1000000", append([]string{fieldUser, user.String()}, more...)...)
	}
	made := func(path string) (Response, *txwire.Transaction, []step) {
		r := f.quoteOK(t, path)
		tx, steps := stepsOf(t, r.Txn)
		return r, tx, steps
	}
	refused := func(path, message string) { f.refused(t, http.MethodGet, path, "", http.StatusBadRequest, message) }

	r, _, steps := made(buy(fieldDestination, theirs.String()))
	require.Equal(t, theirs, named(t, steps, stepSwap).accounts[5], "the swap pays it")
	require.Zero(t, r.Rent, "no account of the user is opened for what he does not get")
	for account, message := range map[venue.Key]string{
		other: "must be a token account of " + coin.String(), frozen: "must not be frozen", friend: "must be a token account",
		swaptest.Named("forged"): "must be a token account",
	} {
		refused(buy(fieldDestination, account.String()), message)
	}
	refused(buy(fieldDestination, theirs.String(), fieldFee, "5", fieldTreasury, friend.String()), "must belong to the user")
	r, _, steps = made(sell(fieldDestination, other.String()))
	require.Equal(t, other, named(t, steps, stepSwap).accounts[5])
	require.False(t, r.Unwraps)
	require.False(t, slices.ContainsFunc(steps, func(s step) bool { return s.name == stepClose }), "nothing was opened")

	r, _, steps = made(sell(fieldNative, friend.String()))
	require.Equal(t, []venue.Key{own(swaptest.WrappedSOL), friend, user}, named(t, steps, stepUnwrap).accounts)
	require.Equal(t, []venue.Key{own(swaptest.WrappedSOL), user, user}, named(t, steps, stepClose).accounts, "the rent goes back")
	require.True(t, r.Unwraps)
	refused(sell(fieldNative, theirs.String()), "must be no token account")
	refused(query(coin, swaptest.WrappedSOL, "1000", fieldUser, user.String(), fieldNative, second(9).String()), "must buy at least")
	refused(sell(fieldNative, own(swaptest.WrappedSOL).String()), "must not be the user's account for wrapped SOL")

	r, tx, steps := made(buy(fieldPayer, payer.String()))
	require.Equal(t, payer[:], tx.Keys[0])
	require.EqualValues(t, 2, tx.Header.Signers)
	require.EqualValues(t, 10_000, r.Fee)
	require.Equal(t, []venue.Key{payer, own(coin), user}, named(t, steps, stepCreate).accounts[:3], "he pays the rent")
	require.Equal(t, []venue.Key{own(swaptest.WrappedSOL), user, user}, named(t, steps, stepUnwrap).accounts, "the user's SOL stays his")
	require.Equal(t, payer, named(t, steps, stepClose).accounts[1], "the payer's rent comes back")
	require.Contains(t, r.Warnings, "payer: has 0 lamports, and the transaction takes "+decimal(r.Fee+r.PriorityFee+r.Rent+f.rent().Of(tokenAccountSize)))
	require.Contains(t, r.Warnings, "user_account: has 0 lamports, and the transaction takes 1000000")
	refused(buy(fieldPayer, cpmm.Authority.String()), "must be a wallet")
	refused(buy(fieldPayer, cpmm.Program.String()), "payer is")

	r, _, steps = made(buy(fieldFee, "100", fieldFeeAccount, theirs.String()))
	require.Equal(t, []venue.Key{own(coin), coin, theirs, user}, named(t, steps, stepTransfer).accounts)
	require.NotZero(t, r.FeeBps)
	refused(buy(fieldFee, "100", fieldFeeAccount, other.String()), "fee_account is")
	made(buy(fieldFeeAccount, other.String())) // nothing is paid there

	refused(buy(fieldWrap, "false"), "must be true unless the user has an account for wrapped SOL")
	_, _, steps = made(sell(fieldWrap, "false"))
	require.Equal(t, stepSwap, steps[len(steps)-1].name, "it stays wrapped")
	c.Set(own(swaptest.WrappedSOL), swaptest.TokenProgram, holding(swaptest.WrappedSOL, user, holdingInit))
	_, _, steps = made(buy(fieldWrap, "false"))
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap}, names(steps), "nothing is wrapped")
	refused(sell(fieldNative, friend.String()), "must be absent while the user has an account for wrapped SOL")
	_, _, steps = made(sell(fieldSkipAccounts, "true"))
	require.Equal(t, stepClose, steps[len(steps)-1].name, "nobody looked whether it is there")
	for _, path := range []string{sell(fieldSkipAccounts, "true", fieldPayer, payer.String()), buy(fieldSkipAccounts, "true", fieldPayer, payer.String())} {
		_, _, steps = made(path)
		require.NotContains(t, names(steps), stepClose, "its rent, which the user paid, would go to the payer")
	}
	_, _, steps = made(sell(fieldSkipAccounts, "true", fieldPayer, user.String()))
	require.Equal(t, stepClose, steps[len(steps)-1].name, "he pays for himself")
	refused(sell(fieldSkipAccounts, "true", fieldNative, friend.String()), "must be absent while the user has an account for wrapped SOL")

	vault := cpmm.Authority
	refused(query(coin, swaptest.WrappedSOL, "1000000", fieldUser, vault.String()), "off the curve")
	r, _, steps = made(query(coin, swaptest.WrappedSOL, "1000000", fieldUser, vault.String(), fieldOffCurve, "true"))
	require.Equal(t, vault, named(t, steps, stepSwap).accounts[0])
	require.NotEmpty(t, r.Txn)
}

func names(steps []step) (list []string) {
	for _, s := range steps {
		list = append(list, s.name)
	}
	return list
}

// TestPriorityIsPaidAsAsked: by unit, by what others paid up to a bound, or as a tip.
func TestPriorityIsPaidAsAsked(t *testing.T) {
	f := start(t, Config{}, onePool())
	ask := func(more ...string) (Response, []step) {
		r := f.quoteOK(t, query(coin, swaptest.WrappedSOL, "1000000", append([]string{fieldUser, wallet.String()}, more...)...))
		_, steps := stepsOf(t, r.Txn)
		return r, steps
	}
	r, _ := ask(fieldUnitPrice, "50000")
	require.Equal(t, uint64(r.ComputeUnits)*50_000/1_000_000, r.PriorityFee)
	r, _ = ask(fieldUnitPrice, "0")
	require.Zero(t, r.PriorityFee)
	r, _ = ask(fieldPriorityFee, `{"priorityLevelWithMaxLamports":{"priorityLevel":"high","maxLamports":7}}`)
	require.InDelta(t, 7, r.PriorityFee, 1, "not more than the bound")
	require.LessOrEqual(t, r.PriorityFee, uint64(7))
	r, steps := ask(fieldPriorityFee, `{"jitoTipLamports":1234}`)
	require.Zero(t, r.PriorityFee)
	last := steps[len(steps)-1]
	require.Equal(t, stepSend, last.name)
	require.Equal(t, venue.Key(wallet), last.accounts[0])
	require.Contains(t, tipAccounts, last.accounts[1])
	_, steps = ask(fieldPriorityFee, fmt.Sprintf(`{"jitoTipLamportsWithPayer":{"lamports":5,"payer":%q}}`, solana.PublicKey(second(3))))
	require.Equal(t, second(3), steps[len(steps)-1].accounts[0])
}

// TestVersionsOfTransactions: legacy ones have no version and no tables, those of version 1 their
// limits and fee in the config, and room for what version 0 cannot carry.
func TestVersionsOfTransactions(t *testing.T) {
	f := start(t, Config{}, onePool())
	ask := func(more ...string) (Response, *txwire.Transaction, []step) {
		r := f.quoteOK(t, query(swaptest.WrappedSOL, coin, "1000000", append([]string{fieldUser, wallet.String()}, more...)...))
		tx, steps := stepsOf(t, r.Txn)
		return r, tx, steps
	}
	r, tx, steps := ask()
	require.Equal(t, txwire.V0, tx.Version)
	require.Equal(t, "0", r.Version)
	for _, more := range [][]string{{fieldVersion, "legacy"}, {fieldLegacy, "true"}, {aliases[fieldLegacy], "true"}} {
		r, legacy, same := ask(more...)
		require.Equal(t, txwire.Legacy, legacy.Version)
		require.Equal(t, "legacy", r.Version)
		require.Equal(t, steps, same)
		require.Equal(t, tx.Keys, legacy.Keys)
	}
	r, one, same := ask(fieldVersion, "1", fieldPriorityFee, "4321")
	require.Equal(t, txwire.V1, one.Version)
	require.Equal(t, "1", r.Version)
	require.Equal(t, steps[2:], same, "but for the instructions of the compute budget")
	require.EqualValues(t, 4321, *one.Config.PriorityFee)
	require.EqualValues(t, 4321, r.PriorityFee)
	require.Equal(t, r.ComputeUnits, *one.Config.ComputeUnitLimit)
	require.EqualValues(t, 64<<20, *one.Config.LoadedAccountsDataSizeLimit, "without it nodes refuse the transaction")
	require.Nil(t, one.Config.HeapSize)
	require.Equal(t, [][]byte{make([]byte, 64)}, one.Signatures)

	for version, size := range map[string]func(*TransactionBytes) int{"0": func(b *TransactionBytes) int { return b.Zero }, "1": func(b *TransactionBytes) int { return b.One }} {
		sized := f.quoteOK(t, query(swaptest.WrappedSOL, coin, "1000000", fieldUser, wallet.String(), fieldVersion, version, fieldSizes, "true"))
		wire, err := base64.StdEncoding.DecodeString(sized.Txn)
		require.NoError(t, err)
		require.Len(t, wire, size(sized.TransactionBytes))
	}
	status, body := f.do(t, http.MethodGet, query(swaptest.WrappedSOL, coin, "1000000", fieldSizes, "true"), "")
	require.Equal(t, http.StatusOK, status)
	conforms(t, "Quote", body)
	require.Contains(t, string(body), `"transaction_bytes":{"0":`)
}
