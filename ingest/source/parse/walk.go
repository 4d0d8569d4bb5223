package parse

import "google.golang.org/protobuf/encoding/protowire"

// walk goes over the fields of one protobuf message in place. Generated types would allocate each
// message and string, which for a real block is most of the time. The field numbers in this package
// are those of agave's confirmed_block.proto and yellowstone-grpc's geyser.proto.
type walk struct {
	rest []byte
	num  protowire.Number
	kind protowire.Type
	// n is the value of a varint field, v that of a length-delimited one.
	n   uint64
	v   []byte
	err error
}

// next moves to the next field. It returns false at the end or after an error. The usual case, a
// short length-delimited field, needs no call.
func (w *walk) next() bool {
	d := w.rest
	if len(d) == 0 || w.err != nil {
		return false
	}
	if len(d) < 2 || d[0] >= 0x80 || d[0] < 0x08 || d[0]&7 != uint8(protowire.BytesType) || d[1] >= 0x80 || int(d[1]) > len(d)-2 {
		return w.slow()
	}
	w.num, w.kind = protowire.Number(d[0]>>3), protowire.BytesType
	end := 2 + int(d[1])
	w.v, w.rest = d[2:end:end], d[end:]
	return true
}

// slow is next for all other fields.
func (w *walk) slow() bool {
	num, kind, size := protowire.ConsumeTag(w.rest)
	if size < 0 {
		w.err = malformed("protobuf tag: %v", protowire.ParseError(size))
		return false
	}
	w.rest, w.num, w.kind = w.rest[size:], num, kind
	switch kind {
	case protowire.VarintType:
		w.n, size = protowire.ConsumeVarint(w.rest)
	case protowire.BytesType:
		w.v, size = protowire.ConsumeBytes(w.rest)
	default:
		size = protowire.ConsumeFieldValue(num, kind, w.rest)
	}
	if size < 0 {
		w.err = malformed("protobuf field %d: %v", num, protowire.ParseError(size))
		return false
	}
	w.rest = w.rest[size:]
	return true
}

// message reports whether the current field is length-delimited field num.
func (w *walk) message(num protowire.Number) bool {
	return w.num == num && w.kind == protowire.BytesType
}

// varint reports whether the current field is varint field num.
func (w *walk) varint(num protowire.Number) bool {
	return w.num == num && w.kind == protowire.VarintType
}

// firstVarint returns varint field num of a small message; 0 if it is absent.
func firstVarint(data []byte, num protowire.Number) (n uint64, err error) {
	w := walk{rest: data}
	for w.next() {
		if w.varint(num) {
			n = w.n
		}
	}
	return n, w.err
}
