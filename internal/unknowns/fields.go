package unknowns

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxFields is how many unknown fields of one message are counted: a hostile message may have
// millions.
const maxFields = 16

// Fields counts the fields of a decoded message that its generated code lacks. It does not look
// into the messages in it. It costs next to nothing if there are none.
func (b *Book) Fields(m protoreflect.Message, at Sighting) {
	rest := m.GetUnknown()
	if b == nil || len(rest) == 0 {
		return
	}
	for n := 0; len(rest) > 0 && n < maxFields; n++ {
		number, _, length := protowire.ConsumeField(rest)
		if length < 0 {
			return
		}
		at.Sample = rest[:length]
		b.Field(string(m.Descriptor().FullName()), number, at)
		rest = rest[length:]
	}
}

// Field counts a field of a message, for readers without generated code.
func (b *Book) Field(message string, number protowire.Number, at Sighting) {
	if b != nil {
		b.Note(ProtobufField, message+"."+strconv.Itoa(int(number)), at)
	}
}

// Numbers are the numbers of a message's known fields: bit n is set for field n.
type Numbers uint64

// NumbersOf returns the field numbers of a message below 64.
func NumbersOf(message protoreflect.MessageDescriptor) (numbers Numbers) {
	for i := range message.Fields().Len() {
		if number := message.Fields().Get(i).Number(); number < 64 {
			numbers |= 1 << number
		}
	}
	return numbers
}

// Has returns whether the message has a field of this number.
func (n Numbers) Has(number protowire.Number) bool { return number < 64 && n&(1<<number) != 0 }
