package stream

import "google.golang.org/protobuf/encoding/protowire"

// fields goes over the fields of an encoded protobuf message, in place:
//
//	f := fields{rest: message}
//	for f.next() {
//		if f.isBytes(1) { … f.bytes … }
//	}
//
// A known field of an unexpected type is nobody's case, so it is ignored, as in a decoder.
type fields struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	// value is that of a varint or of 64 fixed bits, bytes that of a length-delimited field.
	value uint64
	bytes []byte
	// err is errMalformed after next has returned false because of it.
	err error
}

// next moves to the next field. It returns false at the end or after an error. The usual field, of
// up to 127 bytes and a number below 16, needs no call.
func (f *fields) next() bool {
	d := f.rest
	if len(d) == 0 || f.err != nil {
		return false
	}
	if len(d) < 2 || d[0] >= 0x80 || d[0] < 1<<3 || d[0]&7 != byte(protowire.BytesType) || d[1] >= 0x80 || int(d[1]) > len(d)-2 {
		return f.nextOther()
	}
	end := 2 + int(d[1])
	f.number, f.kind = protowire.Number(d[0]>>3), protowire.BytesType
	f.bytes, f.rest = d[2:end], d[end:]
	return true
}

// nextOther is next for all other fields.
func (f *fields) nextOther() bool {
	number, kind, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		f.err = errMalformed
		return false
	}
	f.rest, f.number, f.kind = f.rest[n:], number, kind
	switch kind {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(f.rest)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(f.rest)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(f.rest)
	default:
		n = protowire.ConsumeFieldValue(number, kind, f.rest)
	}
	if n < 0 {
		f.err = errMalformed
		return false
	}
	f.rest = f.rest[n:]
	return true
}

// isBytes returns whether the current field is the length-delimited field number.
func (f *fields) isBytes(number protowire.Number) bool {
	return f.number == number && f.kind == protowire.BytesType
}

// isVarint returns whether the current field is the varint field number.
func (f *fields) isVarint(number protowire.Number) bool {
	return f.number == number && f.kind == protowire.VarintType
}

// isFixed64 returns whether the current field is the field number of 64 fixed bits.
func (f *fields) isFixed64(number protowire.Number) bool {
	return f.number == number && f.kind == protowire.Fixed64Type
}

// each calls use with each length-delimited field number of a message, until use returns an error.
func each(message []byte, number protowire.Number, use func(field []byte) error) error {
	f := fields{rest: message}
	for f.next() {
		if f.isBytes(number) {
			if err := use(f.bytes); err != nil {
				return err
			}
		}
	}
	return f.err
}

// keep sets *into to the current field: a message of which there may be one. Decoders would merge
// several.
func (f *fields) keep(into *[]byte) {
	if *into != nil {
		f.err = errMalformed
	}
	*into = f.bytes
}
