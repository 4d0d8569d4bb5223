// Package picture tells from its bytes alone what an image is, and makes smaller ones of it.
//
// In: bytes that anyone may have made. Out: what they are, or why they are no image; variants of
// another size and format.
// Guarantees: the media type that a server named does not matter. Pixels, frames, scans and parts
// are counted before any are decoded (Survey), so memory is bounded by Limits whatever a header
// says. Package svg sanitizes SVGs. Pure: no clock, no network, no file. libwebp and libavif write
// WebP and read AVIF, in a WebAssembly sandbox; Go packages decode everything else.
//
// Nothing here stops a decoder that takes too long: package decoder calls Inspect and Make in a
// process that it can kill. No other code should call them.
package picture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"github.com/gen2brain/avif"
	"golang.org/x/image/webp"
)

// Types of images, by content.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
	AVIF = "image/avif"
	BMP  = "image/bmp"
	ICO  = "image/x-icon"
	SVG  = "image/svg+xml"
)

// The reasons why an image is refused.
var (
	// ErrNotImage says that no known kind of image begins like the bytes.
	ErrNotImage = errors.New("not an image")
	// ErrBroken says that the bytes begin like an image and do not decode as one.
	ErrBroken = errors.New("broken image")
	// ErrBounds says that an image has more pixels, frames, scans or parts than the limits allow.
	ErrBounds = errors.New("image is out of bounds")
	// ErrBudget says that decoding an image takes more time or memory than allowed. Only package
	// decoder returns it.
	ErrBudget = errors.New("image takes too much to decode")
)

// Limits bound what is decoded. Zero values take the default.
type Limits struct {
	// Pixels bounds width times height of one image. Default 16,777,216 (4096 x 4096): 64 MiB
	// decoded.
	Pixels int
}

// maxSide is the longest width or height of an image.
const maxSide = 16_384

func (l Limits) withDefaults() Limits {
	l.Pixels = cmp.Or(max(l.Pixels, 0), 4096*4096)
	return l
}

// Info is what Inspect found.
type Info struct {
	// Type is one of the constants of this package.
	Type string
	// Width and Height in pixels; 0 where an SVG does not say.
	Width, Height int
	Animated      bool
	// PerceptualHash is the picture's difference hash; nil for SVG and for pictures of one colour.
	PerceptualHash *uint64
}

// Inspect decodes an image and returns what it is. Errors wrap ErrNotImage, ErrBroken or ErrBounds.
func Inspect(body []byte, limits Limits) (Info, error) {
	kind := Sniff(body)
	switch kind {
	case "":
		return Info{}, ErrNotImage
	case SVG:
		clean, err := cleanSVG(body, limits)
		if err != nil {
			return Info{}, err
		}
		return Info{Type: SVG, Width: clean.Width, Height: clean.Height}, nil
	}
	decoded, err := decode(body, kind, limits.withDefaults())
	if err != nil {
		return Info{}, err
	}
	bounds := decoded.Bounds()
	return Info{
		Type: kind, Width: bounds.Dx(), Height: bounds.Dy(), Animated: animated(body, kind), PerceptualHash: differenceHash(decoded),
	}, nil
}

// decode returns the picture, or the first frame of an animation. Errors wrap ErrBroken or
// ErrBounds.
func decode(body []byte, kind string, limits Limits) (decoded image.Image, err error) {
	defer func() { // a decoder that panics on hostile bytes has met a broken image
		if p := recover(); p != nil {
			decoded, err = nil, fmt.Errorf("%w: decoder panicked", ErrBroken)
		}
	}()
	if _, err := survey(body, kind, limits); err != nil {
		return nil, err
	}
	if kind == WebP {
		if body, err = stillWebP(body, limits); err != nil {
			return nil, err
		}
	}
	if kind != BMP && kind != ICO { // survey has read their sizes
		config, err := configOf(body, kind)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if err := limits.check(config.Width, config.Height); err != nil {
			return nil, err
		}
	}
	reader := bytes.NewReader(body)
	switch kind {
	case PNG:
		decoded, err = png.Decode(reader)
	case JPEG:
		decoded, err = jpeg.Decode(reader)
	case GIF:
		decoded, err = gif.Decode(reader)
	case WebP:
		decoded, err = webp.Decode(reader)
	case AVIF:
		decoded, err = avif.Decode(reader)
	case BMP:
		decoded, err = decodeBMP(body, limits)
	case ICO:
		decoded, err = decodeICO(body, limits)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if decoded == nil || decoded.Bounds().Empty() {
		return nil, fmt.Errorf("%w: no pixels", ErrBroken)
	}
	return decoded, nil
}

func configOf(body []byte, kind string) (image.Config, error) {
	reader := bytes.NewReader(body)
	switch kind {
	case PNG:
		return png.DecodeConfig(reader)
	case JPEG:
		return jpeg.DecodeConfig(reader)
	case GIF:
		return gif.DecodeConfig(reader)
	case WebP:
		return webp.DecodeConfig(reader)
	default:
		return avif.DecodeConfig(reader)
	}
}

func (l Limits) check(width, height int) error {
	switch {
	case width <= 0 || height <= 0:
		return fmt.Errorf("%w: no pixels", ErrBroken)
	case width > maxSide || height > maxSide || width > l.Pixels/height:
		return fmt.Errorf("%w: %d x %d pixels", ErrBounds, width, height)
	}
	return nil
}
