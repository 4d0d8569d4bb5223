package fetch

import (
	"encoding/base64"
	"net/url"
	"strings"
)

type dataPayload struct {
	contentType string
	body        []byte
}

// parseDataURI reads a data URI (RFC 2397) of at most limit bytes of payload.
func parseDataURI(uri string, limit int64) (*dataPayload, error) {
	// Percent-encoding makes a text three times as long at most, base64 a third longer. The rest is
	// for the media type.
	if int64(len(uri)) > 3*limit+1024 {
		return nil, failure(ClassTooLarge, "data URI over %d bytes", limit)
	}
	header, payload, ok := strings.Cut(uri[len("data:"):], ",")
	if !ok {
		return nil, failure(ClassBadURL, "data URI without a comma")
	}
	contentType, isBase64 := header, false
	if i := strings.LastIndexByte(header, ';'); i >= 0 && strings.EqualFold(strings.TrimSpace(header[i+1:]), "base64") {
		contentType, isBase64 = header[:i], true
	}
	text, err := url.PathUnescape(payload)
	if err != nil {
		// Data URIs that people write by hand may have a % that encodes nothing.
		text = payload
	}
	body := []byte(text)
	if isBase64 {
		if body, err = decodeBase64(text); err != nil {
			return nil, failure(ClassBadURL, "data URI is no base64")
		}
	}
	if int64(len(body)) > limit {
		return nil, failure(ClassTooLarge, "data URI over %d bytes", limit)
	}
	return &dataPayload{contentType: contentType, body: body}, nil
}

// decodeBase64 accepts the standard and the URL alphabet, with and without padding, and ignores
// white space, as browsers do.
func decodeBase64(text string) ([]byte, error) {
	text = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, text)
	return base64.RawStdEncoding.DecodeString(text)
}
