package dbc

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// feeDivisor is 100 % as a fee rate: rates are in billionths. maxFee is the highest rate.
const (
	feeDivisor = 1_000_000_000
	maxFee     = 990_000_000
)

// Modes of the base fee.
const (
	modeLinear      = 0
	modeExponential = 1
	// modeLimiter lets the fee of a purchase grow with its amount, for a while after the
	// activation.
	modeLimiter = 2
)

// baseFee is the base part of a fee. It begins at the rate cliff. first, second and third are the
// program's first_factor, second_factor and third_factor:
//
//	modeLinear:      the rate falls by third billionths each period, for first periods
//	modeExponential: the rate falls by third basis points of itself each period, for first periods
//	modeLimiter:     each further third of the amount costs first basis points more
//
// second is the length of a period, or of the time during which modeLimiter holds. It is in seconds
// or in slots.
type baseFee struct {
	cliff, second, third uint64
	first                uint16
	mode                 byte
}

func decodeBaseFee(data []byte) baseFee {
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	return baseFee{cliff: number(0), second: number(8), third: number(16), first: binary.LittleEndian.Uint16(data[24:]), mode: data[26]}
}

func (f *baseFee) check() error {
	switch {
	case f.mode > modeLimiter:
		return fmt.Errorf("%w: base fee mode %d", venue.ErrUnverified, f.mode)
	case f.cliff > maxFee, f.mode == modeExponential && f.third > 10_000:
		return fmt.Errorf("%w: a fee out of its range", venue.ErrMalformed)
	case f.mode == modeLimiter && (f.first != 0 || f.second != 0 || f.third != 0) && (f.first == 0 || f.third == 0):
		return fmt.Errorf("%w: a fee that grows by nothing", venue.ErrMalformed)
	}
	return nil
}

// scheduled returns the base fee at a point in time, without the part that depends on the amount,
// in billionths. ok is false if it would be below 0.
func (f *baseFee) scheduled(point, activation uint64) (fee uint64, ok bool) {
	if f.second == 0 || f.mode == modeLimiter {
		return f.cliff, true
	}
	period := min(uint64(f.first), (max(point, activation)-activation)/f.second)
	if f.mode == modeLinear {
		hi, lo := bits.Mul64(period, f.third)
		return f.cliff - lo, hi == 0 && lo <= f.cliff
	}
	if period == 0 {
		return f.cliff, true
	}
	return powered(f.cliff, f.third, period), true
}

// powered returns ⌊cliff·(1−factor/10,000)^period⌋. The power is a Q64.64 number, of which each
// multiplication rounds down.
func powered(cliff, factor, period uint64) uint64 {
	switch {
	case factor == 0 || period == 0:
		return cliff
	case factor >= 10_000:
		return 0
	}
	lost, _ := bits.Div64(factor, 0, 10_000)
	// These numbers are fractions of 2^64.
	square, result, begun := -lost, uint64(0), false
	for ; period > 0; period >>= 1 {
		switch {
		case period&1 == 0:
		case begun:
			result, _ = bits.Mul64(result, square)
		default:
			result, begun = square, true
		}
		square, _ = bits.Mul64(square, square)
	}
	fee, _ := bits.Mul64(cliff, result)
	return fee
}

// growsWithAmount returns whether the fee of a swap depends on its amount at a point in time. buys
// says that the swap is a purchase.
func (f *baseFee) growsWithAmount(point, activation uint64, buys bool) bool {
	if f.mode != modeLimiter || !buys || f.third == 0 {
		return false
	}
	end, over := bits.Add64(activation, f.second, 0)
	return over != 0 || point <= end
}

// increment returns by how many billionths the rate rises with each further third of the amount.
func (f *baseFee) increment() uint64 { return uint64(f.first) * (feeDivisor / 10_000) }

// steps returns how many increments fit between cliff and maxFee.
func (f *baseFee) steps() uint64 { return (maxFee - f.cliff) / f.increment() }

// onIncluded returns the fee rate for an amount that includes the fee, in billionths.
func (f *baseFee) onIncluded(amount uint64) (uint64, error) {
	if amount <= f.third {
		return f.cliff, nil
	}
	count, rest := (amount-f.third)/f.third, (amount-f.third)%f.third
	most := f.steps()
	below := min(count, most)
	// The amount is cut into parts of size third. The first part pays the rate cliff, the next one
	// cliff+increment, and so on. First sum is the fee of below+1 parts. Then what is left is
	// added: it pays the rate of the next part, or maxFee beyond the last increment.
	var whole, more, sum uint256.Int
	c, i, n := uint256.NewInt(f.cliff), uint256.NewInt(f.increment()), uint256.NewInt(below)
	whole.Add(c, more.Mul(c, n))
	more.Mul(i, n)
	more.Mul(&more, sum.AddUint64(n, 1))
	whole.Add(&whole, more.Rsh(&more, 1))
	sum.Mul(&whole, uint256.NewInt(f.third))
	if count < most {
		more.Mul(i, whole.AddUint64(n, 1))
		more.Add(&more, c)
		more.Mul(&more, uint256.NewInt(rest))
	} else {
		more.Mul(uint256.NewInt(count-most), uint256.NewInt(f.third))
		more.AddUint64(&more, rest)
		more.Mul(&more, uint256.NewInt(maxFee))
	}
	sum.Add(&sum, &more)
	// The fee is rounded up, then its rate ⌈fee·10⁹/amount⌉.
	arith.DivideUp(&whole, &sum, uint256.NewInt(feeDivisor))
	more.Mul(&whole, uint256.NewInt(feeDivisor))
	arith.DivideUp(&whole, &more, uint256.NewInt(amount))
	if !whole.IsUint64() {
		return 0, errLarge
	}
	return whole.Uint64(), nil
}

// excluded returns what is left of an amount after the fee, if the fee grows with the amount.
func (f *baseFee) excluded(amount uint64) (uint64, error) {
	rate, err := f.onIncluded(amount)
	if err != nil {
		return 0, err
	}
	fee := feeOf(amount, rate)
	return amount - min(fee, amount), nil
}

// onExcluded returns the fee rate for an amount that is left after the fee, in billionths.
func (f *baseFee) onExcluded(left uint64) (uint64, error) {
	first, err := f.excluded(f.third)
	if err != nil || left <= first {
		return f.cliff, err
	}
	// Up to the amount top the rate of a part grows. What is beyond top pays maxFee.
	top, over := ^uint64(0), true
	if hi, lo := bits.Mul64(f.steps()+1, f.third); hi == 0 {
		top, over = lo, false
	}
	leftOfTop, err := f.excluded(top)
	switch {
	case err != nil:
		return 0, err
	case left == leftOfTop:
		return f.onIncluded(top)
	}
	var whole uint64
	if left < leftOfTop {
		whole, err = f.included(left)
	} else {
		whole, err = beyond(left-leftOfTop, maxFee, top)
		if over {
			err = errLarge
		}
	}
	if err != nil || whole < left || whole == 0 {
		return 0, errLarge
	}
	rate, ok := arith.MulDivUp(whole-left, feeDivisor, whole)
	if !ok || rate < f.cliff {
		return 0, errLarge
	}
	return rate, nil
}

// beyond returns amount plus the amount of which rest is left after a fee of rate.
func beyond(rest, rate, amount uint64) (uint64, error) {
	if rate >= feeDivisor {
		return 0, errLarge
	}
	more, ok := withFee(rest, rate)
	if !ok || amount+more < more {
		return 0, errLarge
	}
	return amount + more, nil
}

// included returns the amount of which left is left after the growing fee. It solves a quadratic
// equation, rounds the solution down, and adds the amount of which the rest is left at the rate of
// that part. With the increment i, the size t of a part and the rate c of the first part:
//
//	x = (y−√(y²−4·i·z))/(2·i)   y = 2·10⁹·t+i·t−2·c·t   z = 2·left·10⁹·t
func (f *baseFee) included(left uint64) (uint64, error) {
	i, t := uint256.NewInt(f.increment()), uint256.NewInt(f.third)
	var y, z, root uint256.Int
	y.SetUint64(2*feeDivisor + f.increment() - 2*f.cliff)
	y.Mul(&y, t)
	z.Mul(uint256.NewInt(left), uint256.NewInt(2*feeDivisor))
	z.Mul(&z, t)
	z.Mul(&z, i)
	z.Lsh(&z, 2)
	root.Mul(&y, &y)
	if root.Lt(&z) {
		return 0, errLarge
	}
	root.Sub(&root, &z)
	root.Sqrt(&root)
	y.Sub(&y, &root)
	y.Div(&y, z.Lsh(i, 1))
	if !y.IsUint64() {
		return 0, errLarge
	}
	amount := y.Uint64()
	kept, err := f.excluded(amount)
	if err != nil || kept > left {
		return 0, errLarge
	}
	return beyond(left-kept, f.cliff+f.increment()*(amount/f.third), amount)
}

// dynamicDivisor scales the square of the volatility to billionths.
const dynamicDivisor = 100_000_000_000

// dynamicFee grows with the recent moves of the price, which the pool counts in its accumulator.
type dynamicFee struct {
	on      bool
	control uint32
	binStep uint16
}

func decodeDynamicFee(data []byte) dynamicFee {
	return dynamicFee{on: data[0] != 0, control: binary.LittleEndian.Uint32(data[12:]), binStep: binary.LittleEndian.Uint16(data[16:])}
}

// fee returns ⌈(accumulator·binStep)²·control/10¹¹⌉, at most feeDivisor. accumulator is the pool's
// before the swap.
func (d *dynamicFee) fee(accumulator *uint256.Int) uint64 {
	if !d.on {
		return 0
	}
	if d.control == 0 {
		return 0
	}
	over, moved := bits.Mul64(accumulator[0], uint64(d.binStep))
	if over != 0 || moved >= 1<<48 || accumulator[1] != 0 { // at 2⁴⁸ the fee is feeDivisor
		return feeDivisor
	}
	// The square has 96 bits and control 32.
	high, low := bits.Mul64(moved, moved)
	carry, low := bits.Mul64(low, uint64(d.control))
	low, more := bits.Add64(low, dynamicDivisor-1, 0)
	if high = high*uint64(d.control) + carry + more; high >= dynamicDivisor {
		return feeDivisor
	}
	fee, _ := bits.Div64(high, low, dynamicDivisor)
	return min(fee, feeDivisor)
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
