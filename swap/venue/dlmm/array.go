package dlmm

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// binsPerArray is how many bins an array has.
const binsPerArray = 70

// Layout of a bin array, and of a bin in it.
const (
	arraySize  = 10_136
	arrayIndex = 8
	arrayPool  = 24
	arrayBins  = 56
	binSize    = 144

	binX         = 0
	binY         = 8
	binPrice     = 16
	binOpen      = 112
	binProcessed = 128
	binAsk       = 140
)

// compactMark begins the compact form of an array; no account of the program begins with it. The
// index and the pool follow. Then come the bins that hold something: place, flags, a checksum of
// the price, and the amounts that the flags name. The price itself follows from the bin's number.
var compactMark = [8]byte{'b', 'i', 'n', 's', 0, 0, 0, 1}

const (
	compactPool = 16
	compactHead = 48
	compactBin  = 6
)

// Flags of a bin in the compact form.
const (
	hasX = 1 << iota
	hasY
	hasOpen
	hasProcessed
	isAsk
	allFlags = 1<<5 - 1
)

// bin is what a bin holds. open and processed are amounts of limit orders, which sell x if ask is
// set, else y: open is of orders that wait, processed of orders that are being filled. check is
// checkOf of the bin's price.
type bin struct {
	place           uint8
	ask             bool
	check           uint32
	x, y            uint64
	open, processed uint64
}

// checkOf returns a checksum of a price. The compact form keeps it, so that an account is noticed
// whose price does not follow from the bin's number.
func checkOf(price arith.U128) uint32 {
	mixed := price.Lo ^ price.Hi*0x9e3779b97f4a7c15
	return uint32(mixed ^ mixed>>32)
}

// array is a bin array, in its compact form. Pools share it, so it must not be changed.
type array struct {
	pool  venue.Key
	index int64
	bins  []byte
}

// decodeArray reads a bin array, or its compact form.
func decodeArray(data []byte) (*array, error) {
	data = Venue{}.Shrink(data)
	if len(data) < compactHead || [8]byte(data) != compactMark {
		return nil, fmt.Errorf("%w: a bin array of %d bytes", venue.ErrMalformed, len(data))
	}
	a := &array{pool: venue.Key(data[compactPool:compactHead]), index: int64(binary.LittleEndian.Uint64(data[arrayIndex:])), bins: data[compactHead:]}
	next := 0
	for rest := a.bins; len(rest) > 0; {
		b, size := readBin(rest)
		if size == 0 || int(b.place) < next || b.place >= binsPerArray {
			return nil, fmt.Errorf("%w: the bins of a compact array", venue.ErrMalformed)
		}
		next, rest = int(b.place)+1, rest[size:]
	}
	return a, nil
}

// readBin reads the first bin of data in the compact form. size is its length in bytes; 0 if data
// do not begin with a valid bin.
func readBin(data []byte) (b bin, size int) {
	if len(data) < compactBin || data[1]&^byte(allFlags) != 0 {
		return bin{}, 0
	}
	flags := data[1]
	b = bin{place: data[0], ask: flags&isAsk != 0, check: binary.LittleEndian.Uint32(data[2:])}
	size = compactBin
	for i, into := range []*uint64{&b.x, &b.y, &b.open, &b.processed} {
		if flags>>i&1 == 0 {
			continue
		}
		if len(data) < size+8 {
			return bin{}, 0
		}
		*into = binary.LittleEndian.Uint64(data[size:])
		size += 8
	}
	return b, size
}

// appendBin appends a bin in the compact form, as readBin reads it. A bin that holds nothing is
// left out.
func appendBin(data []byte, b *bin) []byte {
	flags := byte(0)
	amounts := [4]uint64{b.x, b.y, b.open, b.processed}
	for i, amount := range amounts {
		if amount != 0 {
			flags |= 1 << i
		}
	}
	if flags == 0 {
		return data
	}
	if b.ask {
		flags |= isAsk
	}
	data = binary.LittleEndian.AppendUint32(append(data, b.place, flags), b.check)
	for _, amount := range amounts {
		if amount != 0 {
			data = binary.LittleEndian.AppendUint64(data, amount)
		}
	}
	return data
}

// Shrink implements venue.Arrayed: bin arrays have a compact form.
func (Venue) Shrink(data []byte) []byte {
	if len(data) < arraySize || [8]byte(data) != arrayDiscriminator {
		return data
	}
	compact := make([]byte, 0, compactHead+(compactBin+8)*binsPerArray)
	compact = append(append(compact, compactMark[:]...), data[arrayIndex:arrayIndex+8]...)
	compact = append(compact, data[arrayPool:arrayBins]...)
	for place := range binsPerArray {
		raw := data[arrayBins+place*binSize:][:binSize]
		u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(raw[at:]) }
		b := bin{
			place: uint8(place), ask: raw[binAsk] != 0, check: checkOf(arith.Read128(raw[binPrice:])),
			x: u64(binX), y: u64(binY), open: u64(binOpen), processed: u64(binProcessed),
		}
		compact = appendBin(compact, &b)
	}
	return bytes.Clone(compact) // without its spare capacity
}

// each calls visit with the bins, from the highest to the lowest if down is set, else the other
// way. If visit returns false, each stops and returns false.
func (a *array) each(down bool, visit func(b bin) bool) bool {
	var starts [binsPerArray]int
	count := 0
	for at := 0; at < len(a.bins); count++ {
		starts[count] = at
		_, size := readBin(a.bins[at:])
		at += size
	}
	for i := range count {
		if down {
			i = count - 1 - i
		}
		if b, _ := readBin(a.bins[starts[i]:]); !visit(b) {
			return false
		}
	}
	return true
}

// arrayOf returns the number of the array in which a bin lies.
func arrayOf(bin int32) int32 {
	if bin < 0 {
		return (bin+1)/binsPerArray - 1
	}
	return bin / binsPerArray
}
