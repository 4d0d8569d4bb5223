package clmm

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Offsets in tick array accounts and in their ticks (raydium-clmm, states/tick_array.rs).
const (
	arrayPool      = 8
	arrayStart     = 40
	arrayHead      = 44
	tickSize       = 168
	tickNet        = 4
	tickGross      = 20
	tickOrders     = 124
	tickPartFilled = 132
	tickNewFields  = 116 // what limit orders added
	arraySize      = 10_240
)

// tick is an initialized tick: positions begin or end there, or limit orders wait.
type tick struct {
	// net is what the liquidity gains when the price rises over the tick, in two's complement.
	net arith.U128
	// orders is what the limit orders of the tick have left to sell.
	orders uint64
	index  int32
	// liquid says that positions begin or end there.
	liquid bool
}

// array is a tick array with its initialized ticks in ascending order. Pools share it, so it must
// not be changed.
type array struct {
	pool   venue.Key
	number int32
	ticks  []tick
}

// decodeArray reads a tick array of a pool with this tick spacing, or its compact form. Limit
// orders in an array of a fork are an error.
func decodeArray(data []byte, spacing int32, fork bool) (*array, error) {
	raw := has(data, arrayDiscriminator, arraySize)
	if !raw && !has(data, compactDiscriminator, arrayHead) {
		return nil, fmt.Errorf("%w: a tick array of %d bytes", venue.ErrUnverified, len(data))
	}
	start := int32(binary.LittleEndian.Uint32(data[arrayStart:]))
	a := &array{pool: venue.Key(data[arrayPool:arrayStart]), number: numberOf(start, spacing)}
	if start < minTick-arrayTicks*maxSpacing || start > maxTick || a.number*arrayTicks*spacing != start {
		return nil, fmt.Errorf("%w: a tick array at %d", venue.ErrMalformed, start)
	}
	take := func(place int32, t tick) error {
		if t.index != start+place*spacing || t.index < minTick || t.index > maxTick {
			return fmt.Errorf("%w: tick %d in place of %d", venue.ErrMalformed, t.index, start+place*spacing)
		}
		a.ticks = append(a.ticks, t)
		return nil
	}
	if !raw {
		if err := expandTicks(data[arrayHead:], take); err != nil {
			return nil, err
		}
		return a, nil
	}
	for place := range int32(arrayTicks) {
		t, err := decodeTick(data[arrayHead+tickSize*place:][:tickSize], fork)
		if err == nil && t.initialized() {
			err = take(place, t)
		}
		if err != nil {
			return nil, err
		}
	}
	return a, nil
}

func decodeTick(raw []byte, fork bool) (tick, error) {
	whole, partFilled := binary.LittleEndian.Uint64(raw[tickOrders:]), binary.LittleEndian.Uint64(raw[tickPartFilled:])
	t := tick{index: int32(binary.LittleEndian.Uint32(raw)), net: arith.Read128(raw[tickNet:]), liquid: !arith.Read128(raw[tickGross:]).IsZero(), orders: whole + partFilled}
	switch {
	case fork && !empty(raw[tickNewFields:]):
		return tick{}, fmt.Errorf("%w: limit orders", venue.ErrUnverified)
	case t.orders < whole:
		return tick{}, fmt.Errorf("%w: limit orders of more than 64 bits", venue.ErrMalformed)
	}
	return t, nil
}

func (t *tick) initialized() bool { return t.liquid || t.orders > 0 }
