package picture

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
)

// differenceHash returns the 64-bit dHash of a picture: the picture is scaled to nine by eight grey
// cells, and each bit is set if a cell is darker than the one to its right. Copies that were
// scaled, recompressed or slightly recoloured differ in few bits. It returns nil if all cells are
// about equally bright, as in a picture of one colour: the hash of such a picture is noise.
// http://www.hackerfactor.com/blog/index.php?/archives/529-Kind-of-Like-That.html
//
// It is our own code because the libraries for it depend on an image scaler that is no longer
// maintained.
func differenceHash(picture image.Image) *uint64 {
	cells := image.NewRGBA(image.Rect(0, 0, 9, 8))
	// Transparent parts count as white.
	draw.Draw(cells, cells.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.BiLinear.Scale(cells, cells.Bounds(), scalable(picture), picture.Bounds(), draw.Over, nil)
	var hash uint64
	flat := true
	first := grey(cells, 0, 0)
	for y := range 8 {
		for x := range 8 {
			left, right := grey(cells, x, y), grey(cells, x+1, y)
			hash <<= 1
			if left < right {
				hash |= 1
			}
			flat = flat && near(left, first) && near(right, first)
		}
	}
	if flat {
		return nil
	}
	return &hash
}

// grey returns the luma of a cell (ITU-R BT.601) times 1000.
func grey(cells *image.RGBA, x, y int) int {
	c := cells.RGBAAt(x, y)
	return 299*int(c.R) + 587*int(c.G) + 114*int(c.B)
}

// oneColour is how much the lumas of two cells may differ and still count as equal: two of 255
// levels, as compression changes colours a little.
const oneColour = 2 * 1000

// near reports whether two cells are about equally bright.
func near(a, b int) bool { return a-b <= oneColour && b-a <= oneColour }

// scalable returns the picture in a form that the scaler reads fast.
func scalable(picture image.Image) image.Image {
	switch picture.(type) {
	case *image.RGBA, *image.NRGBA, *image.YCbCr, *image.Gray:
		return picture
	}
	bounds := picture.Bounds()
	out := image.NewRGBA(bounds)
	draw.Draw(out, bounds, picture, bounds.Min, draw.Src)
	return out
}
