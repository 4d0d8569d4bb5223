package swap

import (
	"slices"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/swap/router"
	"github.com/mintlake/mintlake/swap/venue"
)

// Response is the body of a quote. Amounts are raw units in decimal strings: they may exceed what
// JavaScript holds exactly.
type Response struct {
	SourceMint string `json:"src_mint"`
	TargetMint string `json:"dst_mint"`
	// SwapMode is exact_in or exact_out.
	SwapMode string `json:"swap_mode"`
	// AmountIn is what the user sells. With exact_in it is the whole amount asked for, although a
	// route over two pools may not use all of it: Residual has the rest. With exact_out it also
	// pays for what is bought beyond the amount asked for.
	AmountIn string `json:"amount_in"`
	// MaxAmountIn is the most that may leave the user's account: otherwise the transaction fails on
	// the chain.
	MaxAmountIn string `json:"max_amount_in"`
	// AmountOut is what the user receives at the state of Slot, after the fees of pools, of
	// Token-2022 transfers and of the platform.
	AmountOut string `json:"amount_out"`
	// MinAmountOut is the least that the user receives: AmountOut less the slippage, rounded down,
	// or the amount that exact_out asks for, or the threshold of a quote that was sent back. The
	// transaction fails on the chain if less would arrive.
	MinAmountOut string `json:"min_amount_out"`
	SlippageBps  uint64 `json:"slippage_bps"`
	// PriceImpactBps is how much worse the price of the trade is than the price before it, without
	// fees, rounded up.
	PriceImpactBps uint64 `json:"price_impact_bps"`
	// Fees are already counted in the amounts.
	Fees []Fee `json:"fees"`
	// FeeBps is the platform's part of the output.
	FeeBps uint64 `json:"fee_bps"`
	// Slot is the oldest slot of the pools' states. ContextSlot is the slot up to which all of them
	// are known to be unchanged.
	Slot        uint64 `json:"slot"`
	ContextSlot uint64 `json:"context_slot"`
	// StateAgeMs is how long ago the state was read, TimeTakenMs how long the answer took.
	StateAgeMs  int64   `json:"state_age_ms"`
	TimeTakenMs float64 `json:"time_taken_ms"`
	// Route lists all swaps in the order of the transaction. Routes has the same swaps by the parts
	// of the split, each with its share.
	Route  []Leg   `json:"route"`
	Routes []Route `json:"routes"`
	// Residual lists what the user has in the end besides what he asked for: the rest of the token
	// that is sold, of the token in the middle, and with exact_out the part of AmountOut beyond the
	// amount asked for. It may be empty, but is never null.
	Residual []Residual `json:"residual"`
	// Venues lists the venues that were asked for a direct trade, with their pools that give no
	// quote for the whole amount.
	Venues []VenueReport `json:"venues"`
	// Warnings name what a mint's owner can do to its holders, such as "dst_mint:
	// permanent_delegate". It may be empty, but is never null.
	Warnings []string `json:"warnings"`
	// TransactionBytes is there if the request asked for sizes.
	TransactionBytes *TransactionBytes `json:"transaction_bytes,omitempty"`
	*Transaction
	// Simulation is there if the request was a POST and a JSON-RPC server simulated the
	// transaction.
	Simulation *Simulation `json:"simulation,omitempty"`
}

// TransactionBytes is how many bytes the transaction of a quote has, by its version. A transaction
// of version 0 may have 1,232 bytes, one of version 1 4,096 bytes.
type TransactionBytes struct {
	Zero int `json:"0"`
	One  int `json:"1"`
}

// Fee is one fee. Kind is pool, creator, transfer or platform.
type Fee struct {
	Kind   string `json:"kind"`
	Mint   string `json:"mint"`
	Amount string `json:"amount"`
}

// feePlatform is the kind of the fee that fee_bps asks for.
const feePlatform = "platform"

// Leg is one swap of the route.
type Leg struct {
	Venue      string `json:"venue"`
	Pool       string `json:"pool"`
	SourceMint string `json:"src_mint"`
	TargetMint string `json:"dst_mint"`
	AmountIn   string `json:"amount_in"`
	AmountOut  string `json:"amount_out"`
	// Fees of this swap; they are in the quote's Fees too.
	Fees []Fee `json:"fees"`
}

// Route is one of the parts that run side by side.
type Route struct {
	// ShareBps is the route's share of the amount sold, in basis points. The shares of all routes
	// add up to 10,000.
	ShareBps uint64 `json:"share_bps"`
	// OneInstruction says that the two swaps of Legs are one instruction of their venue. Then
	// nothing can stay in the token in the middle. Otherwise swaps of a route that sell the same
	// token share what the swaps before them buy.
	OneInstruction bool   `json:"one_instruction"`
	AmountIn       string `json:"amount_in"`
	AmountOut      string `json:"amount_out"`
	Legs           []Leg  `json:"legs"`
}

// Residual is an amount of a token that is left over, or bought beyond what was asked for.
type Residual struct {
	Mint string `json:"mint"`
	// AmountMax at the state of Slot.
	AmountMax string `json:"amount_max"`
}

// VenueReport is what a venue had for the pair.
type VenueReport struct {
	Venue string `json:"venue"`
	// Pools of the pair, as far as they are known.
	Pools   int           `json:"pools"`
	Refused []PoolRefusal `json:"refused"`
	// Stopped is why none of its pools is quoted for now, or not for all kinds of swaps; null if
	// all are.
	Stopped *Stop `json:"stopped"`
}

// PoolRefusal is a pool that gives no quote for the whole amount.
type PoolRefusal struct {
	Pool   string `json:"pool"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// maxRefusals is how many refused pools a VenueReport names.
const maxRefusals = 16

// Transaction is part of a Response if the request named a user.
type Transaction struct {
	// Txn is the base64 of the transaction with zero signatures.
	Txn string `json:"txn"`
	// LastValidBlockHeight is the last block height at which the transaction is valid.
	LastValidBlockHeight uint64 `json:"last_valid_block_height"`
	ComputeUnits         uint32 `json:"compute_units"`
	// PriorityFee in lamports.
	PriorityFee uint64 `json:"priority_fee"`
	// Unwraps says that bought SOL arrives as SOL. It is false for other tokens, and if the user
	// had an account for wrapped SOL: then it stays wrapped there.
	Unwraps bool `json:"unwraps_sol"`
	// Rent is the lamports that stay in accounts which the transaction opens for the user: accounts
	// for the tokens that he buys, and accounts that venues keep for him, such as PumpSwap's
	// account for cashback.
	Rent uint64 `json:"rent"`
	// Version is legacy, 0 or 1.
	Version string `json:"transaction_version"`
	// Fee is what the chain takes for the signatures, in lamports, besides PriorityFee.
	Fee uint64 `json:"signature_fee"`
	// LookupTables are the address lookup tables that the transaction uses. It may be empty, but is
	// never null.
	LookupTables []string `json:"lookup_tables"`
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// response puts a choice into the API's format.
func (s *Server) response(r *request, c *choice, began time.Time) *Response {
	out := &Response{
		SourceMint: r.sourceText, TargetMint: r.targetText, SwapMode: modeIn,
		AmountIn: decimal(c.amountIn), MaxAmountIn: decimal(c.maxIn), AmountOut: decimal(c.amountOut), MinAmountOut: decimal(c.minOut),
		SlippageBps: r.slippage, PriceImpactBps: c.plan.ImpactBps, FeeBps: r.fee,
		Slot: c.slot, ContextSlot: c.view.slot, StateAgeMs: max(0, s.deps.Now().Sub(c.view.readAt).Milliseconds()),
		Routes: make([]Route, len(c.plan.Routes)), Residual: []Residual{}, Warnings: []string{}, Fees: []Fee{},
		Venues: c.venues,
	}
	if r.exactOut {
		out.SwapMode = modeOut
	}
	// Most mints of an answer are these two, whose text is there already.
	text := func(key venue.Key) string {
		switch key {
		case r.source:
			return out.SourceMint
		case r.target:
			return out.TargetMint
		}
		return key.String()
	}
	count := 0
	for i := range c.plan.Routes {
		count += len(c.plan.Routes[i].Legs)
	}
	out.Route = make([]Leg, 0, count)
	shares := sharesOf(&c.plan)
	for i := range c.plan.Routes {
		route, first := &c.plan.Routes[i], len(out.Route)
		for j := range route.Legs {
			leg := legOf(&route.Legs[j], text)
			out.Route, out.Fees = append(out.Route, leg), append(out.Fees, leg.Fees...)
		}
		legs := slices.Clip(out.Route[first:])
		out.Routes[i] = Route{
			ShareBps: shares[i], OneInstruction: route.Chained, AmountIn: decimal(route.AmountIn), AmountOut: decimal(route.AmountOut), Legs: legs,
		}
		for _, left := range route.Residual {
			out.Residual = append(out.Residual, Residual{text(left.Mint), decimal(left.Units)})
		}
	}
	if c.fee > 0 {
		out.Fees = append(out.Fees, Fee{feePlatform, out.TargetMint, decimal(c.fee)})
	}
	if left := c.amountIn - min(c.plan.AmountIn, c.amountIn); left > 0 {
		out.Residual = append(out.Residual, Residual{out.SourceMint, decimal(left)})
	}
	if more := c.amountOut - min(r.amount, c.amountOut); r.exactOut && more > 0 {
		out.Residual = append(out.Residual, Residual{out.TargetMint, decimal(more)})
	}
	for _, side := range []struct {
		field string
		key   venue.Key
	}{{fieldSource, r.source}, {fieldTarget, r.target}} {
		for _, w := range c.view.mint(side.key).Warnings {
			out.Warnings = append(out.Warnings, side.field+": "+w)
		}
	}
	out.TimeTakenMs = float64(time.Since(began).Microseconds()) / 1000
	return out
}

// legOf describes one swap. text returns the base58 of a mint.
func legOf(l *router.Leg, text func(venue.Key) string) Leg {
	leg := Leg{
		Venue: l.Venue, Pool: l.Address().String(), SourceMint: text(l.Quote.Order.In), TargetMint: text(l.Quote.Out),
		AmountIn: decimal(l.Quote.AmountIn), AmountOut: decimal(l.Quote.AmountOut),
	}
	fees := l.Quote.Fees.List()
	leg.Fees = make([]Fee, 0, len(fees))
	for _, fee := range fees {
		leg.Fees = append(leg.Fees, Fee{fee.Kind.String(), text(l.Quote.MintOf(fee)), decimal(fee.Amount)})
	}
	return leg
}

// sharesOf returns the shares of a plan's routes in basis points. The first route, which has the
// greatest share, gets what rounding leaves.
func sharesOf(p *router.Plan) []uint64 {
	shares := make([]uint64, len(p.Routes))
	rest := uint64(maxSlippage)
	for i := len(p.Routes) - 1; i > 0; i-- {
		shares[i] = proportion(p.Routes[i].AmountIn, maxSlippage, p.AmountIn)
		rest -= shares[i]
	}
	shares[0] = rest
	return shares
}
