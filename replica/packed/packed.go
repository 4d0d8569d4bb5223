// Package packed writes states of the fold small: two hundred bytes a mint instead of two thousand.
//
// In: the facts of a mint's state. Out: bytes, and the facts again, the same to the last bit.
// Guarantees: pure but for Shared, which only grows; any facts can be packed, also those of
// registers that this version does not know, and any bytes as a value. The form may change with
// every version: the checkpoint of package replica has packed states, and Form tells which builds
// can read them.
//
// The form: the shape (for each fact its register, the kind of its value and which of the state's
// positions it has), the positions, then items and values by their kinds. Shapes, authorities and
// names that many states share are numbers in Shared.
package packed

import (
	"encoding/binary"
	"strconv"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Kinds of values, in the low half of a shape's second byte.
const (
	valueEmpty = iota
	valueNumber
	valueNegative
	valueThousands // a number that ends with 000, as most times in milliseconds do
	valueKey
	valueKnownKey
	valueMint // the mint itself
	valueText
	valueRaw // a text with control characters, as it is
	valueTrue
	valueFalse
)

// Kinds of items.
const (
	itemKnown = iota // its number in Shared
	itemRaw
	itemInstruction // schemas.InstructionID in hexadecimal
)

const (
	// hasItem is a bit of a shape's register byte: the fact has an item.
	hasItem = 0x80
	// otherRegister stands for the register 0x7f and all above: the register follows among the
	// values.
	otherRegister = 0x7f
	// otherPosition stands for the index 15 of a position and all above: the index follows among
	// the values.
	otherPosition = 15
	// maxShape is the length up to which a shape gets a number in Shared. Busy mints have longer
	// shapes, with a fact for each instruction, which no other mint has.
	maxShape = 128
	// recentPositions is how many of a state's latest positions are searched for the position of
	// the next fact. A busy mint has very many positions, and all differ.
	recentPositions = 16
	// maxDigits is the length of the largest uint64 in decimal.
	maxDigits = 20
)

// Writer packs states, for one goroutine at a time.
type Writer struct {
	shared    *Shared
	texts     textPacker
	positions []schemas.Position
	shape     []byte
	values    []byte
	// copied are the packed texts of the previous state that are not copied yet, in their order.
	// stale is set when a text differs from the first of them.
	copied []packedText
	stale  bool
}

// packedText is a text and how it is packed.
type packedText struct {
	text   string
	kind   byte
	packed []byte
}

// NewWriter returns a writer of states that can be read with shared only.
func NewWriter(shared *Shared) *Writer { return &Writer{shared: shared} }

// Append appends the packed facts of a mint's state, in their order. The mint itself is not part of
// it.
func (w *Writer) Append(dst []byte, mint pubkey.Key, facts []registry.Fact) []byte {
	w.pack(mint, facts, nil)
	return w.append(dst)
}

// AppendChanged is Append for the state that read has unpacked last, with some facts changed. If no
// text changed, it copies the packed texts, which saves most of the work. The bytes that were
// unpacked must still be the same.
func (w *Writer) AppendChanged(dst []byte, mint pubkey.Key, facts []registry.Fact, read *Reader) []byte {
	w.pack(mint, facts, read.packedTexts)
	if w.stale { // how a text is packed depends on those before it
		w.pack(mint, facts, nil)
	}
	return w.append(dst)
}

// pack fills shape, positions and values from facts. With copied, it stops and sets stale at the
// first text that differs.
func (w *Writer) pack(mint pubkey.Key, facts []registry.Fact, copied []packedText) {
	w.texts.spans, w.positions, w.shape, w.values = w.texts.spans[:0], w.positions[:0], w.shape[:0], w.values[:0]
	w.copied, w.stale = copied, false
	for i := 0; i < len(facts) && !w.stale; i++ {
		w.fact(mint, &facts[i])
	}
}

// append appends what was packed: the number of the shape in Shared plus one, or 0 and the shape
// itself; then the positions and the values.
func (w *Writer) append(dst []byte) []byte {
	if len(w.shape) <= maxShape && len(w.shape) > 0 {
		if n, ok := w.shared.shapes.number(w.shape, nil); ok {
			dst = binary.AppendUvarint(dst, uint64(n)+1)
			return append(w.appendPositions(dst), w.values...)
		}
	}
	dst = binary.AppendUvarint(append(dst, 0), uint64(len(w.shape)))
	dst = append(dst, w.shape...)
	return append(w.appendPositions(dst), w.values...)
}

// fact adds a fact. Its shape has two bytes: the register, with the bit hasItem, then the index of
// the position (high half) and the kind of the value (low half). A register or an index that does
// not fit goes to the values.
func (w *Writer) fact(mint pubkey.Key, fact *registry.Fact) {
	register := byte(fact.Register)
	first := min(register, otherRegister)
	if fact.Item != "" {
		first |= hasItem
	}
	position := w.position(fact)
	second := byte(min(position, otherPosition)) << 4
	w.shape = append(w.shape, first, second)
	at := len(w.shape) - 1
	if register >= otherRegister {
		w.values = append(w.values, register)
	}
	if position >= otherPosition {
		w.values = binary.AppendUvarint(w.values, uint64(position))
	}
	if fact.Item != "" {
		w.item(fact.Item)
	}
	w.shape[at] |= w.value(mint, fact.Value)
}

// position returns the index of the fact's position in the state's, and adds it if it is new. The
// position of RegisterFirstSeen is stored the other way round again (see schemas.Position.Reverse),
// because another fact often has that position too.
func (w *Writer) position(fact *registry.Fact) int {
	position := fact.Position
	if fact.Register == registry.RegisterFirstSeen {
		position = position.Reverse()
	}
	for n := max(len(w.positions)-recentPositions, 0); n < len(w.positions); n++ {
		if w.positions[n] == position {
			return n
		}
	}
	w.positions = append(w.positions, position)
	return len(w.positions) - 1
}

// item appends a fact's item with its kind.
func (w *Writer) item(item string) {
	if id, ok := parseHex(item); ok {
		w.values = append(append(w.values, itemInstruction), id[:]...)
		return
	}
	if n, ok := w.shared.strings.number([]byte(item), nil); ok {
		w.values = binary.AppendUvarint(append(w.values, itemKnown), uint64(n))
		return
	}
	w.values = appendBytes(append(w.values, itemRaw), item)
}

// value appends a value and returns its kind.
func (w *Writer) value(mint pubkey.Key, value string) byte {
	switch value {
	case "":
		return valueEmpty
	case "true":
		return valueTrue
	case "false":
		return valueFalse
	}
	if kind := w.decimal(value); kind != valueEmpty {
		return kind
	}
	if key, err := pubkey.Parse(value); err == nil {
		if key == mint {
			return valueMint
		}
		if n, ok := w.shared.keys.number(key[:], key.String); ok {
			w.values = binary.AppendUvarint(w.values, uint64(n))
			return valueKnownKey
		}
		w.values = append(w.values, key[:]...)
		return valueKey
	}
	if w.copied != nil {
		return w.copy(value)
	}
	if hasControls(value) {
		w.values = appendBytes(w.values, value)
		return valueRaw
	}
	return w.text(value)
}

// copy appends the next of copied if it is the packed form of value. Otherwise it sets stale.
func (w *Writer) copy(value string) byte {
	if len(w.copied) == 0 || w.copied[0].text != value {
		w.stale = true
		return valueEmpty
	}
	next := w.copied[0]
	w.copied = w.copied[1:]
	w.values = append(binary.AppendUvarint(w.values, uint64(len(next.packed))), next.packed...)
	return next.kind
}

// text appends the packed text of value after its length. It assumes that the length takes one
// byte, and moves the packed text if it takes more.
func (w *Writer) text(value string) byte {
	at := len(w.values)
	w.values = append(w.values, 0) // the length, mostly one byte
	w.values = w.texts.append(w.values, value)
	size := len(w.values) - at - 1
	if size < 0x80 {
		w.values[at] = byte(size)
		return valueText
	}
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(size))
	w.values = append(w.values, length[:n-1]...)
	copy(w.values[at+n:], w.values[at+1:at+1+size])
	copy(w.values[at:], length[:n])
	return valueText
}

// decimal appends value as a varint and returns its kind, if value is a whole number in the form
// that strconv writes. Otherwise it appends nothing and returns valueEmpty: 007 or -0 would not be
// the same text when it is read again. value must not be empty.
func (w *Writer) decimal(value string) byte {
	digits, negative := value, value[0] == '-'
	if negative {
		digits = value[1:]
	}
	if len(digits) == 0 || len(digits) > maxDigits || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && (len(digits) > 1 || negative) {
		return valueEmpty
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return valueEmpty
	}
	switch {
	case negative:
		w.values = binary.AppendUvarint(w.values, n)
		return valueNegative
	case n%1000 == 0 && n > 0:
		w.values = binary.AppendUvarint(w.values, n/1000)
		return valueThousands
	default:
		w.values = binary.AppendUvarint(w.values, n)
		return valueNumber
	}
}

// A position is packed as its kind (a byte), how far its slot is ahead of the previous position's
// (signed varint), and its order: nothing for endOfSlot, else the four parts of schemas.SplitOrder
// as varints.
const (
	endOfSlot  = iota // the highest order
	withinSlot        // any other
)

// appendPositions appends the positions of the state.
func (w *Writer) appendPositions(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(w.positions)))
	slot := uint64(0)
	for _, position := range w.positions {
		kind := byte(withinSlot)
		if position.Order == ^uint64(0) {
			kind = endOfSlot
		}
		dst = binary.AppendVarint(append(dst, kind), int64(position.Slot-slot))
		slot = position.Slot
		if kind == withinSlot {
			transaction, outer, inner, batch := schemas.SplitOrder(position.Order)
			// The highest of the 24 bits says that the transaction's index is known. It is inverted
			// and moved to the lowest place, so that the number is small.
			dst = binary.AppendUvarint(dst, transaction<<1&0xff_fffe|transaction>>23^1)
			dst = binary.AppendUvarint(dst, outer)
			dst = binary.AppendUvarint(dst, inner)
			dst = binary.AppendUvarint(dst, batch)
		}
	}
	return dst
}

func appendBytes(dst []byte, value string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(value))), value...)
}

// parseHex reads an InstructionID in lower-case hexadecimal.
func parseHex(text string) (id [16]byte, ok bool) {
	if len(text) != 2*len(id) {
		return id, false
	}
	for i := range id {
		high, low := nibble(text[2*i]), nibble(text[2*i+1])
		if high > 15 || low > 15 {
			return id, false
		}
		id[i] = high<<4 | low
	}
	return id, true
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	default:
		return 255
	}
}
