package cpmm

import (
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// rateDenominator is 100 % as a fee rate: rates are in millionths (curve/fees.rs,
// FEE_RATE_DENOMINATOR_VALUE).
const rateDenominator = 1_000_000

// Curve has what the price in one direction of a pool depends on. All amounts are raw.
type Curve struct {
	// ReserveIn and ReserveOut are the vaults' amounts less the fees that are still in them.
	ReserveIn, ReserveOut uint64
	// TradeRate and CreatorRate are fee rates in millionths. CreatorRate is 0 where the creator fee
	// is off.
	TradeRate, CreatorRate uint64
	// CreatorOnInput says that the creator fee is taken from the input, not the output.
	CreatorOnInput bool
}

// Result is the result of a swap on a curve.
type Result struct {
	// AmountIn is what the pool receives, fees included; AmountOut what leaves it for the trader.
	AmountIn, AmountOut uint64
	// Net is the part of AmountIn that buys.
	Net uint64
	// TradeFee is taken from the input. CreatorFee is taken from the input if the curve's
	// CreatorOnInput is set, else from the output.
	TradeFee, CreatorFee uint64
}

// check returns an error if the program would refuse any swap or could not compute it.
func (c Curve) check() error {
	switch {
	case c.ReserveIn == 0 || c.ReserveOut == 0:
		return fmt.Errorf("%w: a reserve is empty", venue.ErrNoLiquidity)
	case c.TradeRate > rateDenominator || c.CreatorRate > rateDenominator || c.TradeRate+c.CreatorRate >= rateDenominator:
		return fmt.Errorf("%w: fee rates of %d and %d millionths", venue.ErrClosed, c.TradeRate, c.CreatorRate)
	}
	return nil
}

// ExactIn computes swap_base_input, for which amount reaches the pool:
//
//	creator fee on input : net = a − ⌈a·(trade+creator)/1e6⌉;  out = ⌊net·Ro/(Ri+net)⌋
//	creator fee on output: net = a − ⌈a·trade/1e6⌉;  o = ⌊net·Ro/(Ri+net)⌋;
//	                       out = o − ⌈o·creator/1e6⌉
//
// (raydium-cp-swap 609780f, curve/calculator.rs). Errors wrap a venue.Refusal.
func (c Curve) ExactIn(amount uint64) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	rate := c.TradeRate
	if c.CreatorOnInput {
		rate += c.CreatorRate
	}
	fee, _ := arith.MulDivUp(amount, rate, rateDenominator) // at most amount, since rate < 1e6
	r := Result{AmountIn: amount, Net: amount - fee, TradeFee: fee}
	if c.CreatorOnInput {
		r.splitFee(fee, c.TradeRate, c.CreatorRate)
	}
	sum, carry := bits.Add64(c.ReserveIn, r.Net, 0)
	if carry != 0 {
		return Result{}, fmt.Errorf("%w: the pool would hold more than 64 bits", venue.ErrTooLarge)
	}
	out, _ := arith.MulDiv(r.Net, c.ReserveOut, sum) // below ReserveOut, since Net < sum
	if !c.CreatorOnInput {
		r.CreatorFee, _ = arith.MulDivUp(out, c.CreatorRate, rateDenominator)
		out -= r.CreatorFee
	}
	if out == 0 {
		return Result{}, venue.ErrTooSmall
	}
	r.AmountOut = out
	return r, nil
}

// ExactOut computes swap_base_output, for which amount leaves the pool:
//
//	creator fee on input : net = ⌈Ri·o/(Ro−o)⌉;  in = ⌈net·1e6/(1e6−trade−creator)⌉
//	creator fee on output: o' = ⌈o·1e6/(1e6−creator)⌉;  net = ⌈Ri·o'/(Ro−o')⌉;
//	                       in = ⌈net·1e6/(1e6−trade)⌉
//
// Errors wrap a venue.Refusal.
func (c Curve) ExactOut(amount uint64) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	gross, rate, ok := amount, c.TradeRate, true
	if c.CreatorOnInput {
		rate += c.CreatorRate
	} else {
		gross, ok = arith.MulDivUp(amount, rateDenominator, rateDenominator-c.CreatorRate)
	}
	switch {
	case amount == 0:
		return Result{}, venue.ErrTooSmall
	case !ok || gross >= c.ReserveOut:
		return Result{}, fmt.Errorf("%w: it holds %d", venue.ErrNoLiquidity, c.ReserveOut)
	}
	net, ok := arith.MulDivUp(c.ReserveIn, gross, c.ReserveOut-gross)
	if !ok {
		return Result{}, fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
	}
	in, ok := arith.MulDivUp(net, rateDenominator, rateDenominator-rate)
	if !ok {
		return Result{}, fmt.Errorf("%w: it would take more than 64 bits", venue.ErrTooLarge)
	}
	r := Result{AmountIn: in, AmountOut: amount, Net: net, TradeFee: in - net}
	if c.CreatorOnInput {
		r.splitFee(in-net, c.TradeRate, c.CreatorRate)
	} else {
		r.CreatorFee = gross - amount
	}
	return r, nil
}

// splitFee divides a fee on the input between the pool and the creator, who gets
// ⌊fee·creator/(trade+creator)⌋.
func (r *Result) splitFee(fee, trade, creator uint64) {
	if creator > 0 {
		r.CreatorFee, _ = arith.MulDiv(fee, creator, trade+creator)
	}
	r.TradeFee = fee - r.CreatorFee
}
