package swap

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/lookup"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
	"github.com/mintlake/mintlake/testworld/layout"
)

// shape is a sort of route.
type shape struct {
	name string
	// pools puts them. The route is from the first coin to SOL, or over SOL to the second.
	pools func(p *programs, first, second venue.Key)
	// hops: it is over two pools. one: it is one swap. Else it is a split over two pools.
	hops, one bool
}

func shapes() []shape {
	depth, even := [2]int{38, 41}, [2]int{40, 40}
	return []shape{
		{"a split over AMM v4 and AMM v4", func(p *programs, first, _ venue.Key) {
			p.AMMV4("one", first, even)
			p.AMMV4("two", first, even)
		}, false, false},
		{"a split over AMM v4 and PumpSwap", func(p *programs, first, _ venue.Key) {
			p.AMMV4("one", first, even)
			p.PumpSwap(first, even, true)
		}, false, false},
		{"AMM v4, then AMM v4", func(p *programs, first, second venue.Key) {
			p.AMMV4("one", first, depth)
			p.AMMV4("two", second, depth)
		}, true, false},
		{"AMM v4, then PumpSwap", func(p *programs, first, second venue.Key) {
			p.AMMV4("one", first, depth)
			p.PumpSwap(second, depth, true)
		}, true, false},
		{"PumpSwap, then AMM v4", func(p *programs, first, second venue.Key) {
			p.PumpSwap(first, depth, true)
			p.AMMV4("two", second, depth)
		}, true, false},
		{"the curve", func(p *programs, first, _ venue.Key) { p.Curve(first, 2+p.Random.IntN(2)) }, false, true},
		{"PumpSwap", func(p *programs, first, _ venue.Key) { p.PumpSwap(first, depth, true) }, false, true},
	}
}

// TestExecutedRoutes runs splits and routes over two pools, with the transactions of the API: the
// user ends with exactly what was quoted, and on the way stays what residual tells.
func TestExecutedRoutes(t *testing.T) {
	cases := max(svmtest.Cases(t)/8, 1) // of each shape
	for _, version := range svmtest.Quoted {
		t.Run(version, func(t *testing.T) {
			p := newPrograms(t, version)
			hubs := []venue.Key{swaptest.WrappedSOL}
			servers := []*fixture{start(t, Config{Hubs: hubs}, p.chain), start(t, Config{Hubs: hubs, LookupTables: []venue.Key{publicTable}}, p.chain)}
			for _, s := range shapes() {
				for tables, f := range servers {
					routed := 0
					for range cases/2 + 1 {
						if p.route(f, s) {
							routed++
						}
					}
					t.Logf("%s, with %d lookup tables: %d of %d are such routes; refused %v", s.name, tables, routed, cases/2+1, p.refused)
					if tables > 0 {
						require.Zero(t, p.refused[codeTooLarge], "all fit")
					}
					clear(p.refused)
					require.True(t, 4*routed > cases/2 || cases < 40, s.name)
				}
			}
		})
	}
}

// publicTable is a lookup table that has what all swaps of a venue share, as those that venues
// publish do.
var publicTable = swaptest.Named("public table")

// shared are the accounts of swaps on PumpSwap and AMM v4 that no pool has for itself.
func (p *programs) shared() []venue.Key {
	config := svmtest.Recorded(p.t, svmtest.PumpSwapConfig)
	list := []venue.Key{
		pumpswap.GlobalConfig, pumpswap.FeeConfig, pumpfees.Program, mint.Token2022, swaptest.WrappedSOL, ammv4.Authority,
		venue.MustDerive(pumpswap.Program, []byte("__event_authority")), venue.MustDerive(pumpswap.Program, []byte("global_volume_accumulator")),
	}
	for _, recipient := range []venue.Key{venue.FirstKey(config[57:], 8), venue.FirstKey(config[385:], 1), venue.FirstKey(config[643:], 8)} {
		list = append(list, recipient, p.Account(recipient, swaptest.WrappedSOL))
	}
	return list
}

// ends are the tokens of an order.
type ends struct{ in, out venue.Key }

// begin draws pools of a shape, what the user has, and the ends of an order.
func (p *programs) begin(s shape) ends {
	first, second := swaptest.Named("first"), swaptest.Named("second")
	e := ends{first, swaptest.WrappedSOL}
	switch {
	case s.hops:
		e.out = second
	case p.Random.IntN(2) == 0:
		e = ends{swaptest.WrappedSOL, first}
	}
	return p.beginWith(s, e, first, second)
}

// beginWith draws pools of a shape between two coins, and what the user has for an order.
func (p *programs) beginWith(s shape, e ends, first, second venue.Key) ends {
	p.Clear()
	for _, coin := range []venue.Key{first, second} {
		p.Mint(coin, mint.Token, 1<<50)
	}
	s.pools(p, first, second)
	accounts := map[venue.Key]*solana.Account{}
	for _, key := range p.left {
		accounts[key] = &solana.Account{}
	}
	p.left = nil
	for _, program := range []venue.Key{pumpswap.Program, pumpcurve.Program} {
		if volume := venue.MustDerive(program, []byte("user_volume_accumulator"), p.User[:]); p.Random.IntN(2) == 0 {
			delete(p.Held, volume)
			accounts[volume] = &solana.Account{}
		}
	}
	for _, coin := range []venue.Key{first, second, swaptest.WrappedSOL} {
		if coin != swaptest.WrappedSOL && coin == e.in || p.Random.IntN(2) == 0 {
			p.Associated(p.User, coin, svmtest.Rich)
		} else { // what an earlier case left
			accounts[p.Account(p.User, coin)] = &solana.Account{}
		}
	}
	p.Held[publicTable] = &solana.Account{Owner: lookup.Program, Lamports: svmtest.Rent, Data: layout.LookupTable{Extended: 1, Addresses: p.shared()}.Bytes()}
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
	r, ok := p.answer(status, body)
	if !ok {
		return false
	}
	p.execute(s, r, body)
	switch {
	case s.hops:
		return len(r.Routes[0].Legs) == 2
	case s.one:
		return len(r.Route) == 1
	}
	return len(r.Routes) == 2
}

// answer reads an answer. It returns false for a refusal that a drawn order may get, and counts it.
func (p *programs) answer(status int, body []byte) (r Response, ok bool) {
	t := p.t
	if status == http.StatusNotFound {
		var refusal struct{ Code string }
		require.NoError(t, json.Unmarshal(body, &refusal))
		require.Contains(t, []string{string(venue.ErrNoLiquidity), string(venue.ErrTooLarge), codeTooLarge}, refusal.Code, string(body))
		p.refused[refusal.Code]++
		return r, false
	}
	require.Equal(t, http.StatusOK, status, string(body))
	require.NoError(t, json.Unmarshal(body, &r))
	return r, true
}

// execute runs the transaction of an answer: the user has what the answer says.
func (p *programs) execute(s shape, r Response, body []byte) {
	t := p.t
	wire, err := base64.StdEncoding.DecodeString(r.Txn)
	require.NoError(t, err)
	before := p.purse()
	ran := p.run(wire)
	require.LessOrEqual(t, ran.Units, r.ComputeUnits)
	want := p.after(before, r)
	opened := p.forget(ran)
	require.Equal(t, want, p.purse(), "%s: %s: opened %v", s.name, body, opened)
	if r.SwapMode == modeOut { // what was asked for, and the residual of it, are all that arrives
		all := number(t, r.MinAmountOut)
		for _, left := range r.Residual {
			if left.Mint == r.TargetMint {
				all += number(t, left.AmountMax)
			}
		}
		require.Equal(t, r.AmountOut, decimal(all))
	}
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
	all[sol] -= signatureFee + r.PriorityFee + r.Rent
	for _, route := range r.Routes {
		for i, leg := range route.Legs {
			if _, had := all[leg.TargetMint]; !had && (i == len(route.Legs)-1 || !route.OneInstruction) {
				all[leg.TargetMint] = 0 // a new account
			}
		}
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
		if left.Mint != r.SourceMint && left.Mint != r.TargetMint { // of the token in the middle
			all[left.Mint] += number(left.AmountMax)
		}
	}
	return all
}

// forget has the next case begin without the accounts that a transaction opened. It returns their
// lamports and lengths.
func (p *programs) forget(ran *svmtest.Ran) (opened []string) {
	for key, account := range ran.Accounts {
		if account != nil && len(account.Data) > 0 && p.Held[key] == nil {
			p.left = append(p.left, key)
			opened = append(opened, fmt.Sprintf("%s of %s: %d bytes, %d lamports", key.String(), account.Owner.String(), len(account.Data), account.Lamports))
		}
	}
	return opened
}
