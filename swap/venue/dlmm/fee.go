package dlmm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// The fee of a swap is a base and a variable part, which grows with the bins that the price has
// crossed since a reference. The reference is renewed when some time has passed without swaps:
//
//	base = factor·step·10·10^power    variable = ⌈control·(accumulator·step)²/10¹¹⌉
const (
	// feeUnit is the whole of which a fee rate is a part.
	feeUnit = 1_000_000_000
	// mostRate is the highest fee, 10 %.
	mostRate = 100_000_000
	// binWeight is what one crossed bin adds to the accumulator; reductionUnit is the whole of
	// which the reduction is a part.
	binWeight     = 10_000
	reductionUnit = 10_000
	controlUnit   = 100_000_000_000
)

// fee is what a pool account says of its fee.
type fee struct {
	factor, filter, decay, reduction uint16
	control, most                    uint32
	power                            byte
	accumulator, volatility          uint32
	reference                        int32
	updated                          int64
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

// regime is what becomes of the reference at the start of a swap, by the time that has passed.
type regime uint8

// The regimes.
const (
	regimeKeep regime = iota
	regimeReduce
	regimeReset
	regimes
)

// regimeAt returns the regime at a time. Errors wrap a Refusal.
func (f *fee) regimeAt(now int64) (regime, error) {
	elapsed := now - f.updated
	switch {
	case (elapsed < 0) != (now < f.updated):
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

// start returns the fee with the references of a regime, for a swap that starts at a bin.
func (f fee) start(r regime, active int32) fee {
	if r != regimeKeep {
		f.reference, f.volatility = active, 0
	}
	if r == regimeReduce {
		f.volatility = uint32(uint64(f.accumulator) * uint64(f.reduction) / reductionUnit)
	}
	return f
}

// base returns the fee's fixed part.
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

// crossed returns the accumulator in a bin.
func (f *fee) crossed(bin int32) uint64 {
	distance := int64(f.reference) - int64(bin)
	return min(uint64(f.volatility)+uint64(max(distance, -distance))*binWeight, uint64(f.most))
}

// rate returns the whole fee in a bin.
func (f *fee) rate(bin int32, step uint16) uint64 {
	base := f.base(step)
	square := f.crossed(bin) * uint64(step)
	if f.control == 0 || square == 0 {
		return base
	}
	if square > math.MaxUint32 {
		return mostRate // (2³²)²/10¹¹ is more than that
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

// feeOf returns the part of an amount that is its fee.
func feeOf(amount, rate uint64) uint64 {
	part, _ := arith.MulDivUp(amount, rate, feeUnit)
	return part
}

// feeOn returns the fee that comes on top of an amount.
func feeOn(amount, rate uint64) (uint64, bool) { return arith.MulDivUp(amount, rate, feeUnit-rate) }
