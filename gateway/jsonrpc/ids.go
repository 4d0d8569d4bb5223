package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	"github.com/tidwall/gjson"
)

// foreignID reports whether the id of an answer, got, shows that it answers another call than the
// one with the id sent. An id that is missing, null, or the same number written in another way
// shows nothing: some servers send such ids.
func foreignID(got, sent json.RawMessage) bool {
	if len(sent) == 0 || len(got) == 0 || bytes.Equal(got, sent) {
		return false
	}
	a, b := gjson.ParseBytes(got), gjson.ParseBytes(sent)
	switch {
	case a.Type == gjson.Null:
		return false
	case a.Type == gjson.Number && b.Type == gjson.Number:
		return a.Num != b.Num
	}
	return a.Type != b.Type || a.Str != b.Str
}

// tailBytes is how much of the end of a long answer is kept to find its id there.
const tailBytes = 256

// idAtEnd finds the id of an answer if it is the last member, where nodes write it.
var idAtEnd = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|[-+.0-9eE]+)\s*}\s*$`)

// checkedRest is the rest of a long answer. At the end it checks that the JSON ends with }, and
// that the id is that of the call: an upstream that cuts an answer off may still end it correctly
// for HTTP. If a check fails, Read returns an error in place of io.EOF.
type checkedRest struct {
	io.ReadCloser
	id   json.RawMessage
	tail []byte
}

func (e *checkedRest) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if n >= tailBytes {
		e.tail = append(e.tail[:0], p[n-tailBytes:n]...)
	} else {
		e.tail = append(e.tail, p[:n]...)
		e.tail = e.tail[max(0, len(e.tail)-tailBytes):]
	}
	if err != io.EOF {
		return n, err
	}
	trimmed := bytes.TrimRight(e.tail, " \t\r\n")
	if len(trimmed) > 0 && trimmed[len(trimmed)-1] != '}' {
		return n, errors.New("the answer was cut off")
	}
	if found := idAtEnd.FindSubmatch(trimmed); found != nil && foreignID(found[1], e.id) {
		return n, errors.New("the answer is another call's")
	}
	return n, io.EOF
}
