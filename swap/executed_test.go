package swap

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// shape is a sort of route.
type shape struct {
	name string
	// pools puts them. The route is from the first coin to SOL, or over SOL to the second.
	pools func(p *programs, first, second venue.Key)
	hops  bool
}

func shapes() []shape {
	depth, even := [2]int{38, 41}, [2]int{40, 40}
	return []shape{
		{"a split over AMM v4 and AMM v4", func(p *programs, first, _ venue.Key) {
			p.AMMV4("one", first, even)
			p.AMMV4("two", first, even)
		}, false},
		{"a split over AMM v4 and PumpSwap", func(p *programs, first, _ venue.Key) {
			p.AMMV4("one", first, even)
			p.PumpSwap(first, even, true)
		}, false},
		{"AMM v4, then AMM v4", func(p *programs, first, second venue.Key) {
			p.AMMV4("one", first, depth)
			p.AMMV4("two", second, depth)
		}, true},
		{"AMM v4, then PumpSwap", func(p *programs, first, second venue.Key) {
			p.AMMV4("one", first, depth)
			p.PumpSwap(second, depth, true)
		}, true},
		{"PumpSwap, then AMM v4", func(p *programs, first, second venue.Key) {
			p.PumpSwap(first, depth, true)
			p.AMMV4("two", second, depth)
		}, true},
	}
}

// TestExecutedRoutes runs splits and routes over two pools, with the transactions of the API: the
// user ends with exactly what was quoted, and on the way stays what residual tells.
func TestExecutedRoutes(t *testing.T) {
	cases := max(svmtest.Cases(t)/8, 1) // of each shape
	for _, version := range svmtest.Quoted {
		t.Run(version, func(t *testing.T) {
			p := newPrograms(t, version)
			f := start(t, Config{hubs: []venue.Key{swaptest.WrappedSOL}}, p.chain)
			for _, s := range shapes() {
				routed := 0
				for range cases {
					if p.route(f, s) {
						routed++
					}
				}
				t.Logf("%s: %d of %d are such routes; refused %v", s.name, routed, cases, p.refused)
				clear(p.refused)
				require.True(t, 4*routed > cases || cases < 20, s.name)
			}
		})
	}
}

// ends are the tokens of an order.
type ends struct{ in, out venue.Key }

// begin draws pools of a shape, what the user has, and the ends of an order.
func (p *programs) begin(s shape) ends {
	p.Clear()
	first, second := swaptest.Named("first"), swaptest.Named("second")
	for _, coin := range []venue.Key{first, second} {
		p.Mint(coin, mint.Token, 1<<50)
	}
	s.pools(p, first, second)
	e := ends{first, swaptest.WrappedSOL}
	switch {
	case s.hops:
		e.out = second
	case p.Random.IntN(2) == 0:
		e = ends{swaptest.WrappedSOL, first}
	}
	accounts := map[venue.Key]*solana.Account{}
	for _, key := range p.left {
		accounts[key] = &solana.Account{}
	}
	p.left = nil
	for _, coin := range []venue.Key{first, second, swaptest.WrappedSOL} {
		if coin != swaptest.WrappedSOL && coin == e.in || p.Random.IntN(2) == 0 {
			p.Associated(p.User, coin, svmtest.Rich)
		} else { // what an earlier case left
			accounts[p.Account(p.User, coin)] = &solana.Account{}
		}
	}
	p.chain.Replace(p.Held)
	p.machine.Set(accounts)
	p.machine.Set(p.Held)
	return e
}

// route makes one case. It returns whether the route was of the shape: a split is not always best.
func (p *programs) route(f *fixture, s shape) bool {
	t := p.t
	e := p.begin(s)
	mode := modeIn
	if p.Random.IntN(3) == 0 {
		mode = modeOut
	}
	path := query(e.in, e.out, "", fieldMode, mode, fieldUser, wallet.String()) + "&amount=" + decimal(p.Amount(32, 38))
	status, body := f.do(t, http.MethodGet, path, "")
	if status == http.StatusNotFound {
		var refusal struct{ Code string }
		require.NoError(t, json.Unmarshal(body, &refusal))
		require.Contains(t, []string{string(venue.ErrNoLiquidity), string(venue.ErrTooLarge), codeTooLarge}, refusal.Code, string(body))
		p.refused[refusal.Code]++
		return false
	}
	require.Equal(t, http.StatusOK, status, string(body))
	var r Response
	require.NoError(t, json.Unmarshal(body, &r))
	wire, err := base64.StdEncoding.DecodeString(r.Txn)
	require.NoError(t, err)
	before := p.purse()
	ran := p.run(wire)
	require.LessOrEqual(t, ran.Units, r.ComputeUnits)
	want := p.after(before, r)
	want[swaptest.WrappedSOL.String()] -= p.opened(ran)
	require.Equal(t, want, p.purse(), "%s: %s", s.name, body)
	if s.hops {
		return len(r.Routes[0].Legs) == 2
	}
	return len(r.Routes) == 2
}

// purse is what the user has by token; SOL is lamports and wrapped SOL. Tokens without an account
// are not in it.
type purse map[string]uint64

func (p *programs) purse() purse {
	sol := swaptest.WrappedSOL.String()
	all := purse{sol: p.holds(venue.Key{}, true)}
	for _, coin := range []venue.Key{swaptest.Named("first"), swaptest.Named("second"), swaptest.WrappedSOL} {
		_, accounts, err := p.chain.GetMultipleAccounts(p.t.Context(), []venue.Key{p.Account(p.User, coin)}, solana.AccountOptions{})
		require.NoError(p.t, err)
		if accounts[0] != nil {
			all[coin.String()] += p.holds(coin, false)
			if coin == swaptest.WrappedSOL {
				all[sol] += svmtest.TokenRent
			}
		}
	}
	return all
}

// after is what the user has by an answer after its transaction.
func (p *programs) after(before purse, r Response) purse {
	all := maps.Clone(before)
	sol := swaptest.WrappedSOL.String()
	all[sol] -= signatureFee + r.PriorityFee
	if _, had := all[r.TargetMint]; !had { // the new account's rent
		all[sol] -= svmtest.TokenRent
	}
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(p.t, err)
		return n
	}
	for _, leg := range r.Route {
		if leg.SourceMint == r.SourceMint {
			all[r.SourceMint] -= number(leg.AmountIn)
		}
	}
	all[r.TargetMint] += number(r.AmountOut)
	for _, left := range r.Residual {
		if left.Mint != r.SourceMint { // of the token in the middle
			all[left.Mint] += number(left.AmountMax)
		}
	}
	return all
}

// opened is the rent of others' token accounts that a transaction made: PumpSwap's of the user's
// cashback.
func (p *programs) opened(ran *svmtest.Ran) (rent uint64) {
	for key, account := range ran.Accounts {
		if account == nil || p.Held[key] != nil || len(account.Data) != 165 || venue.Key(account.Data[32:64]) == p.User {
			continue
		}
		require.Equal(p.t, uint64(svmtest.TokenRent), account.Lamports-binary.LittleEndian.Uint64(account.Data[64:]))
		rent += svmtest.TokenRent
		p.left = append(p.left, key)
	}
	return rent
}
