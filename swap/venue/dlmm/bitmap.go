package dlmm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
)

// The pool account has a bitmap of the bin arrays from -innerArrays to innerArrays-1, which tells
// the arrays with liquidity. The arrays beyond are in a bitmap extension, 12·innerArrays on each
// side. Its bits for negative arrays are in descending order of the numbers
// (commons/src/extensions/bin_array_bitmap.rs).
const (
	innerArrays = 512
	outerWords  = 12 * innerArrays / 64
	outerArrays = innerArrays + 64*outerWords

	extensionPool = 8
	extensionBits = 40
	extensionSize = 1576
)

// extension is a bitmap extension account.
type extension struct {
	pool  venue.Key
	above [outerWords]uint64
	below [outerWords]uint64
}

func decodeExtension(data []byte) (*extension, error) {
	if len(data) < extensionSize || [8]byte(data) != extensionDiscriminator {
		return nil, fmt.Errorf("%w: a bitmap extension of %d bytes", venue.ErrMalformed, len(data))
	}
	e := &extension{pool: venue.Key(data[extensionPool:extensionBits])}
	for i := range outerWords {
		e.above[i] = binary.LittleEndian.Uint64(data[extensionBits+8*i:])
		e.below[i] = binary.LittleEndian.Uint64(data[extensionBits+8*(outerWords+i):])
	}
	return e, nil
}

// bitAbove returns the index of the lowest set bit that is not below from; -1 if there is none.
func bitAbove(words []uint64, from int) int {
	for i := from / 64; i < len(words); i++ {
		word := words[i]
		if i == from/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			return 64*i + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// bitBelow returns the index of the highest set bit that is not above from; -1 if there is none.
func bitBelow(words []uint64, from int) int {
	for i := from / 64; i >= 0; i-- {
		word := words[i]
		if i == from/64 {
			word &= ^uint64(0) >> (63 - from%64)
		}
		if word != 0 {
			return 64*i + 63 - bits.LeadingZeros64(word)
		}
	}
	return -1
}

// find says whether a search has found the next array.
type find uint8

const (
	// foundNone says that there is no further array.
	foundNone find = iota
	// foundOuter says that only the bitmap extension can tell, and the search has none.
	foundOuter
	// found says that there is a next array.
	found
)

// next returns the nearest array with liquidity, beginning with array from, downwards or upwards.
// outer is nil if there is no extension, or if it is not known.
func (s *state) next(from int32, down bool, outer *extension) (int32, find) {
	if down {
		return s.below(int(from), outer)
	}
	return s.above(int(from), outer)
}

func (s *state) below(from int, outer *extension) (int32, find) {
	if from >= outerArrays || from < -outerArrays {
		return 0, foundNone
	}
	if from >= innerArrays {
		if outer == nil {
			return 0, foundOuter
		}
		if bit := bitBelow(outer.above[:], from-innerArrays); bit >= 0 {
			return int32(bit + innerArrays), found
		}
		from = innerArrays - 1
	}
	if from >= -innerArrays {
		if bit := bitBelow(s.bitmap[:], from+innerArrays); bit >= 0 {
			return int32(bit - innerArrays), found
		}
		from = -innerArrays - 1
	}
	if outer == nil {
		return 0, foundOuter
	}
	if bit := bitAbove(outer.below[:], -from-1-innerArrays); bit >= 0 {
		return int32(-bit - innerArrays - 1), found
	}
	return 0, foundNone
}

func (s *state) above(from int, outer *extension) (int32, find) {
	if from >= outerArrays || from < -outerArrays {
		return 0, foundNone
	}
	if from < -innerArrays {
		if outer == nil {
			return 0, foundOuter
		}
		if bit := bitBelow(outer.below[:], -from-1-innerArrays); bit >= 0 {
			return int32(-bit - innerArrays - 1), found
		}
		from = -innerArrays
	}
	if from < innerArrays {
		if bit := bitAbove(s.bitmap[:], from+innerArrays); bit >= 0 {
			return int32(bit - innerArrays), found
		}
		from = innerArrays
	}
	if outer == nil {
		return 0, foundOuter
	}
	if bit := bitAbove(outer.above[:], from-innerArrays); bit >= 0 {
		return int32(bit + innerArrays), found
	}
	return 0, foundNone
}
