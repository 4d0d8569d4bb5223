// Package jsonwalk reads JSON text in place, so that a parser of large responses decodes only the
// fields that it needs.
//
// In: JSON bytes from outside, hostile. Out: values that refer to those bytes. Guarantees: never
// panics, never recurses deeper than MaxDepth, and allocates only for strings with escapes.
// Malformed text is an error where the caller reads it. Skipped values are checked for brackets and
// quotes, but not inside numbers and literals.
package jsonwalk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// MaxDepth bounds nesting. The deepest value in a Solana node's response is about 12 deep.
const MaxDepth = 64

// ErrSyntax is wrapped by every error about the text itself.
var ErrSyntax = errors.New("broken json")

// Reader is a position in a JSON text. The zero Reader is at the end of an empty text.
type Reader struct {
	data  []byte
	pos   int
	depth int
}

// New returns a Reader at the start of data.
func New(data []byte) *Reader { return &Reader{data: data} }

// Since returns the text between two positions. r is where a value begins; later is a Reader of the
// same text that has read the value.
func (r *Reader) Since(later *Reader) []byte {
	return r.data[r.pos:later.pos:later.pos]
}

func (r *Reader) fail(want string) error {
	if r.pos >= len(r.data) {
		return fmt.Errorf("%w at byte %d: text ends, want %s", ErrSyntax, r.pos, want)
	}
	return fmt.Errorf("%w at byte %d: found %q, want %s", ErrSyntax, r.pos, r.data[r.pos], want)
}

func (r *Reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// Peek returns the first byte of the next value without consuming it ('{', '[', '"', 't', 'f', 'n',
// '-' or a digit); 0 at the end.
func (r *Reader) Peek() byte {
	r.space()
	if r.pos >= len(r.data) {
		return 0
	}
	return r.data[r.pos]
}

// End reports whether only white space is left.
func (r *Reader) End() bool { return r.Peek() == 0 && r.pos >= len(r.data) }

func (r *Reader) open(c byte, want string) error {
	if r.Peek() != c {
		return r.fail(want)
	}
	if r.depth++; r.depth > MaxDepth {
		return fmt.Errorf("%w at byte %d: nested deeper than %d", ErrSyntax, r.pos, MaxDepth)
	}
	r.pos++
	return nil
}

// more consumes the comma or the closing bracket, and reports whether another element follows.
// first is true if nothing was read since the opening bracket.
func (r *Reader) more(closing byte, first bool) (bool, error) {
	switch c := r.Peek(); {
	case c == closing:
		r.pos++
		r.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		r.pos++
		return true, nil
	}
	return false, r.fail("',' or '" + string(closing) + "'")
}

// Object reads an object. It calls field for each member with its key; field must read the value.
func (r *Reader) Object(field func(key []byte) error) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := r.more('}', first)
		if err != nil || !ok {
			return err
		}
		key, err := r.String()
		if err != nil {
			return err
		}
		if r.Peek() != ':' {
			return r.fail("':'")
		}
		r.pos++
		if err := field(key); err != nil {
			return err
		}
	}
}

// Array reads an array. It calls element for each element with its index; element must read the
// value.
func (r *Reader) Array(element func(i int) error) error {
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		ok, err := r.more(']', i == 0)
		if err != nil || !ok {
			return err
		}
		if err := element(i); err != nil {
			return err
		}
	}
}

// String reads a string. The result refers to the text, unless the string has escapes.
func (r *Reader) String() ([]byte, error) {
	if r.Peek() != '"' {
		return nil, r.fail("a string")
	}
	start := r.pos
	escaped, err := r.skipString()
	if err != nil {
		return nil, err
	}
	if !escaped {
		return r.data[start+1 : r.pos-1], nil
	}
	var s string
	if err := json.Unmarshal(r.data[start:r.pos], &s); err != nil {
		return nil, fmt.Errorf("%w at byte %d: %w", ErrSyntax, start, err)
	}
	return []byte(s), nil
}

// skipString moves past the string that begins here, and reports whether it has a backslash.
func (r *Reader) skipString() (escaped bool, err error) {
	at := r.pos + 1
	for {
		n := bytes.IndexByte(r.data[at:], '"')
		if n < 0 {
			r.pos = len(r.data)
			return escaped, r.fail("the end of a string")
		}
		if !escaped && bytes.IndexByte(r.data[at:at+n], '\\') < 0 {
			r.pos = at + n + 1
			return false, nil
		}
		escaped = true
		backslashes := 0
		for i := at + n - 1; i > r.pos && r.data[i] == '\\'; i-- {
			backslashes++
		}
		at += n + 1
		if backslashes%2 == 0 {
			r.pos = at
			return true, nil
		}
	}
}

// passString moves past the string that begins here. It is faster than skipString: it looks for a
// backslash only before a quote.
func (r *Reader) passString() error {
	start := r.pos
	n := bytes.IndexByte(r.data[start+1:], '"')
	if n >= 0 && (n == 0 || r.data[start+n] != '\\') {
		r.pos = start + n + 2
		return nil
	}
	_, err := r.skipString()
	return err
}

// structural are the bytes that matter when a nested value is skipped.
var structural = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

// Null consumes the literal null if it is next.
func (r *Reader) Null() bool {
	if r.Peek() == 'n' && bytes.HasPrefix(r.data[r.pos:], []byte("null")) {
		r.pos += 4
		return true
	}
	return false
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	r.space()
	rest := r.data[r.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("true")):
		r.pos += 4
		return true, nil
	case bytes.HasPrefix(rest, []byte("false")):
		r.pos += 5
		return false, nil
	}
	return false, r.fail("true or false")
}

func (r *Reader) number() ([]byte, error) {
	r.space()
	start := r.pos
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		r.pos++
	}
	if start == r.pos {
		return nil, r.fail("a number")
	}
	return r.data[start:r.pos], nil
}

// Uint64 reads a whole number without sign, fraction or exponent.
func (r *Reader) Uint64() (uint64, error) {
	start := r.pos
	s, err := r.number()
	if err != nil {
		return 0, err
	}
	// Nearly all numbers have fewer than 19 digits and cannot overflow.
	if len(s) < 19 && (s[0] != '0' || len(s) == 1) {
		n, whole := uint64(0), true
		for _, c := range s {
			c -= '0'
			whole = whole && c <= 9
			n = n*10 + uint64(c)
		}
		if whole {
			return n, nil
		}
	}
	n, err := strconv.ParseUint(string(s), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w at byte %d: want a whole number up to 2^64-1", ErrSyntax, start)
	}
	return n, nil
}

// Int64 reads a whole number without fraction or exponent.
func (r *Reader) Int64() (int64, error) {
	start := r.pos
	s, err := r.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(s), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w at byte %d: want a whole number", ErrSyntax, start)
	}
	return n, nil
}

// Raw skips the next value and returns its text.
func (r *Reader) Raw() ([]byte, error) {
	r.space()
	start := r.pos
	if err := r.Skip(); err != nil {
		return nil, err
	}
	return r.data[start:r.pos], nil
}

// Skip moves past the next value.
func (r *Reader) Skip() error {
	switch r.Peek() {
	case '"':
		return r.passString()
	case '{', '[':
		return r.skipNested()
	case 't', 'f':
		_, err := r.Bool()
		return err
	case 'n':
		if !r.Null() {
			return r.fail("null")
		}
		return nil
	}
	_, err := r.number()
	return err
}

// skipNested moves past an object or array by counting brackets outside strings.
func (r *Reader) skipNested() error {
	var stack [MaxDepth]byte
	n := 0
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		if !structural[c] { // most are digits
			r.pos++
			continue
		}
		switch c {
		case '"':
			if err := r.passString(); err != nil {
				return err
			}
			continue
		case '{', '[':
			if n+r.depth >= MaxDepth {
				return fmt.Errorf("%w at byte %d: nested deeper than %d", ErrSyntax, r.pos, MaxDepth)
			}
			stack[n] = c + 2 // '{'+2 == '}', '['+2 == ']'
			n++
		case '}', ']':
			n--
			if stack[n] != c { //nolint:gosec // the first byte opened a bracket, and the last one closed returns
				return r.fail("'" + string(stack[n]) + "'") //nolint:gosec // as above
			}
			if n == 0 {
				r.pos++
				return nil
			}
		}
		r.pos++
	}
	return r.fail("a closing bracket")
}
