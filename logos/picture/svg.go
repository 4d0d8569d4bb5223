package picture

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/logos/picture/svg"
)

// looksLikeSVG reports whether the first element is svg. A byte order mark, an XML declaration,
// comments and a document type may come before it.
func looksLikeSVG(body []byte) bool {
	if len(body) > 2 && (body[0] == 0xff && body[1] == 0xfe || body[0] == 0xfe && body[1] == 0xff) {
		body, _ = svg.Text(body) // it begins like UTF-16; empty if it is not valid
	}
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n")
	const maxProlog = 64 // comments and declarations before the first element
	for range maxProlog {
		var end int
		switch {
		case bytes.HasPrefix(body, []byte("<?")):
			end = after(body, "?>")
		case bytes.HasPrefix(body, []byte("<!--")):
			end = after(body, "-->")
		case len(body) > 9 && bytes.EqualFold(body[:9], []byte("<!DOCTYPE")):
			end = afterDoctype(body)
		default:
			name := bytes.TrimPrefix(body, []byte("<"))
			if len(name) == len(body) {
				return false
			}
			name = name[:min(len(name), 64)]
			if i := bytes.IndexAny(name, " \t\r\n/>"); i >= 0 {
				name = name[:i]
			}
			return string(name) == "svg" || bytes.HasSuffix(name, []byte(":svg"))
		}
		if end < 0 {
			return false
		}
		body = bytes.TrimLeft(body[end:], " \t\r\n")
	}
	return false
}

// after returns the index after the first mark in body; -1 if there is none.
func after(body []byte, mark string) int {
	i := bytes.Index(body, []byte(mark))
	if i < 0 {
		return -1
	}
	return i + len(mark)
}

// afterDoctype returns the index after a document type, which may contain > in brackets; -1 if it
// does not end.
func afterDoctype(body []byte) int {
	depth := 0
	for i, c := range body {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == '>' && depth <= 0:
			return i + 1
		}
	}
	return -1
}

// cleanSVG sanitizes an SVG, see package svg. Its errors wrap ErrBroken or ErrBounds of this
// package.
func cleanSVG(body []byte, limits Limits) (*svg.Drawing, error) {
	limits = limits.withDefaults()
	clean, err := svg.Clean(body, svg.Config{Pixels: limits.Pixels, Raster: func(embedded []byte) (string, int, error) {
		kind := Sniff(embedded)
		if kind == "" || kind == SVG {
			return "", 0, nil // svg.Clean leaves it out
		}
		shape, err := survey(embedded, kind, limits)
		return kind, shape.pixels(), err
	}})
	switch {
	case errors.Is(err, ErrBroken), errors.Is(err, ErrBounds): // the error of an embedded picture
		return nil, err
	case errors.Is(err, svg.ErrBounds):
		return nil, fmt.Errorf("%w: %w", ErrBounds, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return clean, nil
}
