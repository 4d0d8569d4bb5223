// Package yellowstone has what servers and clients of the Yellowstone protocol share.
//
// In: decoded messages of geyser.proto; the address of a server. Out: an error for fields that are
// not supported; connections; the compression zstd. Guarantees: no error contains a token or a URL.
package yellowstone

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Refused are the fields that a server does not serve, although the generated code knows them.
// Their names are full ones, such as geyser.SubscribeRequest.block_footer.
type Refused []protoreflect.FullName

// UnknownField returns an error that names a field in m, or in a message inside it, that the
// generated code does not know or that is refused; nil if there is none. A server must not serve a
// filter without the conditions in such fields: the client would get updates that it did not ask
// for, most often all of them.
func (r Refused) UnknownField(m proto.Message) error {
	return r.inMessage(m.ProtoReflect(), "")
}

// inMessage checks a message. path says in the error text where the message is.
func (r Refused) inMessage(m protoreflect.Message, path string) error {
	name := m.Descriptor().Name()
	if raw := m.GetUnknown(); len(raw) > 0 {
		number, _, _ := protowire.ConsumeTag(raw) // valid: the decoder has read it before
		return fmt.Errorf("%sfield %d of %s is not supported", path, number, name)
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if slices.Contains(r, field.FullName()) {
			err = fmt.Errorf("%s%s (field %d) of %s is not supported", path, field.Name(), field.Number(), name)
		} else {
			err = r.inField(field, value, path)
		}
		return err == nil
	})
	return err
}

// inField checks the messages in a field: one, a list, or the values of a map.
func (r Refused) inField(field protoreflect.FieldDescriptor, value protoreflect.Value, path string) (err error) {
	path += string(field.Name())
	switch {
	case field.IsMap():
		if field.MapValue().Message() == nil {
			return nil
		}
		value.Map().Range(func(key protoreflect.MapKey, one protoreflect.Value) bool {
			err = r.inMessage(one.Message(), fmt.Sprintf("%s %.32q: ", path, key.String()))
			return err == nil
		})
	case field.Message() == nil:
	case field.IsList():
		for i := range value.List().Len() {
			if err := r.inMessage(value.List().Get(i).Message(), fmt.Sprintf("%s[%d]: ", path, i)); err != nil {
				return err
			}
		}
	default:
		return r.inMessage(value.Message(), path+": ")
	}
	return err
}
