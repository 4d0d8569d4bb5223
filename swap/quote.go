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
	c, err := s.choose(ctx, r, v)
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
			build.Swaps = append(build.Swaps, chained(route, limits[1], side))
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

// opens returns what tells the accounts that a swap opens; nil if its venue opens none.
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
	return txn.Swap{
		In: side(first.Quote.Order.In), Out: side(last.Quote.Out), Spend: first.Quote.AmountIn, Units: first.Quote.ComputeUnits + last.Quote.ComputeUnits,
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

// limits returns the limit that the chain enforces for each swap: the least out of an exact-in
// order, the most in of an exact-out one. The limits of a split's parts add up to that of the
// whole.
func (c *choice) limits() []uint64 {
	var limits []uint64
	// The platform's fee is paid after the swaps, so they must give it too.
	least, most := c.minOut+c.fee, c.maxIn
	leastLeft, mostLeft := least, most
	for i, route := range c.plan.Routes {
		out, in := proportion(least, route.AmountOut, c.plan.AmountOut), proportion(most, route.AmountIn, c.plan.AmountIn)
		if i == len(c.plan.Routes)-1 {
			out, in = leastLeft, mostLeft
		}
		leastLeft, mostLeft = leastLeft-out, mostLeft-in
		for _, l := range route.Legs {
			if l.Quote.Order.ExactOut {
				limits = append(limits, in)
			} else {
				limits = append(limits, out)
			}
		}
	}
	return limits
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
