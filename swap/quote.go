package swap

import (
	"context"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/router"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// quote answers a request. It also returns the choice behind the answer.
func (s *Server) quote(ctx context.Context, r *request) (*Response, *choice, error) {
	began := time.Now()
	if s.market == nil {
		return nil, nil, noUpstream()
	}
	if err := r.covered(s.covered); err != nil {
		return nil, nil, err
	}
	if err := s.recipients(ctx, r); err != nil {
		return nil, nil, err
	}
	v, err := s.look(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.chooseFar(ctx, r, v)
	if err != nil {
		return nil, nil, err
	}
	var made *made
	if r.user != nil {
		if made, err = s.transaction(ctx, r, c); err != nil {
			return nil, nil, err
		}
	}
	out := s.response(r, c, began)
	if r.sizes {
		zero, one, err := txn.Sizes(s.build(r, c))
		if err != nil {
			return nil, nil, err
		}
		out.TransactionBytes = &TransactionBytes{zero, one}
	}
	if c.made = made; made != nil {
		out.Transaction, out.Warnings = &made.Transaction, append(out.Warnings, made.warnings...)
	}
	return out, c, nil
}

// build returns the request for the transaction of a choice, but without what is only needed to
// sign it: User, Blockhash and HasWrapped.
func (s *Server) build(r *request, c *choice) txn.Request {
	side := func(key venue.Key) txn.Side {
		m := c.view.mint(key)
		return txn.Side{Mint: key, Program: m.Program, Decimals: m.Decimals, AccountSize: m.AccountSize()}
	}
	build := txn.Request{
		In: side(r.source), Out: side(r.target), UnitPrice: s.cfg.unitPrice, PriorityFee: r.priorityFee, MaxAccounts: r.maxAccounts,
		Tables: c.view.tables, Version: r.version, Payer: r.payer, Destination: r.destination, NativeTo: r.native, KeepWrapped: r.keepWrapped,
	}
	if r.unitPrice != nil {
		build.UnitPrice = *r.unitPrice
	}
	if r.user != nil {
		build.Tip = r.tip(*r.user)
	}
	if c.fee > 0 {
		build.Fee = &txn.Fee{Amount: c.fee, Account: r.feeAccount}
		if r.treasury != nil {
			build.Fee.Treasury = *r.treasury
		}
	}
	limits := c.limits()
	for _, route := range c.plan.Routes {
		if route.Chained {
			build.Swaps = append(build.Swaps, chained(route, limits[len(route.Legs)-1], side))
			limits = limits[2:]
			continue
		}
		for i := range route.Legs {
			l := &route.Legs[i]
			limit, spend := limits[0], l.Quote.AmountIn
			limits = limits[1:]
			if l.Quote.Order.ExactOut {
				spend = limit
			}
			build.Swaps = append(build.Swaps, txn.Swap{
				In: side(l.Quote.Order.In), Out: side(l.Quote.Out), Spend: spend, Native: l.Quote.Native, Units: l.Quote.ComputeUnits,
				Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) {
					return l.Instructions(l.Quote, limit, user)
				},
				Opens: opens(l),
			})
		}
	}
	return build
}

// opens returns the function that returns the accounts which a swap opens; nil if its venue opens
// none.
func opens(l *router.Leg) func(user venue.Key) ([]venue.Opening, error) {
	opener, ok := l.Pool.(venue.Opener)
	if !ok {
		return nil
	}
	return func(user venue.Key) ([]venue.Opening, error) { return opener.Opens(l.Quote, user) }
}

// chained returns the swap of a route whose two swaps are one instruction.
func chained(route router.Route, limit uint64, side func(venue.Key) txn.Side) txn.Swap {
	first, last := route.Legs[0], route.Legs[1]
	var middle *txn.Side
	if route.Passes {
		passes := side(first.Quote.Out)
		middle = &passes
	}
	return txn.Swap{
		Middle: middle,
		In:     side(first.Quote.Order.In), Out: side(last.Quote.Out), Spend: first.Quote.AmountIn, Units: first.Quote.ComputeUnits + last.Quote.ComputeUnits,
		Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) {
			pool, ok := first.Pool.(venue.Chained)
			if !ok {
				return nil, fmt.Errorf("%w: the pool is not chained", venue.ErrUnverified)
			}
			return pool.ChainInstructions(first.Quote, last.Quote, last.Pool, limit, user)
		},
		Opens: func(user venue.Key) ([]venue.Opening, error) {
			pool, ok := first.Pool.(venue.Chained)
			if !ok {
				return nil, nil
			}
			return pool.ChainOpens(first.Quote, user)
		},
	}
}

// limits returns the limit that the chain enforces for each swap, in the order of the transaction:
// the least out of an exact-in order, the most in of an exact-out one. The limits of all swaps that
// buy the target add up to the least that the whole plan must give. The limits of all swaps that
// sell the source add up to the most that it may take.
func (c *choice) limits() []uint64 {
	legs := c.plan.Legs()
	source, target := c.plan.Ends()
	// The platform's fee is paid after the swaps, so the swaps must give it too.
	least, most := share{left: c.minOut + c.fee}, share{left: c.maxIn}
	for _, l := range legs {
		// The amount of an order is exact. Where it is of the source or the target, it is taken out
		// of what the limits of the other swaps share.
		switch in, out := l.Quote.Order.In == source, l.Quote.Out == target; {
		case l.Quote.Order.ExactOut && in:
			most.of += l.Quote.AmountIn
			least.take(out, l.Quote.Order.Amount)
		case !l.Quote.Order.ExactOut && out:
			least.of += l.Quote.AmountOut
			most.take(in, l.Quote.Order.Amount)
		}
	}
	limits := make([]uint64, len(legs))
	for i, l := range legs {
		switch {
		case l.Most > 0:
			limits[i] = l.Most
		case l.Quote.Order.ExactOut:
			limits[i] = most.next(l.Quote.AmountIn)
		case l.Quote.Out == target:
			limits[i] = least.next(l.Quote.AmountOut)
		}
	}
	return limits
}

// share divides an amount in proportion to parts. left is what is not divided yet, of the sum of
// the parts that have not got theirs yet. The last part gets what rounding leaves.
type share struct{ left, of uint64 }

// take takes a fixed amount out before the division, if counts is set.
func (s *share) take(counts bool, amount uint64) {
	if counts {
		s.left -= min(amount, s.left)
	}
}

// next returns what the next part gets.
func (s *share) next(part uint64) uint64 {
	n := proportion(s.left, part, s.of)
	if part >= s.of {
		n = s.left
	}
	s.left, s.of = s.left-min(n, s.left), s.of-min(part, s.of)
	return n
}

// blockhash reads a recent blockhash and the last block height at which it is valid.
func (s *Server) blockhash(ctx context.Context) (venue.Key, uint64, error) {
	var result struct {
		Value struct {
			Blockhash            string `json:"blockhash"`
			LastValidBlockHeight uint64 `json:"lastValidBlockHeight"`
		} `json:"value"`
	}
	// Confirmed: a block that is only processed may die, and its blockhash with it.
	if err := s.deps.RPC.Call(ctx, "getLatestBlockhash", []any{map[string]any{"commitment": solana.Confirmed}}, &result); err != nil {
		return venue.Key{}, 0, err
	}
	hash, err := pubkey.Parse(result.Value.Blockhash)
	if err != nil {
		return venue.Key{}, 0, fmt.Errorf("getLatestBlockhash: %w", err)
	}
	return hash, result.Value.LastValidBlockHeight, nil
}
