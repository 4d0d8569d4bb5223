package swap

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/big"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/tokenaccount"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// Response is the body of a quote. Amounts are raw units in decimal strings: they may exceed what
// JavaScript holds exactly.
type Response struct {
	SourceMint string `json:"src_mint"`
	TargetMint string `json:"dst_mint"`
	// AmountIn leaves the user's account.
	AmountIn string `json:"amount_in"`
	// AmountOut is what the user receives at the state of Slot, fees of pools and of Token-2022
	// transfers taken off.
	AmountOut string `json:"amount_out"`
	// MinAmountOut is AmountOut less the slippage, rounded down. The chain refuses the transaction
	// when less would arrive.
	MinAmountOut string `json:"min_amount_out"`
	SlippageBps  uint64 `json:"slippage_bps"`
	// PriceImpactBps is how much worse than the price before the trade it executes, fees aside;
	// rounded up.
	PriceImpactBps uint64 `json:"price_impact_bps"`
	// Fees are counted in the amounts already.
	Fees []Fee `json:"fees"`
	// Slot that the pool's state is of.
	Slot  uint64 `json:"slot"`
	Route []Leg  `json:"route"`
	// Warnings name what a mint's owner can do to its holders, as "dst_mint: permanent_delegate".
	// Empty, and never null, for none.
	Warnings []string `json:"warnings"`
	*Transaction
}

// Fee is one fee. Kind is pool, creator or transfer.
type Fee struct {
	Kind   venue.FeeKind `json:"kind"`
	Mint   string        `json:"mint"`
	Amount string        `json:"amount"`
}

// Leg is one swap of the route.
type Leg struct {
	Venue      string `json:"venue"`
	Pool       string `json:"pool"`
	SourceMint string `json:"src_mint"`
	TargetMint string `json:"dst_mint"`
	AmountIn   string `json:"amount_in"`
	AmountOut  string `json:"amount_out"`
}

// Transaction stands in a Response when the request named a user.
type Transaction struct {
	// Txn is the base64 of a v0 transaction with zero signatures.
	Txn string `json:"txn"`
	// LastValidBlockHeight is the block height after which it is void.
	LastValidBlockHeight uint64 `json:"last_valid_block_height"`
	ComputeUnits         uint32 `json:"compute_units"`
	// Unwraps says that bought SOL arrives as SOL. False for other tokens, and when the user has an
	// account for wrapped SOL, where it then stays.
	Unwraps bool `json:"unwraps_sol"`
}

// choice is the best pool for a request.
type choice struct {
	pool     market.Pool
	quote    venue.Quote
	snapshot *market.Snapshot
}

// quote answers a request.
func (s *Server) quote(ctx context.Context, r *request) (*Response, error) {
	if s.market == nil {
		return nil, newError(503, "no JSON-RPC server is configured: start Mintlake with --rpc-upstream URL")
	}
	snapshot, err := s.market.Snapshot(ctx, r.source, r.target)
	if err != nil {
		return nil, away(err)
	}
	best, err := choose(snapshot, r)
	if err != nil {
		return nil, err
	}
	minOut := atLeast(best.quote.AmountOut, r.slippage)
	out := best.response(r, minOut)
	if r.user != nil {
		if out.Transaction, err = s.transaction(ctx, r, best, minOut); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choose takes the pool that gives most; of equal ones the first address, so that two identical
// requests get one answer.
func choose(snapshot *market.Snapshot, r *request) (*choice, error) {
	if len(snapshot.Pools)+len(snapshot.Refused) == 0 {
		return nil, noRoute("no pool trades %s for %s on the venues that are covered", venue.Text(r.source), venue.Text(r.target))
	}
	var best *choice
	var reason error
	for _, refused := range snapshot.Refused {
		reason = refused.Err
	}
	for _, pool := range snapshot.Pools {
		q, err := pool.Quote(venue.Order{In: r.source, Amount: r.amount, Clock: pool.Clock})
		if err != nil {
			reason = err
			continue
		}
		if best == nil || q.AmountOut > best.quote.AmountOut {
			best = &choice{pool, q, snapshot}
		}
	}
	if best == nil {
		return nil, noRoute("none of the %d pools of this pair can take the trade: %s", len(snapshot.Pools)+len(snapshot.Refused), reason)
	}
	return best, nil
}

// atLeast is ⌊amount·(10,000−slippage)/10,000⌋.
func atLeast(amount, slippage uint64) uint64 {
	n := new(big.Int).SetUint64(amount)
	n.Mul(n, new(big.Int).SetUint64(maxSlippage-slippage))
	return n.Quo(n, big.NewInt(maxSlippage)).Uint64()
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func (c *choice) response(r *request, minOut uint64) *Response {
	out := &Response{
		SourceMint: venue.Text(r.source), TargetMint: venue.Text(r.target),
		AmountIn: decimal(c.quote.AmountIn), AmountOut: decimal(c.quote.AmountOut), MinAmountOut: decimal(minOut),
		SlippageBps: r.slippage, PriceImpactBps: c.quote.ImpactBps, Fees: []Fee{}, Slot: c.pool.Slot, Warnings: []string{},
	}
	for _, fee := range c.quote.Fees.List() {
		out.Fees = append(out.Fees, Fee{fee.Kind, venue.Text(fee.Mint), decimal(fee.Amount)})
	}
	out.Route = []Leg{{
		Venue: c.pool.Venue, Pool: venue.Text(c.pool.Address()), SourceMint: out.SourceMint, TargetMint: out.TargetMint,
		AmountIn: out.AmountIn, AmountOut: out.AmountOut,
	}}
	for _, side := range []struct {
		field string
		key   venue.Key
	}{{fieldSource, r.source}, {fieldTarget, r.target}} {
		for _, w := range c.snapshot.Mints[side.key].Warnings {
			out.Warnings = append(out.Warnings, side.field+": "+w)
		}
	}
	return out
}

// transaction builds what the user signs. It needs a blockhash, and to know whether the user has an
// account for wrapped SOL.
func (s *Server) transaction(ctx context.Context, r *request, best *choice, minOut uint64) (*Transaction, error) {
	side := func(key venue.Key) txn.Side { return txn.Side{Mint: key, Program: best.snapshot.Mints[key].Program} }
	build := txn.Request{
		User: *r.user, In: side(r.source), Out: side(r.target), AmountIn: r.amount, SwapUnits: best.quote.ComputeUnits, UnitPrice: s.cfg.unitPrice, Native: best.quote.Native,
		Swap: func(user venue.UserAccounts) ([]venue.Instruction, error) {
			return best.pool.Instructions(best.quote, minOut, user)
		},
	}
	var height uint64
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		build.Blockhash, height, err = s.blockhash(reading)
		return err
	})
	if r.source == mint.WrappedSOL || r.target == mint.WrappedSOL {
		group.Go(func() (err error) {
			build.HasWrapped, err = s.hasWrapped(reading, *r.user)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, away(err)
	}
	built, err := txn.Build(build)
	if err != nil {
		return nil, err
	}
	return &Transaction{
		Txn: base64.StdEncoding.EncodeToString(built.Bytes), LastValidBlockHeight: height,
		ComputeUnits: built.ComputeUnits, Unwraps: built.Unwraps,
	}, nil
}

func (s *Server) blockhash(ctx context.Context) (venue.Key, uint64, error) {
	var result struct {
		Value struct {
			Blockhash            string `json:"blockhash"`
			LastValidBlockHeight uint64 `json:"lastValidBlockHeight"`
		} `json:"value"`
	}
	// Confirmed: a processed block may die, and its hash with it.
	if err := s.deps.RPC.Call(ctx, "getLatestBlockhash", []any{map[string]any{"commitment": solana.Confirmed}}, &result); err != nil {
		return venue.Key{}, 0, err
	}
	hash, err := tokenaccount.ParseKey(result.Value.Blockhash)
	if err != nil {
		return venue.Key{}, 0, fmt.Errorf("getLatestBlockhash: %w", err)
	}
	return venue.Key(hash), result.Value.LastValidBlockHeight, nil
}

func (s *Server) hasWrapped(ctx context.Context, user venue.Key) (bool, error) {
	account, err := txn.AssociatedAccount(user, txn.Side{Mint: mint.WrappedSOL, Program: mint.Token})
	if err != nil {
		return false, err
	}
	_, accounts, err := s.deps.RPC.GetMultipleAccounts(ctx, []venue.Key{account},
		solana.AccountOptions{Commitment: s.cfg.market.Commitment, DataSlice: &solana.DataSlice{}})
	if err != nil {
		return false, err
	}
	// An address that merely holds lamports is no token account yet.
	return accounts[0] != nil && accounts[0].Owner == mint.Token, nil
}
