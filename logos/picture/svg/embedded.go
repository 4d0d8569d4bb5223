package svg

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// embedded checks a picture in a data URI and encodes its bytes again, with the media type that
// they really have. An SVG inside an SVG is left out: it would have to be sanitized too. If a
// picture must not be decoded, the whole SVG is refused, because a browser would decode it.
func (p *parser) embedded(uri string) (string, error) {
	head, data, ok := strings.Cut(uri, ",")
	if !ok || p.cfg.Raster == nil {
		return "", nil
	}
	if strings.HasPrefix(strings.ToLower(strings.TrimLeft(head, spaces)), "image/svg") {
		return "", nil
	}
	if strings.Contains(data, "%") {
		unescaped, err := url.PathUnescape(data)
		if err != nil {
			return "", nil // no browser shows it either
		}
		data = unescaped
	}
	body := []byte(data)
	if strings.HasSuffix(strings.ToLower(strings.TrimRight(head, spaces)), ";base64") {
		decoded, err := decodeBase64(data)
		if err != nil {
			return "", nil // no browser shows it either
		}
		body = decoded
	}
	mediaType, pixels, err := p.cfg.Raster(body)
	if err != nil {
		return "", fmt.Errorf("%w: an embedded picture: %w", ErrBounds, err)
	}
	if mediaType == "" {
		return "", nil
	}
	if p.pixels += pixels; p.pixels > p.cfg.Pixels {
		return "", bounds("embedded pictures of more than %d pixels", p.cfg.Pixels)
	}
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(body), nil
}

// decodeBase64 ignores white space, which drawing programs insert, and missing padding.
func decodeBase64(data string) ([]byte, error) {
	data = strings.Map(func(r rune) rune {
		if strings.ContainsRune(spaces+"\f", r) {
			return -1
		}
		return r
	}, data)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(data, "="))
}
