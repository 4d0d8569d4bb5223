package clmm

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// The units of a dynamic fee (raydium-clmm, states/pool_fee.rs). A group of ticks is as wide as the
// tick spacing. Each group that the price moves adds volatilityUnit to the volatility. The fee is
// control·(volatility·spacing)²/(controlUnit·volatilityUnit²).
const (
	volatilityUnit = 10_000
	reductionUnit  = 10_000
	controlUnit    = 100_000
	// maxRate is the highest fee of a pool with a dynamic fee, in millionths.
	maxRate = 100_000

	dynamicSize = 80
)

// dynamicFee grows with the recent moves of the price. The moves are counted in groups of ticks
// from reference on.
type dynamicFee struct {
	on bool
	// filter and decay are in seconds, see phaseAt. reduction is in parts of reductionUnit.
	filter, decay, reduction uint16
	// most is the greatest volatility.
	control, most uint32
	// reference is the group from which moves are counted. before is the volatility that it began
	// with.
	reference          int32
	before, volatility uint32
	// updated is the Unix second at which the reference was renewed.
	updated uint64
}

// decodeDynamicFee reads the fee of a pool account. It is off if all of it is empty.
func decodeDynamicFee(data []byte) dynamicFee {
	u16, u32 := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32
	return dynamicFee{
		on: !empty(data[:dynamicSize]), filter: u16(data), decay: u16(data[2:]), reduction: u16(data[4:]), control: u32(data[6:]), most: u32(data[10:]),
		reference: int32(u32(data[14:])), before: u32(data[18:]), volatility: u32(data[22:]), updated: binary.LittleEndian.Uint64(data[26:]),
	}
}

// check returns an error for a fee whose numbers would overflow in the program.
func (d *dynamicFee) check(spacing int32) error {
	if d.on && (uint64(max(d.most, d.volatility))*uint64(spacing) > math.MaxUint32 || d.reference < minTick || d.reference > maxTick) {
		return fmt.Errorf("%w: a dynamic fee out of range", venue.ErrMalformed)
	}
	return nil
}

// phase says what the time since the last update does to a dynamic fee.
type phase uint8

const (
	// phaseKeep changes nothing: the swap follows the last update closely.
	phaseKeep phase = iota
	// phaseDecay begins a new reference with a part of the volatility.
	phaseDecay
	// phaseReset begins a new reference without volatility.
	phaseReset
)

// phases is the number of phases.
const phases = 3

// phaseAt returns the phase of a swap at a time in Unix seconds. The time has no other effect on
// the fee of a swap.
func (d *dynamicFee) phaseAt(now uint64) phase {
	var since uint64
	if now > d.updated {
		since = now - d.updated
	}
	switch {
	case !d.on || since < uint64(d.filter):
		return phaseKeep
	case since < uint64(d.decay):
		return phaseDecay
	}
	return phaseReset
}

// begin updates the reference at the start of a swap in a group.
func (d *dynamicFee) begin(p phase, group int32) {
	if p == phaseKeep {
		return
	}
	d.reference, d.before = group, 0
	if p == phaseDecay {
		d.before = uint32(uint64(d.volatility) * uint64(d.reduction) / reductionUnit)
	}
}

// move sets the volatility for a swap in a group.
func (d *dynamicFee) move(group int32) {
	distance := uint64(max(group-d.reference, d.reference-group))
	d.volatility = uint32(min(uint64(d.before)+distance*volatilityUnit, uint64(d.most)))
}

// full returns whether the volatility cannot grow.
func (d *dynamicFee) full() bool { return d.volatility == d.most }

// rate returns the whole fee of a pool with a base fee, in millionths.
func (d *dynamicFee) rate(base uint32, spacing int32) uint32 {
	if !d.on {
		return base
	}
	crossed := uint64(d.volatility) * uint64(spacing)
	square := uint256.NewInt(crossed)
	square.Mul(square, square)
	square.Mul(square, uint256.NewInt(uint64(d.control)))
	var fee uint256.Int
	arith.DivideUp(&fee, square, uint256.NewInt(controlUnit*volatilityUnit*volatilityUnit))
	if !fee.LtUint64(maxRate) {
		return maxRate
	}
	return min(base+uint32(fee.Uint64()), maxRate)
}
