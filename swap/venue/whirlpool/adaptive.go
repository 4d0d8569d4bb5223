package whirlpool

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// A pool with an adaptive fee has an Oracle account. Its fee grows with the number of tick groups
// that the price has crossed since a reference, which is renewed when some time has passed without
// swaps (whirlpools, manager/fee_rate_manager.rs, state/oracle.rs).

// Offsets in an Oracle account.
const (
	oraclePool      = 8
	oracleEnabled   = 40
	oracleFilter    = 48
	oracleDecay     = 50
	oracleReduction = 52
	oracleControl   = 54
	oracleMost      = 58
	oracleGroup     = 62
	oracleMajor     = 64
	oracleUpdated   = 82
	oracleMajorAt   = 90
	oracleVolatile  = 98
	oracleReference = 102
	oracleAverage   = 106
	oracleSize      = 254
)

// Constants of the fee.
const (
	// groupWeight is what one crossed tick group adds to the accumulator.
	groupWeight = 10_000
	// reductionUnit is 100 % as a reduction.
	reductionUnit = 10_000
	// controlUnit divides control·(accumulator·group)²: 100,000·10,000².
	controlUnit = 10_000_000_000_000
	// mostRate is the highest fee, 10 %.
	mostRate = 100_000
	// mostAge is the age of the references, in seconds, beyond which they are reset in any case.
	mostAge = 3600
)

// oracle is an Oracle account: the constants of an adaptive fee, and its state after the last swap.
type oracle struct {
	pool venue.Key
	// enabled is the Unix second from which the pool trades.
	enabled uint64
	// filter and decay are in seconds, see regimeAt.
	filter, decay, reduction uint16
	// most is the greatest accumulator.
	control, most uint32
	// group is how many ticks a tick group has.
	group, major uint16
	// updated is the Unix second at which the references were renewed, majorAt that of the last
	// swap that moved the price by major ticks or more.
	updated, majorAt uint64
	// accumulator is that of the last swap. volatility is the part of it that was kept when the
	// references were renewed. reference is a tick group.
	volatility, accumulator uint32
	reference               int32
}

// decodeOracle reads an Oracle account. Constants that the program does not accept are an error.
func decodeOracle(data []byte) (*oracle, error) {
	if len(data) < oracleSize || [8]byte(data) != oracleDiscriminator {
		return nil, fmt.Errorf("%w: an oracle of %d bytes", venue.ErrMalformed, len(data))
	}
	o := &oracle{
		pool: venue.Key(data[oraclePool:oracleEnabled]), enabled: binary.LittleEndian.Uint64(data[oracleEnabled:]),
		filter: binary.LittleEndian.Uint16(data[oracleFilter:]), decay: binary.LittleEndian.Uint16(data[oracleDecay:]),
		reduction: binary.LittleEndian.Uint16(data[oracleReduction:]), control: binary.LittleEndian.Uint32(data[oracleControl:]),
		most: binary.LittleEndian.Uint32(data[oracleMost:]), group: binary.LittleEndian.Uint16(data[oracleGroup:]), major: binary.LittleEndian.Uint16(data[oracleMajor:]),
		updated: binary.LittleEndian.Uint64(data[oracleUpdated:]), majorAt: binary.LittleEndian.Uint64(data[oracleMajorAt:]),
		volatility: binary.LittleEndian.Uint32(data[oracleVolatile:]), accumulator: binary.LittleEndian.Uint32(data[oracleAverage:]),
		reference: int32(binary.LittleEndian.Uint32(data[oracleReference:])),
	}
	if o.group == 0 || uint64(o.most)*uint64(o.group) > math.MaxUint32 || o.volatility > o.most || o.accumulator > o.most || o.reduction > reductionUnit ||
		o.reference < minTick-1 || o.reference > maxTick {
		return nil, fmt.Errorf("%w: the constants of the adaptive fee", venue.ErrMalformed)
	}
	return o, nil
}

// regime says what happens to the references at the start of a swap: to the tick group and the
// volatility from which the accumulator is counted. It depends on the time since the last update.
type regime uint8

const (
	// regimeKeep keeps the references.
	regimeKeep regime = iota
	// regimeReduce begins new references with a part of the accumulator.
	regimeReduce
	// regimeReset begins new references without volatility.
	regimeReset
	// regimes is the number of regimes.
	regimes
)

// regimeAt returns the regime at a Unix second. ok is false if the oracle was updated later than
// that, which the program refuses.
func (o *oracle) regimeAt(now uint64) (r regime, ok bool) {
	last := max(o.updated, o.majorAt)
	switch elapsed := now - last; {
	case now < last:
		return 0, false
	case now-o.updated > mostAge:
		return regimeReset, true
	case elapsed < uint64(o.filter):
		return regimeKeep, true
	case elapsed < uint64(o.decay):
		return regimeReduce, true
	default:
		return regimeReset, true
	}
}

// rates follows the price over tick groups and tells the fee in each group.
type rates struct {
	*oracle
	// static is the fee without the adaptive part, in millionths.
	static uint32
	aToB   bool
	// group is the tick group in which the price is.
	group int64
	// reference and volatility are the references after the regime.
	reference  int64
	volatility uint32
	// low and high are the first and the last group at which the program stops. Beyond them the
	// accumulator is at its greatest, so all groups have the same fee.
	low, high int64
}

// newRates returns the rates at the start of a swap. tick is the pool's tick. o is nil if the fee
// has no adaptive part.
func newRates(o *oracle, static uint32, aToB bool, tick int32, r regime) rates {
	w := rates{oracle: o, static: static, aToB: aToB}
	if o == nil {
		return w
	}
	w.group = floorDiv(int64(tick), int64(o.group))
	w.reference, w.volatility = int64(o.reference), o.volatility
	if r != regimeKeep {
		w.reference, w.volatility = w.group, 0
	}
	if r == regimeReduce {
		w.volatility = uint32(uint64(o.accumulator) * uint64(o.reduction) / reductionUnit)
	}
	reach := (int64(o.most-w.volatility) + groupWeight - 1) / groupWeight
	w.low, w.high = w.reference-reach, w.reference+reach
	return w
}

// rate returns the whole fee in the present group, in millionths.
func (w *rates) rate() uint32 {
	if w.oracle == nil {
		return w.static
	}
	distance := uint64(max(w.reference-w.group, w.group-w.reference))
	crossed := min(uint64(w.volatility)+distance*groupWeight, uint64(w.most)) * uint64(w.oracle.group)
	hi, lo := bits.Mul64(crossed*crossed, uint64(w.control))
	if hi >= controlUnit {
		return mostRate
	}
	quotient, rest := bits.Div64(hi, lo, controlUnit)
	if rest > 0 {
		quotient++
	}
	return uint32(min(quotient+uint64(w.static), mostRate))
}

// bound returns the price at which a step ends on the way to target: the end of the tick group or,
// where all groups have the same fee, the first price with another fee. It is target if that comes
// first. skip says that the step may pass several groups. tick is the tick at the returned price,
// unless that is target.
func (w *rates) bound(target, liquidity arith.U128) (to arith.U128, tick int32, skip bool) {
	switch {
	case w.oracle == nil:
		return target, 0, false
	case w.control == 0 || liquidity.IsZero():
		return target, 0, true
	}
	size := int64(w.oracle.group)
	end := w.group * size
	if !w.aToB {
		end += size
	}
	lowEnd, highEnd := w.low*size, w.high*size+size
	switch {
	case lowEnd > minTick && w.group < w.low:
		if skip = true; w.aToB {
			return target, 0, true
		}
		end = lowEnd
	case highEnd < maxTick && w.group > w.high:
		if skip = true; !w.aToB {
			return target, 0, true
		}
		end = highEnd
	}
	tick = int32(min(max(end, minTick), maxTick))
	price := priceAt(tick)
	if w.aToB == price.Less(target) {
		return target, 0, skip
	}
	return price, tick, skip
}

// advance goes on to the next group after a whole step that ended at tick. skip is that of bound.
func (w *rates) advance(tick int32, skip bool) {
	if w.oracle == nil {
		return
	}
	direction := int64(1)
	if w.aToB {
		direction = -1
	}
	if skip {
		size := int64(w.oracle.group)
		last := floorDiv(int64(tick), size)
		if !w.aToB && int64(tick)%size == 0 {
			last--
		}
		if (last-w.group)*direction > 0 {
			w.group = last
		}
	}
	w.group += direction
}
