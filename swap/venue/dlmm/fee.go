package dlmm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// The fee of a swap has a base and a variable part:
//
//	base = factor·step·10·10^power    variable = ⌈control·(accumulator·step)²/10¹¹⌉
//
// The accumulator grows with the bins that the price has crossed since a reference. The reference
// is renewed when some time has passed without swaps.
const (
	// feeUnit is 100 % as a fee rate: rates are in billionths.
	feeUnit = 1_000_000_000
	// mostRate is the highest fee, 10 %.
	mostRate = 100_000_000
	// binWeight is what one crossed bin adds to the accumulator. reductionUnit is 100 % as a
	// reduction. controlUnit divides the variable part.
	binWeight     = 10_000
	reductionUnit = 10_000
	controlUnit   = 100_000_000_000
)

// fee is what a pool account says of the pool's fee.
type fee struct {
	// filter and decay are in seconds, see regimeAt.
	factor, filter, decay, reduction uint16
	// most is the greatest accumulator.
	control, most uint32
	power         byte
	// accumulator is that of the last swap. volatility is the part of it that was kept when the
	// reference, which is a bin, was renewed.
	accumulator, volatility uint32
	reference               int32
	// updated is the Unix second of the last swap.
	updated int64
}

func decodeFee(data []byte) fee {
	return fee{
		factor: binary.LittleEndian.Uint16(data[poolBaseFactor:]), filter: binary.LittleEndian.Uint16(data[poolFilter:]),
		decay: binary.LittleEndian.Uint16(data[poolDecay:]), reduction: binary.LittleEndian.Uint16(data[poolReduction:]),
		control: binary.LittleEndian.Uint32(data[poolControl:]), most: binary.LittleEndian.Uint32(data[poolMost:]), power: data[poolPower],
		accumulator: binary.LittleEndian.Uint32(data[poolAccumulator:]), volatility: binary.LittleEndian.Uint32(data[poolVolatility:]),
		reference: int32(binary.LittleEndian.Uint32(data[poolReference:])), updated: int64(binary.LittleEndian.Uint64(data[poolUpdated:])),
	}
}

// regime says what happens to the reference at the start of a swap. It depends on the time since
// the last swap.
type regime uint8

const (
	// regimeKeep keeps the reference.
	regimeKeep regime = iota
	// regimeReduce begins a new reference with a part of the accumulator.
	regimeReduce
	// regimeReset begins a new reference without volatility.
	regimeReset
	// regimes is the number of regimes.
	regimes
)

// regimeAt returns the regime at a Unix second. Errors wrap a Refusal.
func (f *fee) regimeAt(now int64) (regime, error) {
	elapsed := now - f.updated
	switch {
	case (elapsed < 0) != (now < f.updated): // the difference overflows
		return 0, fmt.Errorf("%w: the time of its last swap", venue.ErrMalformed)
	case elapsed < int64(f.filter):
		return regimeKeep, nil
	case elapsed >= int64(f.decay):
		return regimeReset, nil
	case uint64(f.accumulator)*uint64(f.reduction) > math.MaxUint32:
		return 0, fmt.Errorf("%w: the reduced volatility has more than 32 bits", venue.ErrTooLarge)
	}
	return regimeReduce, nil
}

// start returns the fee with its reference as a regime leaves it. active is the bin at which the
// swap starts.
func (f fee) start(r regime, active int32) fee {
	if r != regimeKeep {
		f.reference, f.volatility = active, 0
	}
	if r == regimeReduce {
		f.volatility = uint32(uint64(f.accumulator) * uint64(f.reduction) / reductionUnit)
	}
	return f
}

// base returns the base part of the fee, in billionths.
func (f *fee) base(step uint16) uint64 {
	base := uint64(f.factor) * uint64(step) * 10
	for range f.power {
		if base >= mostRate {
			return mostRate
		}
		base *= 10
	}
	return min(base, mostRate)
}

// crossed returns the accumulator of a swap that is in a bin.
func (f *fee) crossed(bin int32) uint64 {
	distance := int64(f.reference) - int64(bin)
	return min(uint64(f.volatility)+uint64(max(distance, -distance))*binWeight, uint64(f.most))
}

// rate returns the whole fee in a bin, in billionths. step is the bin step.
func (f *fee) rate(bin int32, step uint16) uint64 {
	base := f.base(step)
	square := f.crossed(bin) * uint64(step)
	if f.control == 0 || square == 0 {
		return base
	}
	if square > math.MaxUint32 {
		return mostRate // (2³²)²/10¹¹ is more than mostRate
	}
	hi, lo := bits.Mul64(square*square, uint64(f.control))
	if hi >= controlUnit {
		return mostRate
	}
	variable, rest := bits.Div64(hi, lo, controlUnit)
	if rest > 0 {
		variable++
	}
	return min(base+min(variable, mostRate), mostRate)
}

// feeOf returns the fee that an amount includes.
func feeOf(amount, rate uint64) uint64 {
	part, _ := arith.MulDivUp(amount, rate, feeUnit)
	return part
}

// feeOn returns the fee that comes on top of an amount. ok is false if it exceeds 64 bits.
func feeOn(amount, rate uint64) (fee uint64, ok bool) {
	return arith.MulDivUp(amount, rate, feeUnit-rate)
}
