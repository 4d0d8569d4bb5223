package packed

import (
	"encoding/base32"
	"encoding/base64"
	"strings"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxSpans is how many values of a state later ones can refer to.
const maxSpans = 64

// textPacker packs the texts of one state, one after the other.
type textPacker struct {
	// spans are the values so far that later ones can refer to by number: each text that is not
	// JSON, and the values inside JSON.
	spans []string
}

// append appends the packed text and remembers its values. The text must have no control
// characters.
func (p *textPacker) append(dst []byte, text string) []byte {
	if len(text) >= minSpan && text[0] != '{' {
		if n := p.span(text); n >= 0 && p.spans[n] == text {
			return append(dst, codeSpan, byte(n))
		}
	}
	from, begun := 0, len(text) > 0 && text[0] != '{' // a value has begun at from
	fresh := begun                                    // an earlier value or an address may follow
	for at := 0; at < len(text); {
		rest := text[at:]
		if fresh {
			if grown, size := p.address(dst, rest, begun && at > 0); size > 0 {
				dst, at, fresh = grown, at+size, false
				continue
			}
		}
		n, ok := wordAt(rest)
		if !ok {
			dst = append(dst, rest[0])
			fresh = rest[0] == '/'
			at++
			continue
		}
		word := dictionary[n]
		if begun && closes(word) {
			p.remember(text[from:at])
			begun = false
		}
		if n < directWords {
			dst = append(dst, firstWord+n)
		} else {
			dst = append(dst, codeWord, n)
		}
		at += len(word)
		if opens(word) {
			from, begun = at, true
		}
		fresh = word[len(word)-1] == '/' || opens(word)
	}
	if begun {
		p.remember(text[from:])
	}
	return dst
}

// minSpan is the length from which a value is remembered: a reference takes two bytes.
const minSpan = 3

// remember adds a value to spans, so that later ones can refer to it, if it is long enough and
// there is room.
func (p *textPacker) remember(value string) {
	if len(value) >= minSpan && len(p.spans) < maxSpans {
		p.spans = append(p.spans, value)
	}
}

// span returns the number of the longest remembered value that text begins with, -1 if there is
// none.
func (p *textPacker) span(text string) int {
	best := -1
	for n, span := range p.spans {
		if strings.HasPrefix(text, span) && (best < 0 || len(span) > len(p.spans[best])) {
			best = n
		}
	}
	return best
}

// address appends a code for the beginning of text, and returns how long the part is for which it
// stands; 0 if there is no code. There are codes for an earlier value, which is used if mayRefer is
// true, and for 32 bytes that are written as a CID, in base64url or in base58.
func (p *textPacker) address(dst []byte, text string, mayRefer bool) ([]byte, int) {
	if mayRefer {
		if n := p.span(text); n >= 0 {
			return append(dst, codeSpan, byte(n)), len(p.spans[n])
		}
	}
	switch {
	case strings.HasPrefix(text, "Qm") && len(text) >= cidLength:
		if raw, err := base58.Decode(text[:cidLength]); err == nil && len(raw) == len(cidHead)+pubkey.Size && [2]byte(raw) == cidHead {
			return append(append(dst, codeCIDv0), raw[len(cidHead):]...), cidLength
		}
	case strings.HasPrefix(text, "bafkrei"):
		return appendCIDv1(dst, codeRaw, text)
	case strings.HasPrefix(text, "bafybei"):
		return appendCIDv1(dst, codeDAG, text)
	case run(text) == base64Length:
		var digest [pubkey.Size]byte
		if _, err := base64.RawURLEncoding.Strict().Decode(digest[:], []byte(text[:base64Length])); err == nil {
			return append(append(dst, codeBase64), digest[:]...), base64Length
		}
	}
	if size := run(text); size >= pubkey.Size && size <= pubkey.MaxText {
		if key, err := pubkey.Parse(text[:size]); err == nil {
			return append(append(dst, codeKey), key[:]...), size
		}
	}
	return dst, 0
}

const (
	// A CIDv0 is a multihash in base58: 0x12 (SHA-256), 0x20 (32 bytes), the digest.
	// https://github.com/multiformats/cid
	cidLength = 46
	// A CIDv1 in base32: version 1, codec 0x55 (raw) or 0x70 (DAG-PB), then the multihash.
	cidV1Length  = 59
	base64Length = 43
)

// cidHead is the multihash of a CIDv0 before its digest.
var cidHead = [2]byte{0x12, 0x20}

// cidV1Heads has the bytes before the digest of a CIDv1, by its code.
var cidV1Heads = map[byte][4]byte{codeRaw: {1, 0x55, 0x12, 0x20}, codeDAG: {1, 0x70, 0x12, 0x20}}

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// appendCIDv1 appends code and the digest of the CIDv1 that text begins with. It returns how long
// the CID is in text, or 0 if encoding the digest would not give the same letters again.
func appendCIDv1(dst []byte, code byte, text string) ([]byte, int) {
	if len(text) < cidV1Length {
		return dst, 0
	}
	var raw [40]byte
	n, err := base32Lower.Decode(raw[:], []byte(text[1:cidV1Length]))
	if err != nil || n != 36 || [4]byte(raw[:4]) != cidV1Heads[code] {
		return dst, 0
	}
	var again [cidV1Length - 1]byte
	// The letters have two bits more than the 36 bytes; the decoder ignores these.
	if base32Lower.Encode(again[:], raw[:n]); string(again[:]) != text[1:cidV1Length] {
		return dst, 0
	}
	return append(append(dst, code), raw[4:n]...), cidV1Length
}

// run returns how many base64url characters text begins with. It stops at base64Length+2, which is
// longer than any key.
func run(text string) int {
	n := 0
	for n < len(text) && n < base64Length+2 {
		c := text[n]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			break
		}
		n++
	}
	return n
}

// textReader unpacks the texts of one state, one after the other, into one buffer.
type textReader struct {
	out   []byte
	spans [][2]int32 // where in out the values lie that textPacker remembers: from, to
}

func (r *textReader) reset() { r.out, r.spans = r.out[:0], r.spans[:0] }

// read appends the text that packed holds.
func (r *textReader) read(packed []byte) {
	first := len(r.out)
	from, begun := first, true
	for at := 0; at < len(packed); {
		code := packed[at]
		at++
		switch {
		case code > maxCode:
			r.out = append(r.out, code)
		case code >= firstWord:
			from, begun = r.word(dictionary[code-firstWord], first, from, begun)
		case code == codeWord:
			from, begun = r.word(dictionary[packed[at]], first, from, begun)
			at++
		case code == codeSpan:
			span := r.spans[packed[at]]
			r.out = append(r.out, r.out[span[0]:span[1]]...)
			if at++; at == len(packed) && at == 2 {
				return // the whole text is an earlier one
			}
		default:
			r.address(code, packed[at:at+pubkey.Size])
			at += pubkey.Size
		}
	}
	if begun {
		r.remember(first, from)
	}
}

// word appends a word of the dictionary, which may end a value and begin the next one. first is
// where the text begins in out. If begun, a value began at from and has not ended. word returns
// from and begun as they are after the word.
func (r *textReader) word(word string, first, from int, begun bool) (int, bool) {
	if begun && closes(word) {
		r.remember(first, from)
		begun = false
	}
	r.out = append(r.out, word...)
	if opens(word) {
		return len(r.out), true
	}
	return from, begun
}

// remember adds the value from the offset from to the end of out to spans, in the cases in which
// textPacker adds it. first is where the text begins in out. If the text begins with a brace, it
// holds no value before the first word that opens one.
func (r *textReader) remember(first, from int) {
	if len(r.out)-from < minSpan || len(r.spans) >= maxSpans || from == first && r.out[first] == '{' {
		return
	}
	r.spans = append(r.spans, [2]int32{int32(from), int32(len(r.out))})
}

// address appends the text of 32 bytes in the form of a code.
func (r *textReader) address(code byte, digest []byte) {
	switch code {
	case codeKey:
		r.out = pubkey.Key(digest).Append(r.out)
	case codeBase64:
		r.out = base64.RawURLEncoding.AppendEncode(r.out, digest)
	case codeCIDv0:
		r.out = append(r.out, base58.Encode(append(cidHead[:], digest...))...)
	default:
		var raw [36]byte
		head := cidV1Heads[code]
		copy(raw[:], head[:])
		copy(raw[4:], digest)
		r.out = base32Lower.AppendEncode(append(r.out, 'b'), raw[:])
	}
}
