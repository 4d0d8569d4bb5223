package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"

	"github.com/gen2brain/webp"
	"golang.org/x/image/draw"
)

// Sizes are the boxes that variants are made for: what is asked for is raised to the next one, so
// that a picture has few variants.
var sizes = []int{32, 48, 64, 96, 128, 192, 256, 384, 512}

// Qualities of lossy variants, out of 100.
const (
	qualityJPEG = 85
	qualityWebP = 80
	// methodWebP is libwebp's effort from 0 to 6; beyond 1 small pictures get hardly smaller and
	// much slower.
	methodWebP = 1
)

// Variant is a form of a picture. The zero value is the picture itself.
type Variant struct {
	// Size of the box in pixels that the picture fits into, its proportions kept, one of the sizes
	// of BoxSize; 0 = as it is. Pictures are never made larger.
	Size int
	// Type is PNG or WebP; empty: like the picture, or PNG where that kind is not written (GIF,
	// AVIF).
	Type string
}

// BoxSize is the next larger size that variants have, 512 for anything beyond, 0 for 0 and less.
func BoxSize(asked int) int {
	if asked <= 0 {
		return 0
	}
	for _, size := range sizes {
		if asked <= size {
			return size
		}
	}
	return sizes[len(sizes)-1]
}

// Make writes a variant of an image of the given type and returns it with its own type. A drawing
// scales by itself: its only variant is the clean one. Of an animation the first frame is taken.
// Errors wrap ErrBroken or ErrBounds.
func Make(body []byte, kind string, variant Variant, limits Limits) ([]byte, string, error) {
	if kind == SVG {
		clean, err := cleanSVG(body, limits)
		if err != nil {
			return nil, "", err
		}
		return clean.Body, SVG, nil
	}
	if variant == (Variant{}) {
		return body, kind, nil
	}
	decoded, err := decode(body, kind, limits.withDefaults())
	if err != nil {
		return nil, "", err
	}
	target := variant.Type
	if target == "" {
		target = kind
	}
	if target != JPEG && target != WebP {
		target = PNG
	}
	small := fit(decoded, variant.Size)
	if kind == JPEG {
		// the box is square: turning a small picture costs less
		small = upright(small, orientation(body))
	}
	if small == decoded && target == kind && !animated(body, kind) {
		return body, kind, nil
	}
	out, err := encode(small, target)
	return out, target, err
}

// fit scales a picture down into a box of size by size; 0 is no box.
func fit(picture image.Image, size int) image.Image {
	width, height := picture.Bounds().Dx(), picture.Bounds().Dy()
	if size <= 0 || width <= size && height <= size {
		return picture
	}
	w, h := size, size
	if width > height {
		h = max(1, (height*size+width/2)/width)
	} else {
		w = max(1, (width*size+height/2)/height)
	}
	picture = shrink(picture, w, h)
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(out, out.Bounds(), scalable(picture), picture.Bounds(), draw.Src, nil)
	return out
}

// shrink halves a picture by the mean of four pixels while it stays at least twice as large as
// wanted: the scaler's time grows with what it reads, and what is lost there is lost in the end
// anyway.
func shrink(picture image.Image, w, h int) image.Image {
	for picture.Bounds().Dx() >= 4*w && picture.Bounds().Dy() >= 4*h {
		source := premultiplied(picture)
		half := image.NewRGBA(image.Rect(0, 0, source.Rect.Dx()/2, source.Rect.Dy()/2))
		for y := range half.Rect.Dy() {
			upper := source.Pix[2*y*source.Stride:]
			lower := source.Pix[(2*y+1)*source.Stride:]
			row := half.Pix[y*half.Stride : y*half.Stride+4*half.Rect.Dx()]
			for i := range row {
				at := i/4*8 + i%4
				row[i] = byte((uint(upper[at]) + uint(upper[at+4]) + uint(lower[at]) + uint(lower[at+4]) + 2) / 4)
			}
		}
		picture = half
	}
	return picture
}

// premultiplied is the picture as RGBA whose pixels begin at its rectangle's corner.
func premultiplied(picture image.Image) *image.RGBA {
	if own, ok := picture.(*image.RGBA); ok && own.Rect.Min == (image.Point{}) {
		return own
	}
	bounds := picture.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(out, out.Bounds(), picture, bounds.Min, draw.Src)
	return out
}

func encode(picture image.Image, kind string) ([]byte, error) {
	var out bytes.Buffer
	var err error
	switch kind {
	case JPEG:
		err = jpeg.Encode(&out, picture, &jpeg.Options{Quality: qualityJPEG})
	case WebP:
		err = webp.Encode(&out, picture, webp.Options{Quality: qualityWebP, Method: methodWebP})
	default:
		err = png.Encode(&out, picture)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: encode: %w", ErrBroken, err)
	}
	return out.Bytes(), nil
}
