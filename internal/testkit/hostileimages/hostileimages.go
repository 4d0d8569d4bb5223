// Package hostileimages builds pictures that want to do harm: to whoever decodes them, or to
// whoever looks at them.
//
// In: nothing. Out: named bodies, and what a careful reader makes of each. Guarantees: the same
// bytes each time; none is larger than 8 MiB, the largest picture that is fetched. Tests and the
// attack suite share it.
package hostileimages

// Case is one picture.
type Case struct {
	Name string
	Body []byte
	// Class is how a check fails, as fetch.Class says it; empty for a drawing that is shown after
	// it was cleaned.
	Class string
}

// Classes of failure that the cases have, as in package fetch.
const (
	NotImage    = "not_image"
	BadImage    = "bad_image"
	ImageBounds = "image_bounds"
)

// Mark is in everything hostile that a drawing holds. What is left of a drawing after cleaning must
// not have it, in any case of letters.
const Mark = "evil"

// All are the drawings and the raster pictures.
func All() []Case { return append(Drawings(), Rasters()...) }
