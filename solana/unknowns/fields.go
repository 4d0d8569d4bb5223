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
// into nested messages. It costs next to nothing if there are no such fields.
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
