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

// sizes are the sizes that variants have. A request for another size gets the next larger one, so
// each picture has few variants.
var sizes = []int{32, 48, 64, 96, 128, 192, 256, 384, 512}

// Qualities of lossy variants, out of 100.
const (
	qualityJPEG = 85
	qualityWebP = 80
	// methodWebP is libwebp's effort from 0 to 6. Above 1 small pictures get little smaller and
	// take much longer.
	methodWebP = 1
)

// Variant is a form of a picture. The zero value is the picture itself.
type Variant struct {
	// Size is the side in pixels of the square that the picture is scaled down into, one of the
	// sizes of BoxSize. 0 means the original size. Pictures keep their proportions and are never
	// enlarged.
	Size int
	// Type is PNG or WebP. Empty means the picture's own type, or PNG for a type that is not
	// written (GIF, AVIF).
	Type string
}

// BoxSize returns the next larger size that variants have: at most 512, and 0 if asked is 0 or
// less.
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

// Make makes a variant of an image of the given type, and returns it with its own type. An SVG has
// one variant only, the sanitized one, because browsers scale it. Of an animation Make takes the
// first frame. If the variant would be the picture unchanged, Make returns body. Errors wrap
// ErrBroken or ErrBounds.
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
		// The picture is rotated after it was scaled: that costs less, and a square fits the
		// picture in either orientation.
		small = upright(small, orientation(body))
	}
	if small == decoded && target == kind && !animated(body, kind) {
		return body, kind, nil
	}
	out, err := encode(small, target)
	return out, target, err
}

// fit scales a picture down into a square of size by size pixels; 0 means no limit.
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

// shrink halves a picture as long as it stays at least twice as large as wanted. Each new pixel is
// the mean of four. The scaler would average these pixels too, but it takes longer: its time grows
// with the pixels that it reads.
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

// premultiplied returns the picture as RGBA with its upper left corner at 0, 0.
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
