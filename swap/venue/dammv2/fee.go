package dammv2

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// feeDivisor is 100 % as a fee rate: rates are in billionths.
const feeDivisor = 1_000_000_000

// maxFee is the highest fee by the pool's fee version.
var maxFee = [2]uint64{500_000_000, 990_000_000}

// Modes of the base fee. In higher modes it depends on the amount or the price, which no run of the
// program has proved here.
const (
	modeLinear      = 0
	modeExponential = 1
)

// baseFee falls with time. It begins at cliff and falls by factor every frequency seconds (or
// slots), periods times at most. In modeLinear factor is subtracted. In modeExponential it is in
// basis points of the fee.
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

// check returns an error for modes that are not proved.
func (f *baseFee) check() error {
	switch {
	case f.mode > modeExponential:
		return fmt.Errorf("%w: base fee mode %d", venue.ErrUnverified, f.mode)
	case f.mode == modeExponential && f.factor > 10_000:
		return fmt.Errorf("%w: a fee that falls below nothing", venue.ErrMalformed)
	}
	return nil
}

// at returns the base fee at a point in time, a Unix second or a slot, in billionths. Before the
// activation all periods count, but no swap is allowed then. ok is false if the fee would be below
// 0.
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

// power returns (1−factor/10,000)^period as a fraction of 2^64. Each multiplication rounds down.
// period and factor must be above 0, so the result is below 1.
func power(factor, period uint64) uint64 {
	// base is 1−factor/10,000 as a fraction of 2^64. For a factor of 10,000 the quotient would not
	// fit 64 bits, and the result is 0.
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

// dynamicDivisor scales the square of the volatility to billionths.
const dynamicDivisor = 100_000_000_000

// dynamicFee grows with the recent moves of the price.
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

// decodeDynamicFee reads the 96 bytes of a pool account that are its dynamic fee.
func decodeDynamicFee(data []byte) dynamicFee {
	u16 := func(at int) uint16 { return binary.LittleEndian.Uint16(data[at:]) }
	return dynamicFee{
		on: data[0] != 0, maxAccumulator: binary.LittleEndian.Uint32(data[8:]), control: binary.LittleEndian.Uint32(data[12:]),
		binStep: u16(16), filter: u16(18), decay: u16(20), reduction: u16(22), updated: binary.LittleEndian.Uint64(data[24:]),
		binStepQ64: wide(data[32:]), priceReference: wide(data[48:]), accumulator: wide(data[64:]), volatilityBefore: wide(data[80:]),
	}
}

// wide reads a u128.
func wide(data []byte) uint256.Int {
	return uint256.Int{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])}
}

// before updates the references, as the program does at the start of a swap. In the first filter
// seconds after the last move they stay. After that the present price becomes the reference, and
// reduction/10,000 of the volatility is kept. After decay seconds nothing of the volatility is
// kept.
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

// fee returns ⌈(accumulator·binStep)²·control/10¹¹⌉, at most feeDivisor.
func (d *dynamicFee) fee() uint64 {
	if !d.on {
		return 0
	}
	var v uint256.Int
	v.Mul(&d.accumulator, uint256.NewInt(uint64(d.binStep)))
	// The program never lets v become so large. With a larger one the product below would overflow.
	if v.BitLen() > 100 {
		return feeDivisor
	}
	v.Mul(&v, &v)
	v.Mul(&v, uint256.NewInt(uint64(d.control)))
	v.AddUint64(&v, dynamicDivisor-1)
	v.Div(&v, uint256.NewInt(dynamicDivisor))
	if !v.LtUint64(feeDivisor) {
		return feeDivisor
	}
	return v.Uint64()
}

// after updates the accumulator after a swap that moved the price from old to next.
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

// bins returns how many bin steps lie between two prices. x and y are their square roots, so it is
// twice the number of steps between x and y.
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

// feeOf returns the fee on an amount: ⌈amount·rate/10⁹⌉.
func feeOf(amount, rate uint64) uint64 {
	fee, _ := arith.MulDivUp(amount, rate, feeDivisor)
	return fee
}

// withFee returns the amount of which the given amount is left after the fee:
// ⌈amount·10⁹/(10⁹−rate)⌉. ok is false if that exceeds 64 bits.
func withFee(amount, rate uint64) (gross uint64, ok bool) {
	return arith.MulDivUp(amount, feeDivisor, feeDivisor-rate)
}
