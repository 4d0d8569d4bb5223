// Package svg sanitizes SVG documents that anyone may have written, so that they are safe to show.
//
// In: bytes that claim to be an SVG document. Out: another document that draws the same, written
// from the parts that this package allows.
// Guarantees: the result has only elements, attributes and CSS of the lists in this package. So it
// runs no script, follows no link, loads nothing and declares no entity, in a sandbox or without
// one. It is UTF-8, whatever the input was. Memory and time are bounded by Config and by the length
// of the input; what a browser has to draw is bounded too. Pure: no clock, no network, no file.
//
// It is our own code because the sanitizers for Go support HTML only, or are no longer maintained.
// The CSS lexer is tdewolff/parse, the XML parser Go's own.
package svg

import (
	"errors"
	"fmt"
)

// The reasons why a document is refused.
var (
	// ErrBroken says that the document is not well-formed, that its first element is not svg, or
	// that it declares something that no drawing needs.
	ErrBroken = errors.New("broken drawing")
	// ErrBounds says that the document is well-formed, but asks too much of a reader or a browser.
	ErrBounds = errors.New("drawing is out of bounds")
)

// Version is the version of the sanitizer. It must change when a document that an earlier version
// has cleaned may not be clean by the rules of this one. Documents that another version has cleaned
// are cleaned again.
const Version = 1

// Namespace of SVG elements.
const Namespace = "http://www.w3.org/2000/svg"

// Limits of one document. Usual logos have less than a tenth of each.
const (
	maxDepth      = 256     // elements inside each other
	maxElements   = 100_000 // elements
	maxTokens     = 500_000 // elements, texts, comments, instructions
	maxAttributes = 256     // of one element
	// maxExpansion is how many bytes entities may add: drawing programs declare their namespaces as
	// entities.
	maxExpansion = 64 << 10
	// maxDrawn is how many shapes a browser may have to draw when it follows every reference, see
	// weigh.
	maxDrawn = 200_000
	maxID    = 256 // bytes of an id or a reference to one
)

// Raster checks a picture that is embedded as a data URI. It returns the media type that its
// content has, and its pixels. mediaType is empty if the picture is to be left out; err says that
// it must not be decoded.
type Raster func(body []byte) (mediaType string, pixels int, err error)

// Config of Clean.
type Config struct {
	// Raster checks embedded pictures. If it is nil, they are left out.
	Raster Raster
	// Pixels bounds the pixels of all embedded pictures together.
	Pixels int
}

// Drawing is a clean document.
type Drawing struct {
	Body []byte
	// Width and Height in pixels; 0 where the document does not say.
	Width, Height int
}

// Clean sanitizes a document. A document that is cut off is broken. Errors wrap ErrBroken or
// ErrBounds.
func Clean(body []byte, cfg Config) (*Drawing, error) {
	text, err := Text(body)
	if err != nil {
		return nil, err
	}
	root, sheets, err := read(text, &cfg)
	if err != nil {
		return nil, err
	}
	if err := weigh(root, sheets); err != nil {
		return nil, err
	}
	out, err := write(root, 2*len(text)+maxExpansion)
	if err != nil {
		return nil, err
	}
	width, height := sizeOf(root)
	return &Drawing{Body: out, Width: width, Height: height}, nil
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, args...))
}

func bounds(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBounds, fmt.Sprintf(format, args...))
}
