// Package hostileimages builds pictures that harm those who decode them or look at them.
//
// In: nothing. Out: named bodies, and how a check must fail for each. Guarantees: the same bytes
// each time; none is larger than 8 MiB, the largest picture that is fetched. Tests and the attack
// suite share it.
package hostileimages

// Case is one picture.
type Case struct {
	Name string
	Body []byte
	// Class is the fetch.Class with which a check must fail; empty for an SVG that is shown after
	// it was sanitized.
	Class string
}

// Classes of failure that the cases have, as in package fetch.
const (
	NotImage    = "not_image"
	BadImage    = "bad_image"
	ImageBounds = "image_bounds"
)

// Mark is in every hostile part of an SVG. After sanitizing, it must not be left in upper or lower
// case.
const Mark = "evil"

// All returns the SVGs and the raster pictures.
func All() []Case { return append(Drawings(), Rasters()...) }
