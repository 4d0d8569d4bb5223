package svg

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// Text returns the document in UTF-8, without byte order mark and XML declaration. The encoding is
// that of the byte order mark, or else that of the declaration, or else UTF-8:
// https://www.w3.org/TR/xml/#sec-guessing. The result is at most three times as long as the input.
func Text(body []byte) ([]byte, error) {
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(body, []byte{0xef, 0xbb, 0xbf}):
		body = body[3:]
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}), bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		from = unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM)
	default:
		from = declared(body)
	}
	if from != nil {
		decoded, err := from.NewDecoder().Bytes(body)
		if err != nil {
			return nil, broken("its encoding: %v", err)
		}
		body = decoded
	}
	body = bytes.TrimLeft(body, spaces)
	if _, end := declaration(body); end > 0 {
		body = body[end:]
	}
	return body, nil
}

const spaces = " \t\r\n"

// declaration returns the XML declaration at the beginning, and the index after it; 0 if there is
// none.
func declaration(body []byte) (text string, end int) {
	head := body[:min(len(body), 512)]
	if !bytes.HasPrefix(head, []byte("<?xml")) || len(head) < 6 || !strings.ContainsRune(spaces, rune(head[5])) {
		return "", 0
	}
	i := bytes.Index(head, []byte("?>"))
	if i < 0 {
		return "", 0
	}
	return string(head[:i]), i + len("?>")
}

// declared returns the encoding that the declaration names; nil for UTF-8, and for a name that is
// not known. It is nil for UTF-16 too: a document whose declaration can be read as ASCII cannot be
// UTF-16.
func declared(body []byte) encoding.Encoding {
	text, _ := declaration(bytes.TrimLeft(body, spaces))
	_, rest, ok := strings.Cut(text, "encoding")
	if !ok {
		return nil
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, spaces), "=")
	rest = strings.TrimLeft(rest, spaces)
	if !ok || rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return nil
	}
	label, _, _ := strings.Cut(rest[1:], rest[:1])
	found, name := charset.Lookup(label)
	if name == "utf-8" || strings.HasPrefix(name, "utf-16") {
		return nil
	}
	return found
}
