package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
)

const (
	svgNamespace = "http://www.w3.org/2000/svg"
	// svgDepth and svgTokens bound an SVG: a browser lays all of it out.
	svgDepth  = 256
	svgTokens = 500_000
)

// looksLikeSVG says that the first element, after byte order mark, declaration, comments and document type, is svg.
func looksLikeSVG(body []byte) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n")
	for range 64 {
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

func after(body []byte, mark string) int {
	i := bytes.Index(body, []byte(mark))
	if i < 0 {
		return -1
	}
	return i + len(mark)
}

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

// inspectSVG reads the whole document: a cut one is broken. What it could do is not judged here; it is served so that it can do nothing.
func inspectSVG(body []byte) (Info, error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.CharsetReader = charset.NewReaderLabel
	decoder.Strict = true
	decoder.Entity = xml.HTMLEntity
	info := Info{Type: SVG}
	depth, root := 0, false
	for range svgTokens {
		token, err := decoder.RawToken()
		switch {
		case errors.Is(err, io.EOF) && root && depth == 0:
			return info, nil
		case err != nil:
			return Info{}, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 && (root || token.Name.Local != "svg" || !inNamespace(token)) {
				return Info{}, fmt.Errorf("%w: the document is no svg element", ErrBroken)
			}
			if depth == 0 {
				root = true
				info.Width, info.Height = sizeOf(token)
			}
			if depth++; depth > svgDepth {
				return Info{}, fmt.Errorf("%w: elements nested deeper than %d", ErrBounds, svgDepth)
			}
		case xml.EndElement:
			if depth--; depth < 0 {
				return Info{}, fmt.Errorf("%w: an end without a beginning", ErrBroken)
			}
		case xml.Directive:
			if err := declarations(token); err != nil {
				return Info{}, err
			}
			decoder.Entity = entities(token)
		}
	}
	return Info{}, fmt.Errorf("%w: more than %d parts", ErrBounds, svgTokens)
}

// inNamespace takes elements without any namespace too: browsers refuse to draw those, and wallets' own renderers draw them.
func inNamespace(element xml.StartElement) bool {
	for _, attribute := range element.Attr {
		own := element.Name.Space == "" && attribute.Name.Space == "" && attribute.Name.Local == "xmlns" ||
			element.Name.Space != "" && attribute.Name.Space == "xmlns" && attribute.Name.Local == element.Name.Space
		if own {
			return attribute.Value == svgNamespace
		}
	}
	return true
}

// declarations refuses entities made of entities: a few lines of them unfold to gigabytes in whatever shows the image.
func declarations(directive xml.Directive) error {
	for rest := []byte(directive); ; {
		i := bytes.Index(rest, []byte("<!ENTITY"))
		if i < 0 {
			return nil
		}
		rest = rest[i+len("<!ENTITY"):]
		end := bytes.IndexByte(rest, '>')
		if end < 0 {
			end = len(rest)
		}
		if bytes.ContainsAny(rest[:end], "&%") || bytes.Contains(rest[:end], []byte("SYSTEM")) || bytes.Contains(rest[:end], []byte("PUBLIC")) {
			return fmt.Errorf("%w: entities that refer to others", ErrBroken)
		}
	}
}

// entities are the ones that a document type declares, beside those of HTML: drawing programs name their namespaces so.
func entities(directive xml.Directive) map[string]string {
	known := make(map[string]string, len(xml.HTMLEntity))
	for name, value := range xml.HTMLEntity {
		known[name] = value
	}
	parts := strings.Split(string(directive), "<!ENTITY")
	for _, part := range parts[1:] {
		name, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		rest = strings.TrimSpace(rest)
		if rest == "" {
			continue
		}
		known[name], _, _ = strings.Cut(rest[1:], rest[:1]) // between quotes
	}
	return known
}

// sizeOf is the size that the root element gives in pixels, else that of its view box.
func sizeOf(root xml.StartElement) (width, height int) {
	for _, attribute := range root.Attr {
		switch {
		case attribute.Name.Space != "":
		case attribute.Name.Local == "width":
			width = pixels(attribute.Value)
		case attribute.Name.Local == "height":
			height = pixels(attribute.Value)
		}
	}
	if width > 0 && height > 0 {
		return width, height
	}
	for _, attribute := range root.Attr {
		if attribute.Name.Local != "viewBox" {
			continue
		}
		box := strings.FieldsFunc(attribute.Value, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' })
		if len(box) == 4 {
			return pixels(box[2]), pixels(box[3])
		}
	}
	return 0, 0
}

func pixels(text string) int {
	value, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "px"), 64)
	if err != nil || !(value > 0) || value > 1e6 {
		return 0
	}
	return int(math.Ceil(value))
}
