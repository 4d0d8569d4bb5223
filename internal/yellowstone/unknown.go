// Package yellowstone has what servers and clients of the Yellowstone protocol share.
//
// In: decoded messages of geyser.proto; the address of a server. Out: an error for fields that are
// not supported; connections; the compression zstd. Guarantees: no error contains a token or a URL.
package yellowstone

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// newer are the names of fields that clients of newer versions send and the Go package does not
// know yet (geyser.proto of yellowstone-grpc 12.6).
var newer = map[protoreflect.FullName]map[protowire.Number]string{
	"geyser.SubscribeRequestFilterAccounts":     {6: "cuckoo_accounts_filter"},
	"geyser.SubscribeRequestFilterTransactions": {7: "cuckoo_account_include", 30: "token_accounts"},
	"geyser.SubscribeRequestFilterBlocks":       {5: "cuckoo_account_include"},
}

// UnknownField returns an error that names an unknown field in m or in a message inside it; nil if
// there is none. A filter must not be served without its unknown conditions: the client would get
// updates that it did not ask for, most often all of them.
func UnknownField(m proto.Message) error {
	return inMessage(m.ProtoReflect(), "")
}

// inMessage checks a message. path leads to it, for the error.
func inMessage(m protoreflect.Message, path string) error {
	name := m.Descriptor().FullName()
	if raw := m.GetUnknown(); len(raw) > 0 {
		number, _, _ := protowire.ConsumeTag(raw) // valid: the decoder has read it before
		field := fmt.Sprintf("field %d", number)
		if known, ok := newer[name][number]; ok {
			field = fmt.Sprintf("%s (field %d)", known, number)
		}
		return fmt.Errorf("%s%s of %s is not supported", path, field, m.Descriptor().Name())
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		err = inField(field, value, path)
		return err == nil
	})
	return err
}

// inField checks the messages in a field: one, a list, or the values of a map.
func inField(field protoreflect.FieldDescriptor, value protoreflect.Value, path string) (err error) {
	path += string(field.Name())
	switch {
	case field.IsMap():
		if field.MapValue().Message() == nil {
			return nil
		}
		value.Map().Range(func(key protoreflect.MapKey, one protoreflect.Value) bool {
			err = inMessage(one.Message(), fmt.Sprintf("%s %.32q: ", path, key.String()))
			return err == nil
		})
	case field.Message() == nil:
	case field.IsList():
		for i := range value.List().Len() {
			if err := inMessage(value.List().Get(i).Message(), fmt.Sprintf("%s[%d]: ", path, i)); err != nil {
				return err
			}
		}
	default:
		return inMessage(value.Message(), path+": ")
	}
	return err
}
