// Package yellowstone has what servers and clients of the Yellowstone protocol need.
//
// In: decoded messages of geyser.proto; where a server is. Out: what in the messages cannot be
// served; connections. Guarantees: no token or URL stands in an error.
package yellowstone

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// newer names fields that clients of newer versions send and the Go package does not know yet
// (geyser.proto of yellowstone-grpc 12.6).
var newer = map[protoreflect.FullName]map[protowire.Number]string{
	"geyser.SubscribeRequestFilterAccounts":     {6: "cuckoo_accounts_filter"},
	"geyser.SubscribeRequestFilterTransactions": {7: "cuckoo_account_include", 30: "token_accounts"},
	"geyser.SubscribeRequestFilterBlocks":       {5: "cuckoo_account_include"},
}

// UnknownField returns an error that names the first field which this program does not know, in m
// or in any message within it. A filter must not be served without its unknown conditions: the
// client would get what it did not ask for, most often everything.
func UnknownField(m proto.Message) error {
	return inMessage(m.ProtoReflect(), "")
}

func inMessage(m protoreflect.Message, path string) error {
	name := m.Descriptor().FullName()
	if raw := m.GetUnknown(); len(raw) > 0 {
		number, _, _ := protowire.ConsumeTag(raw) // the bytes were read as fields before
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
