package swap

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
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
		m := c.view.mints[key]
		return txn.Side{Mint: key, Program: m.Program, Decimals: m.Decimals}
	}
	build := txn.Request{
		In: side(r.source), Out: side(r.target), UnitPrice: s.cfg.unitPrice, PriorityFee: r.priorityFee, MaxAccounts: r.maxAccounts,
	}
	if c.fee > 0 {
		build.Fee = &txn.Fee{Amount: c.fee}
		if r.treasury != nil {
			build.Fee.Treasury = *r.treasury
		}
	}
	limits := c.limits()
	for i, l := range c.plan.Legs() {
		spend := l.Quote.AmountIn
		if l.Quote.Order.ExactOut {
			spend = limits[i]
		}
		build.Swaps = append(build.Swaps, txn.Swap{
			In: side(l.Quote.Order.In), Out: side(l.Quote.Out), Spend: spend, Native: l.Quote.Native, Units: l.Quote.ComputeUnits,
			Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) {
				return l.Instructions(l.Quote, limits[i], user)
			},
		})
	}
	return build
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

// transaction builds what the user signs. For that it reads a blockhash and whether the user has an
// account for wrapped SOL. If the platform takes a fee, it also reads whether the treasury has an
// account for the bought token: it is an error if not.
func (s *Server) transaction(ctx context.Context, r *request, c *choice) (*Transaction, error) {
	build := s.build(r, c)
	build.User = *r.user
	var height uint64
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		build.Blockhash, height, err = s.blockhash(reading)
		return err
	})
	group.Go(func() (err error) {
		build.HasWrapped, err = s.hasAccount(reading, *r.user, txn.Side{Mint: mint.WrappedSOL, Program: mint.Token})
		return err
	})
	paid := true
	if build.Fee != nil {
		group.Go(func() (err error) {
			paid, err = s.hasAccount(reading, build.Fee.Treasury, build.Out)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, away(err)
	}
	if !paid {
		return nil, invalid(fieldTreasury, build.Fee.Treasury.String(), "must have an associated account for "+r.target.String()+": create it first")
	}
	built, err := txn.Build(build)
	if err != nil {
		return nil, err
	}
	return &Transaction{
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

// hasAccount returns whether a wallet has its associated account for a token.
func (s *Server) hasAccount(ctx context.Context, owner venue.Key, side txn.Side) (bool, error) {
	account, err := txn.AssociatedAccount(owner, side)
	if err != nil {
		return false, err
	}
	_, accounts, err := s.deps.RPC.GetMultipleAccounts(ctx, []venue.Key{account},
		solana.AccountOptions{Commitment: market.Commitment, DataSlice: &solana.DataSlice{}})
	if err != nil {
		return false, err
	}
	// An address that merely holds lamports is no token account yet.
	return accounts[0] != nil && accounts[0].Owner == side.Program, nil
}
