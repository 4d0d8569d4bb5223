package dammv1

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/executed"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

const vectors = "data/swap-vectors/meteora-damm-v1/"

// args of an executed order.
type args struct {
	Amount uint64 `json:"in_amount,string"`
	Sells  bool   `json:"a_to_b"`
}

// after is what the vaults have behind an order.
type after struct {
	TotalA  uint64 `json:"vault_total_a,string"`
	TotalB  uint64 `json:"vault_total_b,string"`
	SupplyA uint64 `json:"lp_supply_a,string"`
	SupplyB uint64 `json:"lp_supply_b,string"`
	SharesA uint64 `json:"pool_lp_a,string"`
	SharesB uint64 `json:"pool_lp_b,string"`
}

// unnamed is the error of an order that does not name the account with the price, as ours do.
const unnamed = "InvalidRemainingAccountsLen"

// judge compares the quote of an order with what the program did, and tells what it found.
func judge(t *testing.T, p *Pool, o venue.Order, user venue.Key, in, out uint64, failed string) string {
	t.Helper()
	q, err := p.Quote(o)
	if err == nil {
		_, err = p.Instructions(q, 0, venue.UserAccounts{Owner: user})
	}
	switch {
	case failed == unnamed:
		require.NotEqual(t, venue.Key{}, p.stake)
		return "an order without the stake account"
	case failed != "":
		require.NotEmpty(t, venue.RefusalOf(err), "the program refuses: %s", failed)
		return "refused"
	case out == 0:
		require.ErrorIs(t, err, venue.ErrTooSmall)
		return "nothing"
	}
	require.NoError(t, err)
	require.Equal(t, [2]uint64{in, out}, [2]uint64{q.AmountIn, q.AmountOut})
	return "same"
}

// gone is a state in which accounts that a file does not have do not exist: no order of stSOL's
// pools names Lido's.
type gone struct{ venue.State }

func (g gone) Account(key venue.Key) (*solana.Account, bool) {
	account, held := g.State.Account(key)
	return account, held || key == lidoState
}

// TestExecutedVectors compares with runs of the program over drawn pools: both curves, the prices
// of three kinds of staked SOL, vaults with locked profit and with other holders. The instruction
// of an order is the one that the program ran.
func TestExecutedVectors(t *testing.T) {
	file, counts, features := executed.Read[args, after](t, vectors+"executed_damm_v1_2025-11.json.gz"), map[string]int{}, venue.Features(0)
	for i := range file.Cases {
		c := &file.Cases[i]
		t.Logf("case %d: %+v", c.ID, c)
		held, address := gone{file.Held(c.State, func(data []byte) []byte { return data })}, file.Key(t, c.State, "pool")
		account, ok := held.Account(address)
		require.True(t, ok)
		opened, err := Venue{}.Open(address, account.Data)
		require.NoError(t, err)
		decoded, err := opened.Decode(held)
		failed := ""
		if c.Error != nil {
			failed = c.Error.Name + c.Error.Message
		}
		if c.Error != nil && c.Error.Name == unnamed {
			failed = unnamed
		}
		if failed == unnamed && err != nil {
			require.ErrorIs(t, err, venue.ErrUnread) // the file does not have the account either
			counts["without the stake account"]++
			continue
		}
		require.NoError(t, err)
		p := decoded.(*Pool)
		o := venue.Order{In: file.Key(t, c.State, "mint_b"), Amount: c.Args.Amount, Clock: file.Clock(c.State)}
		if c.Args.Sells {
			o.In = file.Key(t, c.State, "mint_a")
		}
		found := judge(t, p, o, pubkey.MustParse(file.States[c.State].User), c.In, c.Out, failed)
		counts[found]++
		if found != "same" {
			continue
		}
		q, err := p.Quote(o)
		require.NoError(t, err)
		features |= q.Features
		require.LessOrEqual(t, c.Units, q.ComputeUnits)
		sameAfter(t, p, o, &c.After)
		sameInstruction(t, p, q, file, c)
	}
	t.Log(counts, features.Names(Venue{}.FeatureNames()))
	require.Equal(t, len(file.Cases), counts["same"]+counts["refused"]+counts["nothing"]+counts["an order without the stake account"]+counts["without the stake account"])
	require.Positive(t, counts["same"])
	require.Equal(t, venue.Features(1<<len(Venue{}.FeatureNames())-1), features, "all are executed")
}

// sameAfter compares what the pool and the vaults have behind a swap.
func sameAfter(t *testing.T, p *Pool, o venue.Order, want *after) {
	t.Helper()
	m, r, err := p.swap(o)
	require.NoError(t, err)
	var got after
	for side, to := range [2][3]*uint64{{&got.TotalA, &got.SupplyA, &got.SharesA}, {&got.TotalB, &got.SupplyB, &got.SharesB}} {
		now, was := r.after[0], m.in
		if side != m.side {
			now, was = r.after[1], m.out
		}
		*to[0], *to[1], *to[2] = p.sides[side].vault.total+now.free-was.free, now.supply, now.shares
	}
	require.Equal(t, *want, got)
}

// sameInstruction compares with the instruction that the program ran.
func sameInstruction(t *testing.T, p *Pool, q venue.Quote, file *executed.File[args, after], c *executed.Case[args, after]) {
	t.Helper()
	user := venue.UserAccounts{Owner: pubkey.MustParse(file.States[c.State].User), Source: swaptest.Named("in"), Destination: swaptest.Named("out")}
	known := map[string]venue.Key{"user": user.Owner, "user_in": user.Source, "user_out": user.Destination, "vault_program": VaultProgram, "token_program": swaptest.TokenProgram}
	list, err := p.Instructions(q, 0, user)
	require.NoError(t, err)
	require.Equal(t, c.Data, list[0].Data)
	accounts := list[0].Accounts
	if len(c.Accounts) == 15 {
		accounts = accounts[:15] // the price was kept, so that the account need not be named
	}
	require.Len(t, accounts, len(c.Accounts))
	for i, role := range c.Accounts {
		name, flags, _ := strings.Cut(role, ":")
		want, is := known[name]
		if !is {
			want = file.Key(t, c.State, name)
		}
		require.Equal(t, venue.Meta{Key: want, Writable: strings.Contains(flags, "w"), Signer: strings.Contains(flags, "s")}, accounts[i], role)
	}
	trade, ok := Venue{}.Trade(venue.Call{Accounts: keysOf(list[0]), Data: list[0].Data})
	require.True(t, ok)
	require.Equal(t, venue.Trade{Pool: p.address, User: user.Owner, Source: user.Source, Destination: user.Destination, Amount: q.AmountIn}, trade)
}

func keysOf(in venue.Instruction) (keys []venue.Key) {
	for _, m := range in.Accounts {
		keys = append(keys, m.Key)
	}
	return keys
}

// mainnet reads the accounts of a pool of mSOL.
func mainnet(t testing.TB) map[venue.Key]*solana.Account {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, vectors+"accounts"), "*.json"))
	require.NoError(t, err)
	read := map[venue.Key]*solana.Account{}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		var one struct {
			Pubkey  string
			Account struct {
				Data  []string
				Owner string
			}
		}
		require.NoError(t, json.Unmarshal(raw, &one))
		data, err := base64.StdEncoding.DecodeString(one.Account.Data[0])
		require.NoError(t, err)
		read[pubkey.MustParse(one.Pubkey)] = &solana.Account{Owner: pubkey.MustParse(one.Account.Owner), Data: data}
	}
	sol := layout.Mint{Decimals: 9}
	// The files lack it.
	read[swaptest.WrappedSOL] = &solana.Account{Owner: swaptest.TokenProgram, Data: sol.Bytes()}
	return read
}

// TestProgramVectors compares with runs over a pool of the main network, whose vaults are of the
// first ones.
func TestProgramVectors(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, vectors+"litesvm_damm_v1.json"))
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Pool   string
			Time   int64  `json:"clock_unix_timestamp,string"`
			Sells  bool   `json:"a_to_b"`
			Amount uint64 `json:",string"`
			In     uint64 `json:"user_in,string"`
			Out    uint64 `json:"user_out,string"`
			Error  string
		}
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	read, counts := mainnet(t), map[string]int{}
	for i := range file.Cases {
		c := &file.Cases[i]
		t.Logf("case %d: %+v", i, c)
		address := pubkey.MustParse(c.Pool)
		opened, err := Venue{}.Open(address, read[address].Data)
		require.NoError(t, err)
		decoded, err := opened.Decode(venue.NewAccounts(read))
		require.NoError(t, err)
		mints := opened.Mints()
		o := venue.Order{In: mints[1], Amount: c.Amount, Clock: venue.ClockAt(1, c.Time)}
		if c.Sells {
			o.In = mints[0]
		}
		failed := c.Error
		if strings.Contains(failed, unnamed) {
			failed = unnamed
		}
		counts[judge(t, decoded.(*Pool), o, swaptest.Named("user"), c.In, c.Out, failed)]++
	}
	t.Log(counts)
	judged := 0
	for _, n := range counts {
		judged += n
	}
	require.Equal(t, len(file.Cases), judged)
	require.Positive(t, counts["same"])
}
