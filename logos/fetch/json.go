package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"unicode/utf16"
)

// FetchJSON gets a JSON document: an object or an array. It is returned in UTF-8 without a byte
// order mark. The server's Content-Type is ignored. If a gateway sends anything else, such as an
// HTML page, that is ClassNotJSON, and the next gateway is tried.
func (f *Fetcher) FetchJSON(ctx context.Context, uri string) ([]byte, error) {
	response, err := f.Document(ctx, uri)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Document is like FetchJSON, but returns the whole response.
func (f *Fetcher) Document(ctx context.Context, uri string) (*Response, error) {
	return f.Do(ctx, Request{URI: uri, Accept: "application/json, text/plain;q=0.9, */*;q=0.5", Check: acceptJSON})
}

// acceptJSON refuses a body that is no JSON object or array, or that only reports an error. It
// replaces the body by the trimmed UTF-8 text.
func acceptJSON(response *Response) error {
	body := bytes.TrimSpace(plainUTF8(response.Body))
	switch {
	case len(body) == 0:
		return failure(ClassNotJSON, "empty body")
	case body[0] != '{' && body[0] != '[':
		return failure(ClassNotJSON, "neither an object nor an array")
	case !json.Valid(body):
		return failure(ClassNotJSON, "malformed JSON")
	case isErrorBody(body):
		return failure(ClassErrorBody, "an error report instead of content")
	}
	response.Body = body
	return nil
}

// plainUTF8 removes a byte order mark, and converts UTF-16 that has one to UTF-8.
func plainUTF8(body []byte) []byte {
	switch {
	case bytes.HasPrefix(body, []byte{0xef, 0xbb, 0xbf}):
		return body[3:]
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		return fromUTF16(body[2:], 0, 1)
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		return fromUTF16(body[2:], 1, 0)
	}
	return body
}

// fromUTF16 converts UTF-16 to UTF-8. low and high are the indices of the low and the high byte in
// each unit.
func fromUTF16(body []byte, low, high int) []byte {
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = uint16(body[2*i+low]) | uint16(body[2*i+high])<<8
	}
	return []byte(string(utf16.Decode(units)))
}

// errorMembers are the members of an object that only reports an error.
var errorMembers = map[string]bool{
	"error": true, "errors": true, "message": true, "msg": true, "status": true, "statusCode": true, "code": true, "success": true, "detail": true,
	"details": true, "error_code": true, "path": true, "timestamp": true, "requestId": true, "request_id": true, "ok": true,
}

// isErrorBody reports whether a document is an object that only reports an error: all its members
// are in errorMembers, and error, errors or message is among them. Gateways and storage services
// send such documents with status 200.
func isErrorBody(body []byte) bool {
	const most = 4096 // bytes; a longer document is content
	if len(body) > most || body[0] != '{' {
		return false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || len(object) == 0 {
		return false
	}
	for name := range object {
		if !errorMembers[name] {
			return false
		}
	}
	_, reports := object["error"]
	_, several := object["errors"]
	_, says := object["message"]
	return reports || several || says
}
