package swap

import (
	"encoding/base64"
	"net/http"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	executed "github.com/mintlake/mintlake/testworld/chain"
)

// landing is a chain on which swaps of one token land, and the wallets of those who take part.
type landing struct {
	*world
	*fixture
	mint                         venue.Key
	user, friend, payer, company solana.PrivateKey
}

func newLanding(t *testing.T) *landing {
	t.Helper()
	w := newWorld(t)
	l := &landing{
		world: w, fixture: startOver(t, Config{Hubs: []venue.Key{executed.NativeMint}, routing: hang}, w.rpc),
		user: walletOf(1), friend: walletOf(2), payer: walletOf(3), company: walletOf(4),
	}
	for _, key := range []solana.PrivateKey{l.user, l.friend, l.payer, l.company} {
		w.fund(key.PublicKey())
	}
	for _, mint := range w.majors() {
		if status, _ := l.do(t, http.MethodGet, l.path(executed.NativeMint, mint, "1000000000"), ""); status == http.StatusOK {
			l.mint = mint
		}
	}
	require.NotZero(t, l.mint)
	return l
}

// path asks for a swap over a venue that pays whom the request names.
func (l *landing) path(in, out venue.Key, amount string, more ...string) string {
	return query(in, out, amount, append([]string{fieldDexes, "raydium_amm_v4,raydium_cpmm,meteora_damm_v2", fieldOnlyDirect, "true"}, more...)...)
}

// buy and sell are swaps of the user: 1 SOL for the token, and a tenth of the token for SOL.
func (l *landing) buy(more ...string) Response {
	return l.quoteOK(l.t, l.path(executed.NativeMint, l.mint, "1000000000", append(more, fieldUser, l.user.PublicKey().String())...))
}

func (l *landing) sell(more ...string) Response {
	return l.quoteOK(l.t, l.path(l.mint, executed.NativeMint, decimal(l.holds(l.user.PublicKey(), l.mint.String())/10), append(more, fieldUser, l.user.PublicKey().String())...))
}

// account is a wallet's associated account.
func (l *landing) account(of solana.PrivateKey, mint venue.Key) string {
	key, err := venue.AssociatedAccount(venue.Key(of.PublicKey()), mint, swaptest.TokenProgram)
	require.NoError(l.t, err)
	return key.String()
}

// lamports are an account's.
func (l *landing) lamports(account string) int64 {
	var balance struct{ Value int64 }
	require.NoError(l.t, l.rpc.Call(l.t.Context(), "getBalance", []any{account, map[string]any{"commitment": "processed"}}, &balance))
	return balance.Value
}

// sol returns a reader of how many lamports a wallet has more than now.
func (l *landing) sol(of solana.PrivateKey) func() int64 {
	before := l.lamports(of.PublicKey().String())
	return func() int64 { return l.lamports(of.PublicKey().String()) - before }
}

// coins returns a reader of how much of a token a wallet has more than now.
func (l *landing) coins(of solana.PrivateKey, mint venue.Key) func() int64 {
	before := l.holds(of.PublicKey(), mint.String())
	return func() int64 { return int64(l.holds(of.PublicKey(), mint.String())) - int64(before) }
}

// lands signs with all keys that a transaction wants and sends it. It returns the transaction.
func (l *landing) lands(r Response) *txwire.Transaction {
	t := l.t
	wire, err := base64.StdEncoding.DecodeString(r.Txn)
	require.NoError(t, err)
	var tx txwire.Transaction
	require.NoError(t, tx.Parse(wire))
	message, err := tx.AppendMessage(nil)
	require.NoError(t, err)
	for i := range tx.Signatures {
		keys := []solana.PrivateKey{l.user, l.payer}
		at := slices.IndexFunc(keys, func(key solana.PrivateKey) bool { return string(key.PublicKey().Bytes()) == string(tx.Keys[i]) })
		require.GreaterOrEqual(t, at, 0)
		signature, err := keys[at].Sign(message)
		require.NoError(t, err)
		tx.Signatures[i] = signature[:]
	}
	wire, err = tx.Append(nil)
	require.NoError(t, err)
	options := map[string]any{"encoding": "base64", "preflightCommitment": "processed"}
	require.NoError(t, l.rpc.Call(t.Context(), "sendTransaction", []any{base64.StdEncoding.EncodeToString(wire), options}, nil))
	l.step()
	return &tx
}

// costs are what a transaction takes from who pays for it, without rent.
func costs(r Response) int64 { return int64(r.Fee + r.PriorityFee) }

// moves are the parameters that say where money goes, and who pays. Each has swaps that land, after
// which the money is where it should be. TestNoBadParameterReachesAPool and
// TestMoneyGoesWhereItIsSent have what each refuses.
var moves = map[string]func(t *testing.T, l *landing){
	fieldDestination: func(t *testing.T, l *landing) {
		own, theirs := l.coins(l.user, l.mint), l.coins(l.friend, l.mint)
		r := l.buy(fieldDestination, l.account(l.friend, l.mint))
		l.lands(r)
		require.Equal(t, int64(number(t, r.AmountOut)), theirs())
		require.Zero(t, own())
	},
	fieldNative: func(t *testing.T, l *landing) {
		own, theirs := l.sol(l.user), l.sol(l.friend)
		r := l.sell(fieldNative, l.friend.PublicKey().String())
		l.lands(r)
		require.Equal(t, int64(number(t, r.AmountOut)), theirs())
		require.Equal(t, -costs(r), own(), "the rent of the account for wrapped SOL is back")
	},
	fieldPayer: func(t *testing.T, l *landing) {
		own, theirs, coins := l.sol(l.user), l.sol(l.payer), l.coins(l.user, l.mint)
		r := l.buy(fieldPayer, l.payer.PublicKey().String())
		l.lands(r)
		require.Equal(t, int64(-1_000_000_000), own(), "the user pays for what he buys alone")
		require.Equal(t, -costs(r)-int64(r.Rent), theirs())
		require.Equal(t, int64(number(t, r.AmountOut)), coins())
		own, theirs = l.sol(l.user), l.sol(l.payer)
		r = l.sell(fieldPayer, l.payer.PublicKey().String())
		l.lands(r)
		require.Equal(t, int64(number(t, r.AmountOut)), own())
		require.Equal(t, -costs(r), theirs(), "the rent of the account for wrapped SOL is back")
	},
	fieldFeeAccount: func(t *testing.T, l *landing) {
		own, fee := l.coins(l.user, l.mint), l.coins(l.company, l.mint)
		r := l.buy(fieldFee, "100", fieldFeeAccount, l.account(l.company, l.mint))
		l.lands(r)
		require.Equal(t, int64(number(t, r.AmountOut)), own())
		require.Equal(t, feePlatform, r.Fees[len(r.Fees)-1].Kind)
		require.Equal(t, int64(number(t, r.Fees[len(r.Fees)-1].Amount)), fee())
	},
	fieldWrap: func(t *testing.T, l *landing) {
		own, wrapped := l.sol(l.user), l.coins(l.user, executed.NativeMint)
		r := l.sell(fieldWrap, "false")
		l.lands(r)
		bought := int64(number(t, r.AmountOut))
		require.Equal(t, bought, wrapped())
		require.Equal(t, -costs(r)-int64(r.Rent), own())
		own, wrapped = l.sol(l.user), l.coins(l.user, executed.NativeMint)
		r = l.quoteOK(t, l.path(executed.NativeMint, l.mint, decimal(uint64(bought)), fieldWrap, "false", fieldUser, l.user.PublicKey().String()))
		l.lands(r)
		require.Equal(t, -bought, wrapped(), "what is sold comes from there")
		require.Equal(t, -costs(r), own())
		l.lands(l.sell(fieldSkipAccounts, "true")) // which closes it
	},
	fieldSkipAccounts: func(t *testing.T, l *landing) {
		own := l.sol(l.user)
		r := l.sell(fieldSkipAccounts, "true")
		l.lands(r)
		require.Equal(t, int64(number(t, r.AmountOut))-costs(r), own())
		// Of an account for wrapped SOL that the user had, nothing goes to who pays in his place.
		l.lands(l.sell(fieldWrap, "false"))
		theirs, wrapped := l.sol(l.payer), l.coins(l.user, executed.NativeMint)
		r = l.sell(fieldSkipAccounts, "true", fieldPayer, l.payer.PublicKey().String())
		l.lands(r)
		require.Equal(t, -costs(r), theirs())
		require.Equal(t, int64(number(t, r.AmountOut)), wrapped())
		rent := l.lamports(l.account(l.user, executed.NativeMint))
		own = l.sol(l.user)
		r = l.sell(fieldSkipAccounts, "true")
		l.lands(r)
		require.Equal(t, int64(number(t, r.AmountOut))+rent-costs(r), own(), "it is closed, with what was in it")
	},
	fieldLegacy: func(t *testing.T, l *landing) {
		coins := l.coins(l.user, l.mint)
		r := l.buy(fieldLegacy, "true")
		require.Equal(t, txwire.Legacy, l.lands(r).Version)
		require.Equal(t, int64(number(t, r.AmountOut)), coins())
	},
	fieldVersion: func(t *testing.T, l *landing) {
		coins, own := l.coins(l.user, l.mint), l.sol(l.user)
		r := l.buy(fieldVersion, "1")
		require.Equal(t, txwire.V1, l.lands(r).Version)
		require.Equal(t, int64(number(t, r.AmountOut)), coins())
		require.Equal(t, -costs(r)-1_000_000_000, own())
	},
	fieldUnitPrice: func(t *testing.T, l *landing) {
		own := l.sol(l.user)
		r := l.buy(fieldUnitPrice, "123456")
		l.lands(r)
		require.EqualValues(t, (uint64(r.ComputeUnits)*123_456+999_999)/1_000_000, r.PriorityFee)
		require.Equal(t, -costs(r)-1_000_000_000, own())
	},
	fieldDynamicUnits: func(t *testing.T, l *landing) {
		plain := l.buy()
		coins, own := l.coins(l.user, l.mint), l.sol(l.user)
		r := l.buy(fieldDynamicUnits, "true")
		require.Less(t, r.ComputeUnits, plain.ComputeUnits)
		l.lands(r)
		require.Equal(t, int64(number(t, r.AmountOut)), coins())
		require.Equal(t, -costs(r)-1_000_000_000, own())
	},
	fieldOffCurve: func(t *testing.T, l *landing) {
		// A program would sign for it, so it does not land here.
		vault := cpmm.Authority
		r := l.quoteOK(t, l.path(executed.NativeMint, l.mint, "1000000000", fieldUser, vault.String(), fieldOffCurve, "true"))
		_, steps := stepsOf(t, r.Txn)
		account, err := venue.AssociatedAccount(vault, l.mint, swaptest.TokenProgram)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(steps, func(s step) bool { return slices.Contains(s.accounts, account) }))
	},
}

// TestTheMoneyIsWhereItShouldBe after swaps with each of the parameters that move it.
func TestTheMoneyIsWhereItShouldBe(t *testing.T) {
	l := newLanding(t)
	// Purchases of their own open the accounts of all.
	for _, key := range []solana.PrivateKey{l.user, l.friend, l.company} {
		l.send(key, l.quoteOK(t, l.path(executed.NativeMint, l.mint, "1000000000", fieldUser, key.PublicKey().String())))
		l.step()
	}
	for _, field := range order[slices.Index(order, fieldVersion):slices.Index(order, fieldSizes)] {
		require.Contains(t, moves, field)
		t.Run(field, func(t *testing.T) {
			l.t = t
			moves[field](t, l)
		})
	}
}
