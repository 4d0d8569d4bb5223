package kafka

import (
	"encoding/binary"
	"reflect"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unsupportedAnswer returns the answer to a request that the broker does not serve:
// UNSUPPORTED_VERSION, in the format that the client expects. rest is the part of the request
// behind its key and version. Apache Kafka closes the connection instead, but then a client loses
// its other requests, too.
//
// The error code is in the answer's own field, if it has one, and in an element for each topic,
// partition or group of the request. If the key is unknown or the request cannot be decoded, the
// answer is only the correlation id and the error code: most answers begin like this.
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

// encodeAnswer returns an answer without the length that goes before it.
func encodeAnswer(correlation []byte, response kmsg.Response) []byte {
	payload := append([]byte(nil), correlation...)
	if response.IsFlexible() {
		payload = append(payload, 0) // the header's tagged fields: none
	}
	return response.AppendTo(payload)
}

// readRequest decodes a request. b is the part of the request behind the correlation id. If the
// request cannot be decoded, readRequest returns nil.
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

// refuseAll sets the error code of response. To each list of response it adds an element with that
// code for each element that the request has.
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

// elementsOf returns the elements of a request that belong to the list with this name in the
// answer: those of the request's list with the same name, or else of all its lists.
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

// refusedElement returns the element of an answer that refuses one element of the request, such as
// a topic or a group. It has the error code, and names what was asked: if asked is a struct, its
// fields are copied to the fields of the same name and type. Otherwise asked is a name or a number,
// and goes into the first field of its type.
func refusedElement(asked reflect.Value, elementType reflect.Type) reflect.Value {
	pointer := reflect.New(elementType)
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
		// This sets the error code. A name or a number has no lists, as the empty struct has none.
		refuseAll(reflect.ValueOf(struct{}{}), element)
		return element
	}
	for i := range element.NumField() {
		field := element.Field(i)
		if from := asked.FieldByName(elementType.Field(i).Name); from.IsValid() && from.Type() == field.Type() {
			field.Set(from)
		}
	}
	refuseAll(asked, element)
	return element
}
