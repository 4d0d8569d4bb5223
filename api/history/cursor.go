package history

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/schemas"
)

// Cursor is a place between the entries of a mint: right before an entry. The zero Cursor is after
// all entries. Kind and signature tell entries at one position apart, such as several reads of one
// slot.
type Cursor struct {
	position  schemas.Position
	kind      string
	signature string
}

// importedKind is the kind of imported facts in cursors. It sorts them after all other rows at
// their position, so that entries can merge them into these rows.
const importedKind = "~"

// cursorForm is the form of a cursor: slot and order in hexadecimal, kind, signature. Every text of
// this form is a cursor, so that the OpenAPI document can say which texts are accepted.
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

// String returns the cursor as a client gets it; see cursorForm.
func (c Cursor) String() string {
	return fmt.Sprintf("%016x%016x%s.%s", c.position.Slot, c.position.Order, c.kind, c.signature)
}

// ParseCursor is the inverse of String. A text that did not come from String but has the form is a
// cursor as well.
func ParseCursor(text string) (Cursor, error) {
	if !cursorPattern.MatchString(text) {
		return Cursor{}, errCursor
	}
	slot, slotErr := strconv.ParseUint(text[:16], 16, 64)
	order, orderErr := strconv.ParseUint(text[16:32], 16, 64)
	kind, signature, _ := strings.Cut(text[32:], ".")
	return Cursor{position: schemas.Position{Slot: slot, Order: order}, kind: kind, signature: signature}, errors.Join(slotErr, orderErr)
}
