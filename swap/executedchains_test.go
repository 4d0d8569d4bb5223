package swap

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/trust"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// chains are the builds of which PumpSwap has multi_hop_swap.
var chains = map[string]bool{"0.5.0": true, "0.4.0": true}

// TestExecutedChains buys and sells coins that are quoted in another coin, by the one instruction
// for it on the builds that have it: the user ends with exactly what was quoted, and has nothing in
// between. On a build without it, the same routes take two swaps.
func TestExecutedChains(t *testing.T) {
	cases := max(svmtest.Cases(t)/8, 4)
	for _, version := range svmtest.Quoted {
		t.Run(version, func(t *testing.T) {
			p := newPrograms(t, version)
			p.deploy(version, ammv4.Program, pumpswap.Program, pumpcurve.Program, pumpfees.Program)
			p.chain.Edit(swaptest.Clock, func([]byte) {})
			f := start(t, Config{Hubs: []venue.Key{swaptest.WrappedSOL}, LookupTables: []venue.Key{publicTable}}, p.chain)
			require.Eventually(t, func() bool {
				build := f.listedVenue(t, pumpswap.Name).Build
				return build != nil && build.Basis != nil && *build.Basis == trust.BasisKnown
			}, hang, time.Millisecond)
			one, two := 0, 0
			for range cases {
				switch p.chained(f) {
				case 1:
					one++
				case 2:
					two++
				}
			}
			t.Logf("%d by one instruction, %d by two; refused %v", one, two, p.refused)
			require.Equal(t, chains[version], one > 0, "the build decides")
			require.Positive(t, one+two)
			require.Greater(t, 2*(one+two), cases)
			if chains[version] {
				require.Greater(t, 2*one, cases)
			}
		})
	}
}

// chained makes one case and returns by how many instructions it swapped; 0 if it was refused.
func (p *programs) chained(f *fixture) int {
	buys := p.Random.IntN(2) == 0
	first, second := swaptest.Named("first"), swaptest.Named("second")
	s := shape{name: "a coin quoted in a coin", hops: true, pools: func(p *programs, first, second venue.Key) {
		p.Coin(first, swaptest.WrappedSOL, [2]int{38, 42}, [2]byte{})
		p.Coin(second, first, [2]int{38, 42}, [2]byte{0, p.seldom()})
	}}
	e := ends{second, swaptest.WrappedSOL}
	if buys {
		e = ends{swaptest.WrappedSOL, second}
	}
	return p.quoted(f, s, p.beginWith(s, e, first, second))
}

// seldom draws 1 in one of eight cases.
func (p *programs) seldom() byte {
	if p.Random.IntN(8) == 0 {
		return 1
	}
	return 0
}

// quoted asks for a quote between two tokens and executes it.
func (p *programs) quoted(f *fixture, s shape, e ends) int {
	t := p.t
	path := query(e.in, e.out, "", fieldUser, wallet.String()) + "&amount=" + decimal(p.Amount(28, 36))
	status, body := f.do(t, http.MethodGet, path, "")
	r, ok := p.answer(status, body)
	if !ok {
		return 0
	}
	p.execute(s, r, body)
	require.Len(t, r.Routes, 1)
	if r.Routes[0].OneInstruction {
		require.Empty(t, r.Residual)
		return 1
	}
	return 2
}
