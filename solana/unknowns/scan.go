package unknowns

import (
	"strconv"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mintlake/mintlake/internal/protofields"
)

const (
	// scanEvery is the number of blocks or transactions of which a Scanner looks into one. A look
	// takes a third of the time of parsing. A field that a newer server adds is in most messages,
	// so a later look finds it.
	scanEvery = 32
	// scanDepth bounds how deep messages may lie in each other. Those of Geyser have 8 levels.
	scanDepth = 16
	// maxFound bounds how many different unknowns of one message are noted.
	maxFound = 16
	// maxNumber bounds the field numbers that a shape has, one bit each in a word. Those of Geyser
	// are below 32.
	maxNumber = 64
)

// Scanner looks through encoded messages for fields that the generated code lacks, at any depth,
// and for slot statuses and reward types that it has no name for. It is for readers that do not
// decode their messages whole. Look may be called by many goroutines. A nil Scanner sees nothing.
type Scanner struct {
	book   *Book
	source string
	root   *shape
	// sampled has a bit for each field of the root that only one look in scanEvery goes into. looks
	// counts these fields.
	sampled uint64
	looks   atomic.Uint64
}

// shape is what the generated code knows of a message type.
type shape struct {
	name string
	// known has a bit for each field number. messages has the shapes of the fields that are
	// messages, and enums the enumerations that are checked, both by field number.
	known    uint64
	messages [maxNumber]*shape
	enums    [maxNumber]*enum
	// slot is the number of the field named slot; 0 if there is none.
	slot protowire.Number
}

// enum is an enumeration that is checked. Its unknown values are noted as kind.
type enum struct {
	kind   Kind
	values protoreflect.EnumValueDescriptors
}

// enumKinds are the enumerations that are checked, by their name in the package.
var enumKinds = map[protoreflect.Name]Kind{"SlotStatus": SlotStatus, "RewardType": RewardType}

// NewScanner returns a scanner for messages of the type root; nil if book is nil. Only one look in
// scanEvery goes into the fields sampled of such a message.
func NewScanner(book *Book, source string, root protoreflect.MessageDescriptor, sampled ...protowire.Number) *Scanner {
	if book == nil {
		return nil
	}
	s := &Scanner{book: book, source: source, root: shapeOf(root, map[protoreflect.FullName]*shape{})}
	for _, number := range sampled {
		s.sampled |= 1 << number
	}
	return s
}

// shapeOf returns the shape of a message type. made has the shapes made so far, since a type may
// contain itself.
func shapeOf(m protoreflect.MessageDescriptor, made map[protoreflect.FullName]*shape) *shape {
	if s := made[m.FullName()]; s != nil {
		return s
	}
	s := &shape{name: string(m.FullName())}
	made[m.FullName()] = s
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		number := field.Number()
		if number >= maxNumber {
			continue
		}
		s.known |= 1 << number
		switch {
		case field.Message() != nil:
			s.messages[number] = shapeOf(field.Message(), made)
		case field.Enum() != nil && enumKinds[field.Enum().Name()] != "":
			s.enums[number] = &enum{enumKinds[field.Enum().Name()], field.Enum().Values()}
		case field.Name() == "slot":
			s.slot = number
		}
	}
	return s
}

// found is something unknown in a message of the shape in.
type found struct {
	kind   Kind
	in     *shape
	number int64 // the field's number, or the value of the enumeration
	sample []byte
}

// scan is the state of one Look.
type scan struct {
	deep bool   // whether the look goes into the sampled fields
	slot uint64 // the first slot in the message; 0 before one is met
	list []found
}

// Look looks through a message and notes each unknown once, however often the message has it. It
// ends where the message is malformed.
func (s *Scanner) Look(message []byte) {
	if s == nil {
		return
	}
	look := scan{deep: s.looks.Load()%scanEvery == 0}
	f := protofields.Fields{Rest: message}
	for rest := message; f.Next(); rest = f.Rest {
		sampled := f.Number < maxNumber && s.sampled&(1<<f.Number) != 0
		if sampled {
			s.looks.Add(1)
		}
		if !sampled || look.deep {
			look.field(s.root, &f, rest, 0)
		}
	}
	for _, f := range look.list {
		at := Sighting{Source: s.source, Slot: look.slot, Sample: f.sample}
		if f.kind == ProtobufField {
			s.book.Field(f.in.name, protowire.Number(f.number), at)
		} else {
			s.book.Note(f.kind, strconv.FormatInt(f.number, 10), at)
		}
	}
}

// message looks through a message that lies depth levels deep.
func (l *scan) message(in *shape, message []byte, depth int) {
	f := protofields.Fields{Rest: message}
	for rest := message; f.Next(); rest = f.Rest {
		l.field(in, &f, rest, depth)
	}
}

// field looks at one field of a message. rest is the message from the start of this field on.
func (l *scan) field(in *shape, f *protofields.Fields, rest []byte, depth int) {
	raw := rest[:len(rest)-len(f.Rest)]
	if f.Number >= maxNumber || in.known&(1<<f.Number) == 0 {
		l.add(found{ProtobufField, in, int64(f.Number), raw})
		return
	}
	switch f.Kind { //nolint:exhaustive // other fields have no message and no enum
	case protowire.BytesType:
		if child := in.messages[f.Number]; child != nil && depth < scanDepth {
			l.message(child, f.Bytes, depth+1)
		}
	case protowire.VarintType:
		if e := in.enums[f.Number]; e != nil && e.values.ByNumber(protoreflect.EnumNumber(int32(f.Value))) == nil {
			l.add(found{e.kind, in, int64(int32(f.Value)), raw})
		}
		if f.Number == in.slot && l.slot == 0 {
			l.slot = f.Value
		}
	}
}

func (l *scan) add(f found) {
	for i := range l.list {
		if l.list[i].kind == f.kind && l.list[i].in == f.in && l.list[i].number == f.number {
			return
		}
	}
	if len(l.list) < maxFound {
		l.list = append(l.list, f)
	}
}
