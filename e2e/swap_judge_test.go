package e2e

import (
	"fmt"
	"sync"
)

// swapCounts is what happened. Safe for concurrent use.
type swapCounts struct {
	mu                                         sync.Mutex
	landed, failed, equal, moved, hops, splits int
	// tables counts transactions with lookup tables.
	tables int
	venues map[string]int
}

// more tells whether fewer swaps than wanted were made.
func (c *swapCounts) more(wanted int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.landed+c.failed < wanted
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
		if flow != 0 {
			return fmt.Errorf("%d of %s are stranded", flow, mint)
		}
	}
	if uint64(got) < q.Least || uint64(paid) > q.In {
		return fmt.Errorf("got %d for %d, promised at least %d for at most %d", got, paid, q.Least, q.In)
	}
	if key := r.opened(s.user); key != "" {
		return fmt.Errorf("the account for wrapped SOL, which was not there before, is left open: %s", key)
	}
	seen.landed++
	if len(q.Tables) > 0 {
		seen.tables++
	}
	switch {
	case uint64(got) == q.Out:
		seen.equal++
	case traded:
		seen.moved++
	default:
		return fmt.Errorf("got %d, quoted %d, and no one traded between: %+v", got, q.Out, q.Route)
	}
	if len(q.Routes) > 1 {
		seen.splits++
	}
	for _, route := range q.Routes {
		if len(route.Legs) > 1 {
			seen.hops++
		}
	}
	for _, leg := range q.Route {
		seen.venues[leg.Venue]++
	}
	return nil
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
