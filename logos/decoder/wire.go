package decoder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mintlake/mintlake/logos/picture"
)

// Values of request.Ask.
const (
	askInspect = "inspect"
	askMake    = "make"
)

// request is the head of a message to the child. The body is the picture.
type request struct {
	Ask     string          `json:"ask"`
	Kind    string          `json:"kind,omitempty"`
	Variant picture.Variant `json:"variant"`
	Limits  picture.Limits  `json:"limits"`
}

// reply is the head of the answer. The body is the variant, if one was asked for.
type reply struct {
	Info    picture.Info `json:"info"`
	Kind    string       `json:"kind,omitempty"`
	Failure string       `json:"failure,omitempty"` // a key of failures; empty for success
	Text    string       `json:"text,omitempty"`
}

// begun is the byte that the child sends before the reply, when it has the whole request and is
// about to decode the picture. The processor time counts from here on.
const begun = 'B'

// Bounds of a message, in bytes. The parent trusts a child no more than the picture that the child
// decodes.
const (
	maxHead = 64 << 10
	maxBody = 256 << 20
	maxText = 1 << 10 // of reply.Text
)

// failures are the errors of package picture by their names in a reply.
var failures = map[string]error{"not_image": picture.ErrNotImage, "broken": picture.ErrBroken, "bounds": picture.ErrBounds}

// failureOf returns the name of an error in failures. An error that has no name is broken.
func failureOf(err error) string {
	for _, name := range []string{"not_image", "bounds"} {
		if errors.Is(err, failures[name]) {
			return name
		}
	}
	return "broken"
}

// send writes a message: the length of its head, the head as JSON, the length of its body, the
// body. A length is a big-endian number of 32 bits.
func send(w io.Writer, head any, body []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	out = binary.BigEndian.AppendUint32(append(out, text...), uint32(len(body)))
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// receive reads a message into head and returns its body.
func receive(r io.Reader, head any) ([]byte, error) {
	text, err := part(r, maxHead)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return part(r, maxBody)
}

// part reads a head or a body: its length, and as many bytes. A length above most is an error.
func part(r io.Reader, most uint32) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	length := binary.BigEndian.Uint32(size[:])
	if length > most {
		return nil, fmt.Errorf("a part of %d bytes", length)
	}
	// The buffer grows with the bytes that arrive, so a false length costs at most 1 MiB.
	var data bytes.Buffer
	data.Grow(int(min(length, 1<<20)) + bytes.MinRead)
	if n, err := io.CopyN(&data, r, int64(length)); n < int64(length) {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data.Bytes(), nil
}
