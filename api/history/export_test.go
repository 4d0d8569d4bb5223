package history

import "github.com/mintlake/mintlake/schemas"

// CursorAt returns the cursor before everything of a slot.
func CursorAt(slot uint64) Cursor { return Cursor{position: schemas.Position{Slot: slot}, kind: "!"} }
