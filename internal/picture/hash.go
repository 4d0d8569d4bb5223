package picture

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
)

// differenceHash is the 64-bit dHash of a picture: nine by eight cells of grey, each bit says that
// a cell is darker than the one to its right. Copies that were scaled, recompressed or slightly
// recoloured differ in few bits. Nil when no cell differs from another: all such pictures would be
// copies of each other.
// http://www.hackerfactor.com/blog/index.php?/archives/529-Kind-of-Like-That.html
//
// It is ours because the libraries that have it rest on a resizer that is no longer kept.
func differenceHash(picture image.Image) *uint64 {
	cells := image.NewRGBA(image.Rect(0, 0, 9, 8))
	// what is transparent is seen on white
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

// grey is the luma of a cell, ITU-R BT.601 in thousandths.
func grey(cells *image.RGBA, x, y int) int {
	c := cells.RGBAAt(x, y)
	return 299*int(c.R) + 587*int(c.G) + 114*int(c.B)
}

// near forgives two steps of 255: what compression makes of one colour.
func near(a, b int) bool { return a-b < 2001 && b-a < 2001 }

// scalable is the picture in a form that the scaler reads fast.
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
