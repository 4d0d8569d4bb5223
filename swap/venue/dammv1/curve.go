package dammv1

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// curve is the curve of a pool: x·y stays the same, or, if stable is set, the curve of StableSwap
// for two tokens,
//
//	2A·(x+y) + D = 2A·D + D³/(4xy)
//
// where x and y are amounts times multipliers, and with a depeg also times prices. The program
// solves the equation by Newton's method, first for D and then for y, with whole numbers of 192
// bits.
type curve struct {
	stable      bool
	amplifier   uint64
	multipliers [2]uint64
	depeg       depeg
	// price is the price of token b in millionths, cached the Unix second at which it was read.
	price, cached uint64
}

// maxRounds bounds the rounds of Newton's method. A round costs the program some 3,000 compute
// units, so a swap with more rounds would not end within its compute units.
const maxRounds = 48

var errLarge = fmt.Errorf("%w: a number of the program would overflow", venue.ErrTooLarge)

// trade is a curve at a point in time, for one direction.
type trade struct {
	// in and out are what the pool has of the token that is sold and of the one that is bought.
	in, out uint64
	// On a stable curve, amounts are multiplied by scales, and ann is 2A.
	stable bool
	scales [2]uint256.Int
	ann    uint64
	solved
}

// solved is what follows from x and y alone: D, and spot, the price of the token that is sold,
// times 2⁹⁶. spot is 0 if it cannot be computed.
type solved struct{ x, y, d, spot uint256.Int }

// spotBits is how many bits of solved.spot are behind the binary point.
const spotBits = 96

// memory keeps the last solved of each direction, as a search for a route asks a pool again and
// again at one point in time. The directions are apart because rounding depends on which amount is
// x. A nil memory keeps nothing. It is safe for concurrent use.
type memory [2]atomic.Pointer[solved]

// recall sets the solved of a trade to the kept one and returns true, if that is of the same x and
// y.
func (k *memory) recall(t *trade, side int) bool {
	if k == nil {
		return false
	}
	last := k[side].Load()
	if last == nil || last.x != t.x || last.y != t.y {
		return false
	}
	t.solved = *last
	return true
}

func (k *memory) keep(t *trade, side int) {
	if k != nil {
		last := t.solved
		k[side].Store(&last)
	}
}

// begin prepares a trade that sells the token of a side. price is the price of token b.
func (c *curve) begin(t *trade, side int, price uint64, kept *memory) error {
	if t.in == 0 || t.out == 0 {
		return fmt.Errorf("%w: a reserve is empty", venue.ErrNoLiquidity)
	}
	if !c.stable {
		return nil
	}
	t.stable, t.ann = true, 2*c.amplifier
	prices := [2]uint64{1, price}
	if c.depeg != depegNone {
		prices[0] = pricePrecision
	}
	for i, of := range [2]int{side, 1 - side} {
		t.scales[i].SetUint64(c.multipliers[of])
		t.scales[i].Mul(&t.scales[i], uint256.NewInt(prices[of]))
	}
	t.x.Mul(uint256.NewInt(t.in), &t.scales[0])
	t.y.Mul(uint256.NewInt(t.out), &t.scales[1])
	if kept.recall(t, side) {
		return nil
	}
	if err := t.solve(); err != nil {
		return err
	}
	t.setSpot()
	kept.keep(t, side)
	return nil
}

// fits returns whether n has no more bits than most.
func fits(n *uint256.Int, most int) bool { return n.BitLen() <= most }

// near returns whether two numbers differ by at most 1.
func near(a, b *uint256.Int) bool {
	var less uint256.Int
	if a.Lt(b) {
		less.Sub(b, a)
	} else {
		less.Sub(a, b)
	}
	return less.LtUint64(2)
}

// mulDiv sets n to n·m/d rounded down. It returns false if the product exceeds 192 bits.
func mulDiv(n, m, d *uint256.Int) bool {
	if _, over := n.MulOverflow(n, m); over || !fits(n, 192) {
		return false
	}
	n.Div(n, d)
	return true
}

// solve computes D from x and y. It begins with D = x+y. In each round D becomes
//
//	(2A·(x+y)+2P)·D / ((2A−1)·D+3P), P = D³/(4xy)
func (t *trade) solve() error {
	var sum, doubleX, doubleY, leverage uint256.Int
	sum.Add(&t.x, &t.y)
	doubleX.Lsh(&t.x, 1)
	doubleY.Lsh(&t.y, 1)
	leverage.Mul(&sum, uint256.NewInt(t.ann))
	if !fits(&leverage, 128) || !fits(&doubleX, 128) || !fits(&doubleY, 128) {
		return errLarge
	}
	t.d = sum
	for range maxRounds {
		product, last := t.d, t.d
		if !mulDiv(&product, &t.d, &doubleX) || !mulDiv(&product, &t.d, &doubleY) || !fits(&product, 190) {
			return errLarge
		}
		var factor, below, triple uint256.Int
		factor.Lsh(&product, 1)
		factor.Add(&factor, &leverage)
		below.Mul(&t.d, uint256.NewInt(t.ann-1))
		triple.Mul(&product, uint256.NewInt(3))
		below.Add(&below, &triple)
		if !fits(&factor, 192) || !fits(&below, 192) || below.IsZero() || !mulDiv(&t.d, &factor, &below) {
			return errLarge
		}
		if near(&t.d, &last) {
			return nil
		}
	}
	return fmt.Errorf("%w: the curve needs too many rounds", venue.ErrTooLarge)
}

// give returns what the curve gives for amount.
func (t *trade) give(amount uint64) (out uint64, err error) {
	if t.stable {
		return t.giveStable(amount)
	}
	// The output is what is left of the reserve above ⌈x·y/(x+amount)⌉.
	sum, carry := bits.Add64(t.in, amount, 0)
	if carry != 0 {
		return 0, errLarge
	}
	hi, lo := bits.Mul64(t.in, t.out)
	if hi == 0 && lo < sum {
		return 0, fmt.Errorf("%w: nothing would be left", venue.ErrNoLiquidity)
	}
	rest, _ := arith.MulDivUp(t.in, t.out, sum)
	if rest >= t.out {
		return 0, venue.ErrTooSmall
	}
	return t.out - rest, nil
}

// giveStable solves y²+b·y = c for the sum x of the reserve and amount. It begins with y = D:
//
//	b = x + D/2A − D,  c = D³/(4·2A·x),  y becomes (y²+c)/(2y+b)
func (t *trade) giveStable(amount uint64) (out uint64, err error) {
	var x, c, b, y, doubled uint256.Int
	x.Mul(uint256.NewInt(amount), &t.scales[0])
	x.Add(&x, &t.x)
	doubled.Lsh(&x, 1)
	if !fits(&doubled, 128) {
		return 0, errLarge
	}
	c = t.d
	if !mulDiv(&c, &t.d, &doubled) || !mulDiv(&c, &t.d, uint256.NewInt(2*t.ann)) {
		return 0, errLarge
	}
	b.Div(&t.d, uint256.NewInt(t.ann))
	b.Add(&b, &x)
	y = t.d
	for round := 0; ; round++ {
		last := y
		var below uint256.Int
		below.Lsh(&y, 1)
		below.Add(&below, &b)
		if round == maxRounds || !fits(&y, 96) || !below.Gt(&t.d) {
			return 0, errLarge
		}
		below.Sub(&below, &t.d)
		y.Mul(&y, &y)
		y.Add(&y, &c)
		if !fits(&y, 192) {
			return 0, errLarge
		}
		y.Div(&y, &below)
		if near(&y, &last) {
			break
		}
	}
	// The program keeps back one unit.
	y.AddUint64(&y, 1)
	if y.Gt(&t.y) {
		return 0, venue.ErrTooSmall
	}
	y.Sub(&t.y, &y)
	y.Div(&y, &t.scales[1])
	if !y.IsUint64() {
		return 0, errLarge
	}
	return y.Uint64(), nil
}

// impact returns by how much out is less than what the price before the trade gives for amount, in
// basis points, rounded up.
func (t *trade) impact(amount, out uint64) uint64 {
	if !t.stable {
		return arith.ImpactBps(amount, t.in)
	}
	var before uint256.Int
	before.Mul(uint256.NewInt(amount), &t.scales[0])
	if t.spot.IsZero() || before.BitLen()+t.spot.BitLen() > 256 {
		return 10_000
	}
	before.Rsh(before.Mul(&before, &t.spot), spotBits)
	before.Div(&before, &t.scales[1])
	return arith.Shortfall(&before, out)
}

// setSpot sets spot to the price on a stable curve: y·(2A·x+P) / (x·(2A·y+P)), P = D³/(4xy). It
// leaves 0 if the price cannot be computed.
func (t *trade) setSpot() {
	var product, up, below, double uint256.Int
	product = t.d
	if !mulDiv(&product, &t.d, double.Lsh(&t.x, 1)) || !mulDiv(&product, &t.d, double.Lsh(&t.y, 1)) {
		return
	}
	ann := uint256.NewInt(t.ann)
	up.Add(up.Mul(ann, &t.x), &product)
	below.Add(below.Mul(ann, &t.y), &product)
	t.spot.Lsh(t.spot.SetOne(), spotBits)
	for _, ratio := range [][2]*uint256.Int{{&t.y, &t.x}, {&up, &below}} {
		if _, over := t.spot.MulDivOverflow(&t.spot, ratio[0], ratio[1]); over {
			t.spot.Clear()
			return
		}
	}
}
