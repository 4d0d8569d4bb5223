// Package svg makes a drawing that anyone may have written safe to show.
//
// In: bytes that claim to be an SVG document. Out: another document that draws the same, written
// anew from what this package understood.
// Guarantees: the result holds only elements, attributes and CSS of the lists in this package, so
// it runs no script, follows no link, loads nothing and declares no entity, in a sandbox or without
// one. It is UTF-8, whatever the input was. Memory and time are bounded by Limits and by the length
// of the input; what a browser has to draw is bounded too. Pure: no clock, no network, no file.
//
// It is ours because the sanitizers for Go know HTML only, or are no longer kept. The CSS lexer is
// tdewolff/parse, the XML parser Go's own.
package svg

import (
	"errors"
	"fmt"
)

// Why a document is refused.
var (
	// ErrBroken: not a well-formed document whose first element is svg, or one that declares what
	// no drawing needs.
	ErrBroken = errors.New("broken drawing")
	// ErrBounds: well-formed, and beyond what a reader or a browser should be asked to take.
	ErrBounds = errors.New("drawing is out of bounds")
)

// Version changes when a document that was clean may no longer be: what was cleaned by another
// version is cleaned again.
const Version = 1

// Namespace of SVG elements.
const Namespace = "http://www.w3.org/2000/svg"

// Bounds of one document. Logos as drawing programs write them stay below a tenth of each.
const (
	maxDepth      = 256     // elements inside each other
	maxElements   = 100_000 // elements
	maxTokens     = 500_000 // elements, texts, comments, instructions
	maxAttributes = 256     // of one element
	// maxExpansion is how many bytes entities may add: drawing programs name their namespaces by
	// entities.
	maxExpansion = 64 << 10
	// maxDrawn is what a browser has to draw, in elements, when every reference is followed. See
	// weigh.
	maxDrawn = 200_000
	maxID    = 256 // bytes of an id or a reference to one
)

// Raster judges a picture that is embedded as a data URI: its media type by its content, or why it
// must not be decoded. pixels is what it takes.
type Raster func(body []byte) (mediaType string, pixels int, err error)

// Config of Clean.
type Config struct {
	// Raster judges embedded pictures. Nil refuses all of them.
	Raster Raster
	// Pixels that all embedded pictures may have together.
	Pixels int
}

// Drawing is a clean document.
type Drawing struct {
	Body []byte
	// Width and Height in pixels; 0 where the document does not say.
	Width, Height int
}

// Clean reads a whole document and writes it anew. A document that is cut off is broken. Errors
// wrap ErrBroken or ErrBounds.
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
