package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// swapCounts is what happened. Safe for concurrent use.
type swapCounts struct {
	mu                                         sync.Mutex
	landed, failed, equal, moved, hops, splits int
	// tables counts transactions with lookup tables, sent those that the swap API sent.
	tables, sent int
	// venues counts swaps, versions transactions.
	venues, versions map[string]int
	// expired were sent too late for their blockhash; mostExpired may be.
	expired, mostExpired int
}

// expire counts a transaction that was sent too late.
func (c *swapCounts) expire() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expired++; c.expired > c.mostExpired {
		return fmt.Errorf("%d transactions were sent too late: the last of them with %w", c.expired, errExpired)
	}
	return nil
}

// swapVenues is on how many venues swaps are made.
const swapVenues = 7

// more tells whether fewer swaps than wanted were made, or none yet on some venue: a pool comes to
// PumpSwap when its curve is sold out, and is used when its kinds of swaps are proved by others'.
// Those are waited for with ten times as many swaps at most.
func (c *swapCounts) more(wanted int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.landed + c.failed
	return made < wanted || len(c.venues) < swapVenues && made < 10*wanted
}

// judge holds a landed swap to its quote.
func (s *swapper) judge(seen *swapCounts, q *swapQuote, r *swapResult, src, dst string) error {
	traded, err := s.traded(q, r.Slot)
	if err != nil {
		return err
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	flows := r.flows(s.user)
	if r.told != nil {
		seen.sent++
		if err := r.told.holds(r, -flows[src], flows[dst]); err != nil {
			return err
		}
	}
	if r.Meta.Err != nil {
		seen.failed++
		for mint, flow := range flows {
			if flow != 0 {
				return fmt.Errorf("a failed swap moved %d of %s", flow, mint)
			}
		}
		if !traded {
			return fmt.Errorf("a swap failed although no one traded between: %v\n%v", r.Meta.Err, r.Meta.LogMessages)
		}
		return nil
	}
	got, paid := flows[dst], -flows[src]
	if dst != solMint {
		s.held[dst] += uint64(got)
	}
	s.held[src] -= min(uint64(paid), s.held[src])
	delete(flows, src)
	delete(flows, dst)
	for _, left := range q.Residual {
		if flow, told := flows[left.Mint]; told && flow >= 0 && (flow <= left.Most || traded) {
			delete(flows, left.Mint)
		}
	}
	for mint, flow := range flows {
		if flow != 0 && (flow < 0 || !traded || !q.dusty(mint)) {
			return fmt.Errorf("%d of %s are stranded: %+v, residual %+v", flow, mint, q.Routes, q.Residual)
		}
	}
	if uint64(got) < q.Least || uint64(paid) > q.In {
		return fmt.Errorf("got %d for %d, promised at least %d for at most %d", got, paid, q.Least, q.In)
	}
	if key := r.opened(s.user); key != "" {
		return fmt.Errorf("the account for wrapped SOL, which was not there before, is left open: %s", key)
	}
	// The demo's pump programs open no accounts of volumes, whose rent a quote tells too.
	if rent := r.rent(s.user); rent > q.Rent || rent < q.Rent && !q.pumps() {
		return fmt.Errorf("%d lamports stay in accounts that it opened, told were %d: %+v", rent, q.Rent, q.Route)
	}
	switch {
	case uint64(got) == q.Out:
		seen.equal++
	case traded:
		seen.moved++
	default:
		return fmt.Errorf("got %d, quoted %d, and no one traded between: %+v", got, q.Out, q.Route)
	}
	seen.land(q)
	return nil
}

// land counts what a landed swap went over. The caller holds mu.
func (c *swapCounts) land(q *swapQuote) {
	c.landed++
	c.versions[q.Version]++
	if len(q.Tables) > 0 {
		c.tables++
	}
	if len(q.Routes) > 1 {
		c.splits++
	}
	for _, route := range q.Routes {
		if len(route.Legs) > 1 {
			c.hops++
		}
	}
	for _, leg := range q.Route {
		c.venues[leg.Venue]++
	}
}

// rent is the lamports in accounts for other tokens than SOL that the transaction opened for the
// user.
func (r *swapResult) rent(user string) (lamports int64) {
	for _, b := range r.Meta.PostTokens {
		if b.Owner == user && b.Mint != solMint && r.Meta.PreBalances[b.AccountIndex] == 0 {
			lamports += r.Meta.PostBalances[b.AccountIndex]
		}
	}
	return lamports
}

// dusty tells whether more of a mint may stay than the quote says once others traded: it is what
// the first of two swaps gives, and that is a sale on a venue of pump's, which has none for an
// exact amount. Without such trades nothing stays but what is told.
func (q *swapQuote) dusty(mint string) bool {
	for _, route := range q.Routes {
		if len(route.Legs) > 1 && route.Legs[0].Target == mint && strings.HasPrefix(route.Legs[0].Venue, "pump") {
			return true
		}
	}
	return false
}

// pumps tells whether the route goes over a venue of pump's.
func (q *swapQuote) pumps() bool {
	return slices.ContainsFunc(q.Route, func(leg swapLeg) bool { return strings.HasPrefix(leg.Venue, "pump") })
}

// traded tells whether others used a pool of the quote behind its state and up to the landing.
func (s *swapper) traded(q *swapQuote, landed uint64) (bool, error) {
	for _, leg := range q.Route {
		var list []struct{ Slot uint64 }
		if err := s.call(&list, "getSignaturesForAddress", leg.Pool, map[string]any{"limit": 100, "commitment": "confirmed"}); err != nil {
			return false, err
		}
		within := 0
		for _, e := range list {
			if e.Slot > q.Slot && e.Slot <= landed {
				within++
			}
		}
		if within > 1 {
			return true, nil
		}
	}
	return false, nil
}
