package swap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
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
	v, err := s.look(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.choose(ctx, r, v)
	if err != nil {
		return nil, nil, err
	}
	var transaction *Transaction
	if r.user != nil {
		if transaction, err = s.transaction(ctx, r, c); err != nil {
			return nil, nil, err
		}
	}
	out := s.response(r, c, began)
	out.Transaction = transaction
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
		Tables: c.view.tables,
	}
	if c.fee > 0 {
		build.Fee = &txn.Fee{Amount: c.fee}
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

// transaction builds what the user signs. For that it reads a blockhash, and which accounts there
// are: the user's for wrapped SOL, those that the transaction would open, and the treasury's for
// the bought token if the platform takes a fee. It is an error if that one is missing.
func (s *Server) transaction(ctx context.Context, r *request, c *choice) (*Transaction, error) {
	build := s.build(r, c)
	build.User, build.Accounts = *r.user, txn.Accounts{}
	opens, err := txn.Opens(build)
	if err != nil {
		return nil, err
	}
	wanted, err := wantedOf(build, opens)
	if err != nil {
		return nil, err
	}
	var height uint64
	var open []bool
	var rent venue.Rent
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		build.Blockhash, height, err = s.blockhash(reading)
		return err
	})
	group.Go(func() (err error) {
		open, rent, err = s.open(reading, wanted)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, away(err)
	}
	if build.HasWrapped = open[len(opens)]; build.Fee != nil && !open[len(opens)+1] {
		return nil, invalid(fieldTreasury, build.Fee.Treasury.String(), "must have an associated account for "+r.target.String()+": create it first")
	}
	var deposit uint64
	for i, o := range opens {
		if !open[i] {
			deposit += rent.Of(o.Size)
		}
	}
	built, err := txn.Build(build)
	switch {
	case errors.Is(err, txwire.ErrMalformed): // the one who pays would be called
		return nil, invalid(fieldUser, r.user.String(), "must be a wallet, and no program that the transaction calls")
	case err != nil:
		return nil, err
	}
	tables := make([]string, len(built.Tables))
	for i, table := range built.Tables {
		tables[i] = table.String()
	}
	return &Transaction{
		LookupTables: tables, Rent: deposit,
		Txn: base64.StdEncoding.EncodeToString(built.Bytes), LastValidBlockHeight: height,
		ComputeUnits: built.ComputeUnits, PriorityFee: built.PriorityFee, Unwraps: built.Unwraps,
	}, nil
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

// wantedOf returns the accounts of which transaction must know whether they are there: opens, then
// the user's account for wrapped SOL, then the treasury's account if there is a fee.
func wantedOf(build txn.Request, opens []venue.Opening) ([]venue.Opening, error) {
	account, err := build.Accounts.Of(build.User, txn.Side{Mint: mint.WrappedSOL, Program: mint.Token})
	list := append(slices.Clone(opens), venue.Opening{Account: account, Owner: mint.Token})
	if err == nil && build.Fee != nil {
		account, err = build.Accounts.Of(build.Fee.Treasury, build.Out)
		list = append(list, venue.Opening{Account: account, Owner: build.Out.Program})
	}
	return list, err
}

// open returns which of these accounts there are, and the rent at the same slot.
func (s *Server) open(ctx context.Context, wanted []venue.Opening) ([]bool, venue.Rent, error) {
	keys := make([]venue.Key, 0, len(wanted)+1)
	for _, o := range wanted {
		keys = append(keys, o.Account)
	}
	keys = append(keys, venue.RentSysvar)
	_, accounts, err := s.deps.RPC.GetMultipleAccounts(ctx, keys, solana.AccountOptions{Commitment: market.Commitment, DataSlice: &solana.DataSlice{Length: venue.RentSize}})
	if err != nil {
		return nil, venue.Rent{}, err
	}
	open := make([]bool, len(wanted))
	for i := range wanted {
		// An address that merely holds lamports is no such account yet.
		open[i] = accounts[i] != nil && accounts[i].Owner == wanted[i].Owner
	}
	return open, s.learnRent(accounts[len(wanted)]), nil
}
