package router

import (
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue/arith"
)

const (
	wholeBps = 10_000
	// perLamport is how many of UnitPrice's units a lamport has.
	perLamport = 1_000_000
)

// worth is a rate: units of a token are worth lamports.
type worth struct{ lamports, units uint64 }

// cost returns what a plan costs beyond its swaps, in the token that plans are compared in. units
// is how many compute units the plan uses, rents how many token accounts it opens. The cost is 0 if
// no pool has a price for SOL in that token.
func (s *search) cost(units uint32, rents uint64) uint64 {
	lamports := rents * s.q.Rent
	hi, lo := bits.Mul64(uint64(units), s.q.UnitPrice)
	if hi < perLamport {
		priority, _ := bits.Div64(hi, lo, perLamport)
		lamports += priority
	}
	if lamports == 0 {
		return 0
	}
	if s.worth == nil {
		s.worth = s.price()
	}
	cost, _ := arith.MulDivUp(lamports, s.worth.units, max(s.worth.lamports, 1))
	return cost
}

// pricedLamports is the amount that price asks the pools for: a hundredth of a SOL.
const pricedLamports = 10_000_000

// price returns what SOL is worth in the token that plans are compared in, as the pool says that
// gives most for it. Its units are 0 if no pool gives a quote.
func (s *search) price() *worth {
	measure := s.q.Out
	if s.q.ExactOut {
		measure = s.q.In
	}
	if measure == s.q.Native {
		return &worth{1, 1}
	}
	best := &worth{pricedLamports, 0}
	edges := s.pools.Between(s.q.Native, measure)
	for i := range edges {
		e := &edges[i]
		quote, err := e.Quote(s.q.order(e, s.q.Native, pricedLamports, false))
		if err == nil && quote.AmountOut > best.units {
			best.units = quote.AmountOut
		}
	}
	return best
}

// less returns ⌊amount·(10,000−bps)/10,000⌋.
func less(amount, bps uint64) uint64 {
	n, _ := arith.MulDiv(amount, wholeBps-min(bps, wholeBps), wholeBps)
	return n
}

// more returns ⌈amount·(10,000+bps)/10,000⌉, at most the greatest uint64.
func more(amount, bps uint64) uint64 {
	n, ok := arith.MulDivUp(amount, wholeBps+bps, wholeBps)
	if !ok {
		return ^uint64(0)
	}
	return n
}

func mulDiv(a, b, d uint64) uint64 {
	n, _ := arith.MulDiv(a, b, max(d, 1))
	return n
}

func mulDivUp(a, b, d uint64) uint64 {
	n, _ := arith.MulDivUp(a, b, max(d, 1))
	return n
}

// greater returns whether a+b > c+d, without overflow.
func greater(a, b, c, d uint64) bool {
	x, carryX := bits.Add64(a, b, 0)
	y, carryY := bits.Add64(c, d, 0)
	return carryX > carryY || carryX == carryY && x > y
}
