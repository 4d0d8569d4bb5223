package clmm

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// compactDiscriminator begins the compact form of a tick array; no account has it. The pool and the
// start follow as in the account. Then come the initialized ticks, each with its place, flags,
// tick, net liquidity and, if it has any, the amount of its limit orders.
var compactDiscriminator = [8]byte{'c', 'l', 'm', 'm', 't', 'i', 'c', 'k'}

const (
	compactTick   = 2 + 4 + 16
	compactOrders = 8

	flagLiquid = 1
	flagOrders = 2
)

// Shrink implements venue.Arrayed. It leaves out the ticks of an array that are not initialized.
// Other accounts have no compact form.
func (v Venue) Shrink(data []byte) []byte {
	if !has(data, arrayDiscriminator, arraySize) {
		return data
	}
	compact := make([]byte, 0, arrayHead+8*compactTick)
	compact = append(append(compact, compactDiscriminator[:]...), data[arrayPool:arrayHead]...)
	for place := range arrayTicks {
		t, err := decodeTick(data[arrayHead+tickSize*place:][:tickSize], v.fork)
		if err != nil {
			return data
		}
		if t.initialized() {
			compact = t.appendTo(compact, place)
		}
	}
	return compact
}

func (t *tick) appendTo(compact []byte, place int) []byte {
	flags := byte(0)
	if t.liquid {
		flags |= flagLiquid
	}
	if t.orders > 0 {
		flags |= flagOrders
	}
	compact = binary.LittleEndian.AppendUint32(append(compact, byte(place), flags), uint32(t.index))
	compact = t.net.Append(compact)
	if t.orders > 0 {
		compact = binary.LittleEndian.AppendUint64(compact, t.orders)
	}
	return compact
}

// expandTicks reads the ticks of a compact form. It calls each with every tick and its place in the
// array.
func expandTicks(data []byte, each func(place int32, t tick) error) error {
	for last := -1; len(data) > 0; {
		if len(data) < compactTick {
			return fmt.Errorf("%w: half a tick", venue.ErrMalformed)
		}
		place, flags := int(data[0]), data[1]
		t := tick{index: int32(binary.LittleEndian.Uint32(data[2:])), net: arith.Read128(data[6:]), liquid: flags&flagLiquid != 0}
		data = data[compactTick:]
		if flags&flagOrders != 0 && len(data) >= compactOrders {
			t.orders, data = binary.LittleEndian.Uint64(data), data[compactOrders:]
		}
		if place <= last || place >= arrayTicks || !t.initialized() {
			return fmt.Errorf("%w: a tick at place %d after %d", venue.ErrMalformed, place, last)
		}
		last = place
		if err := each(int32(place), t); err != nil {
			return err
		}
	}
	return nil
}
