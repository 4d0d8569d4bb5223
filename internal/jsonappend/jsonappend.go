// Package jsonappend appends JSON values to a buffer.
//
// In: strings, numbers. Out: the bytes that encoding/json makes of them. Guarantees: the bytes are
// exactly those of json.Marshal, as tests check. Only a number that is NaN or infinite differs: it
// becomes null, where json.Marshal fails. Nothing is allocated except to grow the buffer.
//
// The token API and the stream encode thousands of values for an answer. encoding/json took most of
// their time. A fast library would do as well, but a file that a test compares with encoding/json
// is less code to trust.
package jsonappend

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// String appends a JSON string. Like encoding/json it escapes what HTML could take for markup, and
// replaces bytes that are not UTF-8.
func String[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if plain[b] {
			i++
			continue
		}
		if b < utf8.RuneSelf {
			dst = escape(append(dst, s[start:i]...), b)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029': // line ends in JavaScript
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

// escape appends the escape sequence of an ASCII character.
func escape(dst []byte, b byte) []byte {
	switch b {
	case '\\', '"':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
	}
}

// plain are the bytes that need no escape.
var plain = func() (table [256]bool) {
	for b := byte(' '); b < utf8.RuneSelf; b++ {
		table[b] = b != '"' && b != '\\' && b != '<' && b != '>' && b != '&'
	}
	return table
}()

// Strings appends an array of strings; null if values is nil.
func Strings(dst []byte, values []string) []byte {
	if values == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, value := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, value)
	}
	return append(dst, ']')
}

// Float appends a number as ECMAScript does: without an exponent from 1e-6 to 1e21. Nil, NaN and
// infinity become null.
func Float(dst []byte, value *float64) []byte {
	if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
		return append(dst, "null"...)
	}
	size := math.Abs(*value)
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, *value, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, *value, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' { // e-09 is e-9
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}
