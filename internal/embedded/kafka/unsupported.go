package kafka

import (
	"encoding/binary"
	"reflect"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unsupportedAnswer is the answer to a request that the broker does not serve: UNSUPPORTED_VERSION
// in the shape that the request's client reads. rest is the request after key and version. Apache
// Kafka closes the connection instead; then a client that sends one such request loses its others
// too.
//
// The error stands in the answer's own error code, where it has one, and in that of each topic,
// partition or group that was asked for. A key that nobody knows, or a request that cannot be read,
// gets the correlation id and the code: the beginning of most answers.
func unsupportedAnswer(head frameHead, rest []byte) []byte {
	correlation := rest[:correlationBytes]
	request := readRequest(head, rest[correlationBytes:])
	if request == nil {
		return binary.BigEndian.AppendUint16(append([]byte(nil), correlation...), uint16(kerr.UnsupportedVersion.Code))
	}
	response := request.ResponseKind()
	refuseAll(reflect.ValueOf(request).Elem(), reflect.ValueOf(response).Elem())
	return encodeAnswer(correlation, response)
}

// encodeAnswer is an answer without the length before it.
func encodeAnswer(correlation []byte, response kmsg.Response) []byte {
	payload := append([]byte(nil), correlation...)
	if response.IsFlexible() {
		payload = append(payload, 0) // the header's tagged fields: none
	}
	return response.AppendTo(payload)
}

// readRequest decodes a request behind its correlation id; nil when it cannot.
func readRequest(head frameHead, b []byte) kmsg.Request {
	request := kmsg.RequestForKey(head.key)
	if request == nil || head.version < 0 || head.version > request.MaxVersion() {
		return nil
	}
	request.SetVersion(head.version)
	reader := kbin.Reader{Src: b}
	reader.NullableString() // client id
	if request.IsFlexible() {
		kmsg.SkipTags(&reader)
	}
	if !reader.Ok() || request.ReadFrom(reader.Src) != nil {
		return nil
	}
	return request
}

// refuseAll sets the error code of response and gives each of its lists an element with that code
// for each one that request has, named as there.
func refuseAll(request, response reflect.Value) {
	if code := response.FieldByName("ErrorCode"); code.IsValid() && code.Kind() == reflect.Int16 {
		code.SetInt(int64(kerr.UnsupportedVersion.Code))
	}
	for i := range response.NumField() {
		list := response.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for _, asked := range elementsOf(request, response.Type().Field(i).Name) {
			list.Set(reflect.Append(list, refusedElement(asked, list.Type().Elem())))
		}
	}
}

// elementsOf are the elements of a request that an answer's list speaks of: those of the list of
// that name, else of all lists.
func elementsOf(request reflect.Value, name string) []reflect.Value {
	var elements []reflect.Value
	add := func(list reflect.Value) {
		for i := range list.Len() {
			elements = append(elements, list.Index(i))
		}
	}
	if list := request.FieldByName(name); list.IsValid() && list.Kind() == reflect.Slice {
		add(list)
		return elements
	}
	for i := range request.NumField() {
		if field := request.Field(i); field.Kind() == reflect.Slice && field.Type().Elem().Kind() != reflect.Uint8 {
			add(field)
		}
	}
	return elements
}

// refusedElement is one element of an answer's list for one of the request's: a struct whose fields
// of the same name are copied, or a plain name or number, which goes into the first field of its
// type.
func refusedElement(asked reflect.Value, kind reflect.Type) reflect.Value {
	pointer := reflect.New(kind)
	if d, ok := pointer.Interface().(interface{ Default() }); ok {
		d.Default()
	}
	element := pointer.Elem()
	if asked.Kind() != reflect.Struct {
		for i := range element.NumField() {
			if field := element.Field(i); field.Type() == asked.Type() {
				field.Set(asked)
				break
			}
		}
		refuseAll(reflect.ValueOf(struct{}{}), element)
		return element
	}
	for i := range element.NumField() {
		field := element.Field(i)
		if from := asked.FieldByName(kind.Field(i).Name); from.IsValid() && from.Type() == field.Type() {
			field.Set(from)
		}
	}
	refuseAll(asked, element)
	return element
}
