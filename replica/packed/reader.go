package packed

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"unsafe"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Reader unpacks states, for one goroutine at a time.
type Reader struct {
	shared    *Shared
	texts     textReader
	positions []schemas.Position
	facts     []registry.Fact
	parts     []part
	rest      []byte
	// packedTexts are the texts that were read last, in their order.
	packedTexts []packedText
	// last is the highest register whose texts are read.
	last registry.Register
	// texts.out[mintFrom:mintTo] is the mint's text, once a value is the mint itself.
	mintFrom, mintTo int32
}

// part is where in the texts a fact's item or value lies.
type part struct {
	fact     int32
	kind     partKind
	from, to int32
}

type partKind uint8

const (
	partItem partKind = iota
	partValue
	partText // a value that is one of packedTexts
)

// NewReader returns a reader of states that were packed with shared.
func NewReader(shared *Shared) *Reader { return &Reader{shared: shared} }

// Facts returns the facts of a mint that Writer.Append packed, in their order. The slice is valid
// until the reader's next call. The strings in it are the caller's to keep and share no memory with
// packed.
func (r *Reader) Facts(mint pubkey.Key, packed []byte) []registry.Fact {
	return r.FactsUpTo(mint, packed, registry.Register(math.MaxUint8))
}

// FactsUpTo is Facts without the texts of registers above last: their values are empty. The texts
// of off-chain metadata and token lists are most of what there is, and have high registers.
func (r *Reader) FactsUpTo(mint pubkey.Key, packed []byte, last registry.Register) []registry.Fact {
	r.read(mint, packed, last)
	return r.withTexts(string(r.texts.out))
}

// ReusedFacts is like Facts, but the strings lie in the reader's memory too. They are valid until
// the reader's next call. It allocates nothing, except the shape of a state whose shape is not in
// Shared.
func (r *Reader) ReusedFacts(mint pubkey.Key, packed []byte) []registry.Fact {
	r.read(mint, packed, registry.Register(math.MaxUint8))
	return r.withTexts(unsafe.String(unsafe.SliceData(r.texts.out), len(r.texts.out))) //nolint:gosec // whoever calls knows how long they last
}

// read unpacks a state into facts, and its texts into texts.out. Then withTexts must be called.
func (r *Reader) read(mint pubkey.Key, packed []byte, last registry.Register) {
	r.last, r.mintFrom, r.mintTo = last, 0, 0
	r.texts.reset()
	r.facts, r.positions, r.parts, r.rest, r.packedTexts = r.facts[:0], r.positions[:0], r.parts[:0], packed, r.packedTexts[:0]
	shape := r.shape()
	r.readPositions()
	for at := 0; at < len(shape); at += 2 {
		r.fact(mint, shape[at], shape[at+1])
	}
}

// withTexts sets the items and values that lie in texts, and returns the facts.
func (r *Reader) withTexts(texts string) []registry.Fact {
	n := 0
	for _, p := range r.parts {
		text := texts[p.from:p.to]
		if p.kind == partItem {
			r.facts[p.fact].Item = text
			continue
		}
		r.facts[p.fact].Value = text
		if p.kind == partText {
			r.packedTexts[n].text = text
			n++
		}
	}
	return r.facts
}

func (r *Reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	r.rest = r.rest[size:]
	return n
}

func (r *Reader) bytes(size uint64) []byte {
	head := r.rest[:size]
	r.rest = r.rest[size:]
	return head
}

func (r *Reader) byte() byte { return r.bytes(1)[0] }

func (r *Reader) shape() string {
	if n := r.uvarint(); n > 0 {
		return r.shared.shapes.of(n - 1).bytes
	}
	return string(r.bytes(r.uvarint()))
}

// readPositions is the inverse of Writer.appendPositions.
func (r *Reader) readPositions() {
	slot := uint64(0)
	for range r.uvarint() {
		kind := r.byte()
		ahead, size := binary.Varint(r.rest)
		r.rest = r.rest[size:]
		slot += uint64(ahead)
		position := schemas.Position{Slot: slot, Order: ^uint64(0)}
		if kind == withinSlot {
			packed := r.uvarint()
			transaction := packed>>1 | (packed&1^1)<<23 // the lowest bit is the highest, inverted
			outer, inner := r.uvarint(), r.uvarint()
			position.Order = schemas.JoinOrder(transaction, outer, inner, r.uvarint())
		}
		r.positions = append(r.positions, position)
	}
}

// fact reads one fact. first and second are its two bytes in the shape.
func (r *Reader) fact(mint pubkey.Key, first, second byte) {
	register := first &^ hasItem
	if register == otherRegister {
		register = r.byte()
	}
	position := uint64(second >> 4)
	if position == otherPosition {
		position = r.uvarint()
	}
	r.facts = append(r.facts, registry.Fact{Mint: mint, Register: registry.Register(register), Position: r.positions[position]})
	fact := &r.facts[len(r.facts)-1]
	if fact.Register == registry.RegisterFirstSeen {
		fact.Position = fact.Position.Reverse()
	}
	if first&hasItem != 0 {
		r.item(fact)
	}
	r.value(fact, mint, second&0xf)
}

func (r *Reader) item(fact *registry.Fact) {
	from := len(r.texts.out)
	switch r.byte() {
	case itemKnown:
		fact.Item = r.shared.strings.of(r.uvarint()).text
		return
	case itemInstruction:
		r.texts.out = hex.AppendEncode(r.texts.out, r.bytes(16))
	default:
		r.texts.out = append(r.texts.out, r.bytes(r.uvarint())...)
	}
	r.part(partItem, from)
}

// part notes that the text from the offset from to the end is the item or the value of the last
// fact.
func (r *Reader) part(kind partKind, from int) {
	r.parts = append(r.parts, part{int32(len(r.facts) - 1), kind, int32(from), int32(len(r.texts.out))})
}

// value reads the value of a fact. Values that are no constants go into texts.out.
func (r *Reader) value(fact *registry.Fact, mint pubkey.Key, kind byte) {
	from := len(r.texts.out)
	switch kind {
	case valueEmpty:
		return
	case valueTrue:
		fact.Value = "true"
		return
	case valueFalse:
		fact.Value = "false"
		return
	case valueMint:
		if r.mintFrom == r.mintTo { // the text of the mint is made once a state
			r.texts.out = mint.Append(r.texts.out)
			r.mintFrom, r.mintTo = int32(from), int32(len(r.texts.out))
		}
		r.parts = append(r.parts, part{int32(len(r.facts) - 1), partValue, r.mintFrom, r.mintTo})
		return
	case valueKnownKey:
		fact.Value = r.shared.keys.of(r.uvarint()).text
		return
	case valueNumber:
		n := r.uvarint()
		if n < 100 {
			fact.Value = strconv.FormatUint(n, 10) // strconv allocates nothing below 100
			return
		}
		r.texts.out = strconv.AppendUint(r.texts.out, n, 10)
	case valueNegative:
		r.texts.out = strconv.AppendUint(append(r.texts.out, '-'), r.uvarint(), 10)
	case valueThousands:
		r.texts.out = append(strconv.AppendUint(r.texts.out, r.uvarint(), 10), "000"...)
	case valueKey:
		key := pubkey.Key(r.bytes(pubkey.Size))
		r.texts.out = key.Append(r.texts.out)
	default:
		text := r.bytes(r.uvarint())
		switch {
		case fact.Register > r.last:
			// Later texts may refer to this one, but have higher registers and are not read either.
			return
		case kind == valueRaw:
			r.texts.out = append(r.texts.out, text...)
		default:
			r.texts.read(text)
		}
		r.packedTexts = append(r.packedTexts, packedText{kind: kind, packed: text})
		r.part(partText, from)
		return
	}
	r.part(partValue, from)
}
