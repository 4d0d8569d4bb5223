package swap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/router"
	"github.com/mintlake/mintlake/swap/trust"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// choice is the plan that answers a request, and the amounts that follow from it.
type choice struct {
	view *view
	plan router.Plan
	// slot is the oldest slot of the plan's pools.
	slot uint64
	// amountIn is what the user sells, amountOut what he receives. maxIn and minOut are the limits
	// that the chain enforces. fee is the platform's fee, which amountOut does not include.
	amountIn, maxIn, amountOut, minOut, fee uint64
	venues                                  []VenueReport
	// made is the transaction; nil if there is none.
	made *made
}

// covered returns an error if the request allows only certain venues (dexes) and none of them is in
// known, the venues of this server. It ignores r.excluded.
func (r *request) covered(known map[string]bool) error {
	if len(r.dexes) == 0 {
		return nil
	}
	for name := range r.dexes {
		if known[name] {
			return nil
		}
	}
	return noRoute(codeUnverified, "none of the venues in %s is covered: GET %s lists them", fieldDexes, routeVenues)
}

// allows returns whether a request lets a venue take part.
func (r *request) allows(name string) bool {
	return !r.excluded[name] && (len(r.dexes) == 0 || r.dexes[name])
}

// choose returns the best plan that fits a transaction. First it waits for the client's turn to
// search. If no plan fits, it returns the error of the best one. It is also an error if the plan
// breaks the promise of a quote that was sent back.
func (s *Server) choose(ctx context.Context, r *request, v *view) (*choice, error) {
	if err := s.turn(ctx); err != nil {
		return nil, away(err)
	}
	defer s.turns.give()
	answer, err := s.search(r, v.graph)
	v.beyond = answer.Beyond
	reports := s.reportsOf(r, v, answer)
	if err != nil {
		return nil, refused(r, v, reports, err)
	}
	c, err := s.fitting(r, v, answer.Plans)
	if errors.Is(err, txn.ErrTooLarge) {
		// Swaps on pools that keep their liquidity in arrays name the most accounts. A route
		// without such pools may fit.
		if smaller, failed := s.search(r, v.without(s.arrayed)); failed == nil {
			if c, failed = s.fitting(r, v, smaller.Plans); failed == nil {
				err = nil
			}
		}
	}
	if err != nil {
		return nil, s.suggestVersion1(r, v, answer, err)
	}
	c.venues = reports
	return c, c.keeps(r)
}

// search finds the plans for a request.
func (s *Server) search(r *request, graph *router.Graph) (*router.Answer, error) {
	amount := r.amount
	if r.exactOut { // the platform's fee comes on top
		amount = addFee(amount, r.fee)
	}
	began := time.Now()
	over := func() bool { return time.Since(began) > s.cfg.routing }
	return router.Find(over, graph, router.Question{
		In: r.source, Out: r.target, Amount: amount, ExactOut: r.exactOut, OnlyDirect: r.onlyDirect,
		MaxSwaps: mostSwaps(r.version), Slack: max(r.slippage/2, leastSlack), UnitPrice: s.unitPrice(r), Rent: s.rent().Of(tokenAccountSize), Native: mint.WrappedSOL,
	})
}

// fitting returns the first of the plans that fits a transaction. If no plan fits, it returns the
// error of the first plan.
func (s *Server) fitting(r *request, v *view, plans []router.Plan) (*choice, error) {
	var first error
	for _, plan := range plans {
		c := &choice{view: v, plan: plan}
		c.settle(r)
		// A client that gets no transaction need not wait until one is built.
		if r.user == nil && r.payer == nil && r.wish.tip == 0 && surelyFits(r, &c.plan) {
			return c, nil
		}
		err := txn.Fits(s.build(r, c))
		if err == nil {
			return c, nil
		}
		// A venue may have stopped since it gave its quote.
		if !errors.Is(err, txn.ErrTooLarge) && !errors.Is(err, venue.ErrStopped) {
			return nil, err
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// suggestVersion1 returns refusal, the error of choosing a plan. If the reason is that no plan fits
// a transaction, and a transaction of version 1 would carry one of them, the error says so.
func (s *Server) suggestVersion1(r *request, v *view, answer *router.Answer, refusal error) error {
	if r.version == txwire.V1 || !errors.Is(refusal, txn.ErrTooLarge) {
		return refusal
	}
	larger := *r
	larger.version = txwire.V1
	for _, plan := range answer.Plans {
		c := &choice{view: v, plan: plan}
		if c.settle(&larger); txn.Fits(s.build(&larger, c)) == nil {
			return fmt.Errorf("%w; one of version 1 would carry it: %s=1", refusal, fieldVersion)
		}
	}
	return refusal
}

// surelyFits returns whether it is certain, without building it, that the transaction of a plan
// fits. For a plan of one swap it mostly is.
func surelyFits(r *request, plan *router.Plan) bool {
	swaps, accounts := 0, 0
	for i := range plan.Routes {
		for j := range plan.Routes[i].Legs {
			quote := &plan.Routes[i].Legs[j].Quote
			if quote.Accounts == 0 { // the quote does not tell how many accounts the swap names
				return false
			}
			swaps, accounts = swaps+1, accounts+int(quote.Accounts)
		}
	}
	return txn.SurelyFits(swaps, accounts, uint64(plan.ComputeUnits), r.maxAccounts)
}

// mostSwaps returns how many swaps a plan may have in a transaction of a version. Swaps of most
// venues are so large that fewer fit.
func mostSwaps(version txwire.Version) int {
	if version == txwire.V1 {
		return 10
	}
	return 6
}

// leastSlack is the least Question.Slack, in basis points: how far the price may move between the
// first and the second swap before the transaction fails.
const leastSlack = 10

// unitPrice returns the price of a compute unit for a request, in millionths of a lamport. It is 0
// if the request fixes the whole priority fee: more units then cost nothing more.
func (s *Server) unitPrice(r *request) uint64 {
	if r.priorityFee != nil {
		return 0
	}
	if r.unitPrice != nil {
		return *r.unitPrice
	}
	return s.cfg.unitPrice
}

// settle computes what the user pays and receives, and what the chain enforces.
func (c *choice) settle(r *request) {
	c.slot = c.plan.Routes[0].Legs[0].Slot
	for i := range c.plan.Routes {
		for j := range c.plan.Routes[i].Legs {
			c.slot = min(c.slot, c.plan.Routes[i].Legs[j].Slot)
		}
	}
	if r.exactOut {
		c.fee = addFee(r.amount, r.fee) - r.amount
		c.amountIn, c.maxIn = c.plan.AmountIn, atMost(c.plan.AmountIn, r.slippage)
		c.amountOut, c.minOut = c.plan.AmountOut-c.fee, r.amount
		if r.bound != nil {
			c.maxIn = *r.bound
		}
		return
	}
	c.fee = proportion(c.plan.AmountOut, r.fee, maxSlippage)
	c.amountIn, c.maxIn = r.amount, r.amount
	c.amountOut = c.plan.AmountOut - c.fee
	c.minOut = atLeast(c.amountOut, r.slippage)
	if r.bound != nil {
		c.minOut = *r.bound
	}
}

// keeps returns an error if the choice breaks the promise of the quote that the client sent back.
func (c *choice) keeps(r *request) error {
	switch {
	case r.bound == nil:
	case r.exactOut && c.amountIn > c.maxIn:
		return outdated("the trade takes %d now, more than the quote's %d: ask for a new quote", c.amountIn, c.maxIn)
	case !r.exactOut && c.amountOut < c.minOut:
		return outdated("the trade gives %d now, less than the quote's %d: ask for a new quote", c.amountOut, c.minOut)
	}
	return nil
}

// reportsOf returns what each venue had for a direct trade of the pair: how many pools, which of
// them refused, and whether the venue is stopped.
func (s *Server) reportsOf(r *request, v *view, answer *router.Answer) []VenueReport {
	reports := make([]VenueReport, 0, 2)
	report := func(name string) *VenueReport {
		at := slices.IndexFunc(reports, func(known VenueReport) bool { return known.Venue == name })
		if at < 0 {
			at = len(reports)
			reports = append(reports, VenueReport{Venue: name, Refused: []PoolRefusal{}})
		}
		return &reports[at]
	}
	refuse := func(name string, pool venue.Key, err error) {
		if entry := report(name); len(entry.Refused) < maxRefusals {
			entry.Refused = append(entry.Refused, PoolRefusal{pool.String(), codeOf(err), err.Error()})
		}
	}
	direct := v.graph.Between(r.source, r.target)
	for i := range direct {
		report(direct[i].Venue).Pools++
	}
	for _, p := range v.refused {
		if r.allows(p.Venue) {
			report(p.Venue).Pools++
			refuse(p.Venue, p.Address, p.Err)
		}
	}
	for _, p := range answer.Refused {
		refuse(p.Venue, p.Address(), p.Err)
	}
	for _, known := range s.cfg.venues {
		stop, _ := s.stop(known.Name())
		// A venue that has yet to be proved concerns the pair only if it has pools of it.
		concerns := stop != nil && (stop.Reason != trust.ReasonUnproved || slices.ContainsFunc(reports, func(entry VenueReport) bool { return entry.Venue == known.Name() }))
		if concerns && r.allows(known.Name()) {
			report(known.Name()).Stopped = stop
		}
	}
	return reports
}

// refused returns the error of a request that no plan answers. err is the error of router.Find.
func refused(r *request, v *view, reports []VenueReport, err error) error {
	if !errors.Is(err, router.ErrNoPool) {
		return noRoute(codeOf(err), "none of the pools of this pair can take the trade: %s", err)
	}
	if len(v.refused) > 0 {
		err := v.refused[0].Err
		return noRoute(codeOf(err), "none of the %d pools of this pair can take the trade: %s", len(v.refused), err)
	}
	for _, report := range reports {
		// A venue that panicked may have pools of the pair that are not known.
		if report.Stopped != nil && report.Stopped.Reason == stopPanicked {
			return noRoute(codeStopped, "%s is stopped, and no pool of another venue trades the pair: %s", report.Venue, report.Stopped.Message)
		}
	}
	return noRoute(codeNoPool, "no pool trades %s for %s on the venues that are covered", r.source.String(), r.target.String())
}
