package clmm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
)

// A tick array has arrayTicks ticks that may be initialized. Array 0 begins at tick 0. In the
// bitmaps of a pool, one bit for each array says whether it has initialized ticks. The bits of the
// 512 arrays on either side of tick 0 are in the pool account, the others in its bitmap extension
// (raydium-clmm, states/tickarray_bitmap_extension.rs).
const (
	arrayTicks    = 60
	poolArrays    = 512
	extensionHead = 8
	extensionBits = extensionHead + 32
	// bitmapsAside is how many bitmaps of 512 arrays the extension has on each side.
	bitmapsAside  = 14
	bitmapBytes   = poolArrays / 8
	extensionSize = extensionBits + 2*bitmapsAside*bitmapBytes
	// wholeSpacing is the least tick spacing with which the bits in the pool account cover all
	// prices.
	wholeSpacing = 15
)

// extension is a bitmap extension account. As in the pool account, each bit is one array, the
// lowest array first.
type extension struct {
	above, below [bitmapsAside * poolArrays / 64]uint64
}

// decodeExtension reads a bitmap extension of a pool.
func decodeExtension(data []byte, pool venue.Key) (*extension, error) {
	if !has(data, extensionDiscriminator, extensionSize) || venue.Key(data[extensionHead:extensionBits]) != pool {
		return nil, fmt.Errorf("%w: a bitmap extension of %d bytes", venue.ErrMalformed, len(data))
	}
	e := &extension{}
	for i := range e.above {
		e.above[i] = binary.LittleEndian.Uint64(data[extensionBits+8*i:])
	}
	const words = poolArrays / 64
	for i := range e.below {
		// In the account the bitmap nearest to tick 0 is the first, but in each bitmap the lowest
		// array is the first.
		from := (bitmapsAside-1-i/words)*words + i%words
		e.below[i] = binary.LittleEndian.Uint64(data[extensionBits+bitmapsAside*bitmapBytes+8*from:])
	}
	return e, nil
}

// arrays has the bitmaps of a pool, which tell the initialized arrays.
type arrays struct {
	own *[16]uint64
	// If extension is nil, no array outside the pool's own bits is known.
	extension *extension
	spacing   int32
}

// numberOf returns the number of the array that has a tick.
func numberOf(tick, spacing int32) int32 { return floorDiv(tick, arrayTicks*spacing) }

// word returns the bits of 64 arrays, beginning with array 64·i.
func (a arrays) word(i int32) uint64 {
	const own, aside = poolArrays / 64, bitmapsAside * poolArrays / 64
	switch {
	case i >= -own && i < own:
		return a.own[i+own]
	case a.extension == nil || i < -own-aside || i >= own+aside:
		return 0
	case i < 0:
		return a.extension.below[i+own+aside]
	}
	return a.extension.above[i-own]
}

// initialized returns whether an array has initialized ticks.
func (a arrays) initialized(number int32) bool {
	return a.word(floorDiv(number, 64))>>uint32(number-64*floorDiv(number, 64))&1 == 1
}

// next returns the nearest initialized array above number if up is set, else the nearest below it.
// ok is false if there is none.
func (a arrays) next(number int32, up bool) (next int32, ok bool) {
	low, high := numberOf(minTick, a.spacing), numberOf(maxTick, a.spacing)
	if up {
		for at := number + 1; at <= high; at = 64 * (floorDiv(at, 64) + 1) {
			if rest := a.word(floorDiv(at, 64)) >> uint32(at-64*floorDiv(at, 64)); rest != 0 {
				at += int32(bits.TrailingZeros64(rest))
				return at, at <= high
			}
		}
		return 0, false
	}
	for at := number - 1; at >= low; at = 64*floorDiv(at, 64) - 1 {
		if rest := a.word(floorDiv(at, 64)) << uint32(63-at+64*floorDiv(at, 64)); rest != 0 {
			at -= int32(bits.LeadingZeros64(rest))
			return at, at >= low
		}
	}
	return 0, false
}

// own returns whether the bit of an array is in the pool account.
func own(number int32) bool { return number >= -poolArrays && number < poolArrays }
