package whirlpool

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// ticksPerArray is how many ticks an array has. Two neighbouring ticks of an array are a tick
// spacing apart.
const ticksPerArray = 88

// Layouts of a tick array. Both kinds begin with a discriminator and the start, which is the first
// tick. In the fixed kind each tick has fixedTick bytes. In the dynamic kind an initialized tick
// has fixedTick bytes and any other tick has one. A bitmap tells which ticks are initialized.
const (
	arrayStart  = 8
	fixedTicks  = 12
	fixedTick   = 113
	fixedPool   = 9956
	fixedSize   = 9988
	dynamicPool = 12
	dynamicBits = 44
	dynamicHead = 60
	tickNet     = 1 // in a tick, after the byte that says whether it is initialized
)

// compactMark begins the compact form of an array; no account of the program begins with it. The
// start and the pool follow, then the initialized ticks, each with its place and its net liquidity.
var compactMark = [8]byte{'t', 'i', 'c', 'k', 's', 0, 0, 1}

const (
	compactPool = 12
	compactHead = 44
	compactTick = 17
)

// tick is an initialized tick. net is by how much the liquidity changes when the price rises over
// the tick, in two's complement. place is the tick's index in the array.
type tick struct {
	net   arith.U128
	place uint8
}

// array is a tick array with its initialized ticks in ascending order. Pools share it, so it must
// not be changed.
type array struct {
	pool  venue.Key
	start int32
	ticks []tick
}

// decodeArray reads a tick array of either kind, or its compact form.
func decodeArray(data []byte) (*array, error) {
	if len(data) >= dynamicHead || len(data) >= compactHead && [8]byte(data) == compactMark {
		switch [8]byte(data) {
		case compactMark:
			return decodeCompact(data)
		case fixedDiscriminator:
			if len(data) >= fixedSize {
				return decodeFixed(data)
			}
		case dynamicDiscriminator:
			return decodeDynamic(data)
		}
	}
	return nil, fmt.Errorf("%w: a tick array of %d bytes", venue.ErrMalformed, len(data))
}

// head reads the start and the pool of a tick array. pool is the offset of the pool.
func head(data []byte, pool int) *array {
	return &array{pool: venue.Key(data[pool : pool+32]), start: int32(binary.LittleEndian.Uint32(data[arrayStart:]))}
}

func decodeFixed(data []byte) (*array, error) {
	a := head(data, fixedPool)
	for i := range ticksPerArray {
		raw := data[fixedTicks+i*fixedTick:][:fixedTick]
		if raw[0] != 0 {
			a.ticks = append(a.ticks, tick{arith.Read128(raw[tickNet:]), uint8(i)})
		}
	}
	return a, nil
}

func decodeDynamic(data []byte) (*array, error) {
	a, initialized := head(data, dynamicPool), arith.Read128(data[dynamicBits:])
	at := dynamicHead
	for i := range ticksPerArray {
		is, size := has(initialized, i), 1
		if is {
			size = fixedTick
		}
		if len(data) < at+size || (data[at] != 0) != is {
			return nil, fmt.Errorf("%w: the bitmap of a tick array", venue.ErrMalformed)
		}
		if is {
			a.ticks = append(a.ticks, tick{arith.Read128(data[at+tickNet:]), uint8(i)})
		}
		at += size
	}
	return a, nil
}

// has returns whether a bit is set.
func has(bitmap arith.U128, bit int) bool {
	if bit < 64 {
		return bitmap.Lo>>bit&1 != 0
	}
	return bitmap.Hi>>(bit-64)&1 != 0
}

func decodeCompact(data []byte) (*array, error) {
	a := head(data, compactPool)
	ticks := data[compactHead:]
	if len(ticks)%compactTick != 0 {
		return nil, fmt.Errorf("%w: a compact tick array of %d bytes", venue.ErrMalformed, len(data))
	}
	next := 0
	for ; len(ticks) > 0; ticks = ticks[compactTick:] {
		place := int(ticks[0])
		if place < next || place >= ticksPerArray {
			return nil, fmt.Errorf("%w: the ticks of a compact array are out of order", venue.ErrMalformed)
		}
		next = place + 1
		a.ticks = append(a.ticks, tick{arith.Read128(ticks[1:]), uint8(place)})
	}
	return a, nil
}

// Shrink implements venue.Arrayed: tick arrays have a compact form.
func (Venue) Shrink(data []byte) []byte {
	if len(data) < dynamicHead || [8]byte(data) != fixedDiscriminator && [8]byte(data) != dynamicDiscriminator {
		return data
	}
	a, err := decodeArray(data)
	if err != nil {
		return data
	}
	return a.compact()
}

// compact returns the compact form.
func (a *array) compact() []byte {
	data := make([]byte, 0, compactHead+compactTick*len(a.ticks))
	data = binary.LittleEndian.AppendUint32(append(data, compactMark[:]...), uint32(a.start))
	data = append(data, a.pool[:]...)
	for _, t := range a.ticks {
		data = t.net.Append(append(data, t.place))
	}
	return data
}
