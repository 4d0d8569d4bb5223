package dammv2

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// feeDivisor is what fees are parts of.
const feeDivisor = 1_000_000_000

// maxFee of a pool's fee version.
var maxFee = [2]uint64{500_000_000, 990_000_000}

// Modes of the base fee. Those after exponential depend on the amount or on the price; no run of
// the program proves them here.
const (
	modeLinear      = 0
	modeExponential = 1
)

// baseFee falls with time, from cliff, by a factor a period.
type baseFee struct {
	cliff     uint64
	mode      byte
	periods   uint16
	frequency uint64
	factor    uint64
}

func decodeBaseFee(data []byte) baseFee {
	return baseFee{
		cliff: binary.LittleEndian.Uint64(data), mode: data[8], periods: binary.LittleEndian.Uint16(data[14:]),
		frequency: binary.LittleEndian.Uint64(data[16:]), factor: binary.LittleEndian.Uint64(data[24:]),
	}
}

// check refuses modes that are not proved.
func (f *baseFee) check() error {
	switch {
	case f.mode > modeExponential:
		return fmt.Errorf("%w: base fee mode %d", venue.ErrUnverified, f.mode)
	case f.mode == modeExponential && f.factor > 10_000:
		return fmt.Errorf("%w: a fee that falls below nothing", venue.ErrMalformed)
	}
	return nil
}

// at is the base fee at a point in time (or slots), in billionths. ok is false if it is below 0.
func (f *baseFee) at(point, activation uint64) (fee uint64, ok bool) {
	if f.frequency == 0 {
		return f.cliff, true
	}
	period := uint64(f.periods)
	if point >= activation {
		period = min(period, (point-activation)/f.frequency)
	}
	if f.mode == modeLinear {
		hi, lo := bits.Mul64(period, f.factor)
		return f.cliff - lo, hi == 0 && lo <= f.cliff
	}
	fee, _ = bits.Mul64(f.cliff, power(f.factor, period))
	if period == 0 || f.factor == 0 {
		fee = f.cliff
	}
	return fee, true
}

// power is (1−factor/10,000)^period as a fraction of 2^64, each multiplication rounded down. It is
// for a period above 0 and a factor above 0, so it is below 1.
func power(factor, period uint64) uint64 {
	// 1−factor·2^64/10,000 as 64 bits; the whole of 2^64 is 0 there, as factor·2^64/10,000 is for
	// 10,000.
	part, _ := bits.Div64(factor%10_000, 0, 10_000)
	if factor == 10_000 {
		return 0
	}
	base := -part
	var result uint64
	one := true
	for ; period > 0; period >>= 1 {
		if period&1 == 1 {
			if one {
				result, one = base, false
			} else {
				result, _ = bits.Mul64(result, base)
			}
		}
		base, _ = bits.Mul64(base, base)
	}
	return result
}

// dynamicFee grows with the price's recent moves.
type dynamicFee struct {
	on                            bool
	maxAccumulator, control       uint32
	binStep, filter, decay        uint16
	reduction                     uint16
	updated                       uint64
	binStepQ64                    uint256.Int
	priceReference                uint256.Int
	accumulator, volatilityBefore uint256.Int
}

// decodeDynamicFee reads the 96 bytes of a pool.
func decodeDynamicFee(data []byte) dynamicFee {
	half := func(at int) uint16 { return binary.LittleEndian.Uint16(data[at:]) }
	return dynamicFee{
		on: data[0] != 0, maxAccumulator: binary.LittleEndian.Uint32(data[8:]), control: binary.LittleEndian.Uint32(data[12:]),
		binStep: half(16), filter: half(18), decay: half(20), reduction: half(22), updated: binary.LittleEndian.Uint64(data[24:]),
		binStepQ64: wide(data[32:]), priceReference: wide(data[48:]), accumulator: wide(data[64:]), volatilityBefore: wide(data[80:]),
	}
}

// wide reads a u128.
func wide(data []byte) uint256.Int {
	return uint256.Int{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])}
}

// before updates the references before a swap.
func (d *dynamicFee) before(price *uint256.Int, now uint64) {
	if !d.on || now < d.updated || now-d.updated < uint64(d.filter) {
		return
	}
	d.priceReference = *price
	if now-d.updated >= uint64(d.decay) {
		d.volatilityBefore.Clear()
		return
	}
	d.volatilityBefore.Mul(&d.accumulator, uint256.NewInt(uint64(d.reduction)))
	d.volatilityBefore.Div(&d.volatilityBefore, uint256.NewInt(10_000))
}

// fee is ⌈(accumulator·binStep)²·control/10¹¹⌉. It is capped, since it is added to the base fee.
func (d *dynamicFee) fee() uint64 {
	if !d.on {
		return 0
	}
	var v uint256.Int
	v.Mul(&d.accumulator, uint256.NewInt(uint64(d.binStep)))
	// An accumulator above 2^100 is beyond what the program lets it become.
	if v.BitLen() > 100 {
		return feeDivisor
	}
	v.Mul(&v, &v)
	v.Mul(&v, uint256.NewInt(uint64(d.control)))
	v.AddUint64(&v, 99_999_999_999)
	v.Div(&v, uint256.NewInt(100_000_000_000))
	if !v.LtUint64(feeDivisor) {
		return feeDivisor
	}
	return v.Uint64()
}

// after updates the accumulator behind a swap from the price old to the price next.
func (d *dynamicFee) after(old, next *uint256.Int, now uint64) {
	if !d.on || d.binStepQ64.IsZero() {
		return
	}
	moved := d.bins(next, &d.priceReference)
	moved.Mul(&moved, uint256.NewInt(10_000))
	moved.Add(&moved, &d.volatilityBefore)
	if most := uint256.NewInt(uint64(d.maxAccumulator)); moved.Gt(most) {
		moved = *most
	}
	d.accumulator = moved
	if moved = d.bins(old, next); !moved.IsZero() {
		d.updated = now
	}
}

// bins is how many bin steps lie between two prices: twice those of the square roots.
func (d *dynamicFee) bins(x, y *uint256.Int) uint256.Int {
	if x.Lt(y) {
		x, y = y, x
	}
	var ratio uint256.Int
	if y.IsZero() {
		return ratio
	}
	ratio.Lsh(x, 64)
	ratio.Div(&ratio, y)
	ratio.Sub(&ratio, &uint256.Int{0, 1})
	ratio.Div(&ratio, &d.binStepQ64)
	return *ratio.Lsh(&ratio, 1)
}

// feeOf is the fee inside an amount: ⌈amount·rate/10⁹⌉.
func feeOf(amount, rate uint64) uint64 {
	fee, _ := arith.MulDivUp(amount, rate, feeDivisor)
	return fee
}

// withFee is the amount of which amount is left behind the fee: ⌈amount·10⁹/(10⁹−rate)⌉.
func withFee(amount, rate uint64) (uint64, bool) {
	return arith.MulDivUp(amount, feeDivisor, feeDivisor-rate)
}
