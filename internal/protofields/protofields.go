// Package protofields reads encoded protobuf messages in place.
//
// In: a message. Out: its fields, one after the other. Guarantees: it allocates nothing for a valid
// message, and what it returns shares the message's memory. Generated types would allocate each
// message and string, which for a block of Solana is most of the time.
package protofields

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed is a message that breaks the wire format. Errors wrap it.
var ErrMalformed = errors.New("malformed")

// Fields goes over the fields of a message:
//
//	f := protofields.Fields{Rest: message}
//	for f.Next() {
//		if f.IsBytes(1) { … f.Bytes … }
//	}
//
// A field of an unexpected wire type passes no such check, so it is ignored, as generated decoders
// do.
type Fields struct {
	// Rest is what follows the current field.
	Rest   []byte
	Number protowire.Number
	Kind   protowire.Type
	// Value is the value of a varint or of 64 fixed bits, Bytes the content of a length-delimited
	// field.
	Value uint64
	Bytes []byte
	// Err says why Next returned false; nil at the end of the message.
	Err error
}

// Next moves to the next field. It returns false at the end or after an error. It reads the usual
// field itself, for speed: a length-delimited field of up to 127 bytes with a number below 16.
func (f *Fields) Next() bool {
	d := f.Rest
	if len(d) == 0 || f.Err != nil {
		return false
	}
	if len(d) < 2 || d[0] >= 0x80 || d[0] < 1<<3 || d[0]&7 != byte(protowire.BytesType) || d[1] >= 0x80 || int(d[1]) > len(d)-2 {
		return f.nextOther()
	}
	end := 2 + int(d[1])
	f.Number, f.Kind = protowire.Number(d[0]>>3), protowire.BytesType
	f.Bytes, f.Rest = d[2:end:end], d[end:]
	return true
}

// nextOther is Next for all other fields.
func (f *Fields) nextOther() bool {
	number, kind, n := protowire.ConsumeTag(f.Rest)
	if n < 0 {
		f.Err = fmt.Errorf("%w: protobuf tag: %w", ErrMalformed, protowire.ParseError(n))
		return false
	}
	f.Rest, f.Number, f.Kind = f.Rest[n:], number, kind
	switch kind {
	case protowire.VarintType:
		f.Value, n = protowire.ConsumeVarint(f.Rest)
	case protowire.BytesType:
		f.Bytes, n = protowire.ConsumeBytes(f.Rest)
	case protowire.Fixed64Type:
		f.Value, n = protowire.ConsumeFixed64(f.Rest)
	default:
		n = protowire.ConsumeFieldValue(number, kind, f.Rest)
	}
	if n < 0 {
		f.Err = fmt.Errorf("%w: protobuf field %d: %w", ErrMalformed, number, protowire.ParseError(n))
		return false
	}
	f.Rest = f.Rest[n:]
	return true
}

// IsBytes returns whether the current field is the length-delimited field number.
func (f *Fields) IsBytes(number protowire.Number) bool {
	return f.Number == number && f.Kind == protowire.BytesType
}

// IsVarint returns whether the current field is the varint field number.
func (f *Fields) IsVarint(number protowire.Number) bool {
	return f.Number == number && f.Kind == protowire.VarintType
}

// IsFixed64 returns whether the current field is the fixed64 field number.
func (f *Fields) IsFixed64(number protowire.Number) bool {
	return f.Number == number && f.Kind == protowire.Fixed64Type
}

// Keep sets *into to the current field, which is an embedded message that may come once. A
// generated decoder would merge two of them. Here a second one is an error.
func (f *Fields) Keep(into *[]byte) {
	if *into != nil {
		f.Err = fmt.Errorf("%w: protobuf field %d comes twice", ErrMalformed, f.Number)
	}
	*into = f.Bytes
}

// Each calls use with each length-delimited field of a message that has this number, until use
// returns an error.
func Each(message []byte, number protowire.Number, use func(field []byte) error) error {
	f := Fields{Rest: message}
	for f.Next() {
		if f.IsBytes(number) {
			if err := use(f.Bytes); err != nil {
				return err
			}
		}
	}
	return f.Err
}

// Varint returns the value of the last varint field of a message that has this number, or 0 if
// there is none.
func Varint(message []byte, number protowire.Number) (value uint64, err error) {
	f := Fields{Rest: message}
	for f.Next() {
		if f.IsVarint(number) {
			value = f.Value
		}
	}
	return value, f.Err
}
