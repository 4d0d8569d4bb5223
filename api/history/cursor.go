package history

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/schemas"
)

// Cursor is a place between the entries of a mint: right before one of them. The zero Cursor stands
// behind everything. Kind and signature tell entries of one position apart: reads of one slot, and
// what an instruction did beside another thing.
type Cursor struct {
	position  schemas.Position
	kind      string
	signature string
}

// importedKind sorts imported facts behind everything else at their position, so that they can be
// merged into it.
const importedKind = "~"

// cursorForm is what a cursor looks like: slot and order in hexadecimal, kind, signature.
// Everything of this form is a cursor, so that the OpenAPI document can say what is taken.
const cursorForm = `^[0-9a-f]{32}([a-z0-9_]{1,48}|~)\.[1-9A-HJ-NP-Za-km-z]{0,88}$`

var (
	errCursor     = errors.New("no cursor of this API")
	cursorPattern = regexp.MustCompile(cursorForm)
)

func cursorOf(row *Row) Cursor {
	kind := row.Kind
	if row.Source == sourceImport {
		kind = importedKind
	}
	return Cursor{position: row.Position, kind: kind, signature: row.Signature}
}

func (c Cursor) zero() bool { return c == Cursor{} }

func (c Cursor) compare(d Cursor) int {
	if n := c.position.Compare(d.position); n != 0 {
		return n
	}
	if n := strings.Compare(c.kind, d.kind); n != 0 {
		return n
	}
	return strings.Compare(c.signature, d.signature)
}

// String is the cursor as a client gets it; see cursorForm.
func (c Cursor) String() string {
	return fmt.Sprintf("%016x%016x%s.%s", c.position.Slot, c.position.Order, c.kind, c.signature)
}

// ParseCursor is the inverse of String. What it takes need not have come from String, but it is a
// place between entries then.
func ParseCursor(text string) (Cursor, error) {
	if !cursorPattern.MatchString(text) {
		return Cursor{}, errCursor
	}
	slot, slotErr := strconv.ParseUint(text[:16], 16, 64)
	order, orderErr := strconv.ParseUint(text[16:32], 16, 64)
	kind, signature, _ := strings.Cut(text[32:], ".")
	return Cursor{position: schemas.Position{Slot: slot, Order: order}, kind: kind, signature: signature}, errors.Join(slotErr, orderErr)
}
