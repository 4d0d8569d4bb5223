package api

import (
	"sync/atomic"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/api/search"
	"github.com/mintlake/mintlake/registry"
)

// Bounds of the row cache: some 20 MB with rows as they are, 64 MB at worst.
const (
	cachedRows   = 1 << 15
	cachedRowMax = 2 << 10
)

// rowCache keeps the JSON of rows that are asked for: making a row of the packed copy takes microseconds, and the same tokens are asked for again and
// again. A number has one slot, which it shares with others; nobody waits for anybody.
//
// It is never staler than the index: the copy changes a row first and then tells the listeners. A slot counts the changes of its rows, and a row
// is kept with the count from before it was read, so one that was read before a change and kept after it is never used.
type rowCache struct {
	slots []rowSlot
}

type rowSlot struct {
	changes atomic.Uint64
	row     atomic.Pointer[cachedRow]
}

type cachedRow struct {
	id      uint32
	changes uint64
	json    []byte
}

func newRowCache() *rowCache { return &rowCache{slots: make([]rowSlot, cachedRows)} }

func (c *rowCache) slot(id uint32) *rowSlot { return &c.slots[id%cachedRows] }

// Apply implements replica.Listener.
func (c *rowCache) Apply(changes []search.Change) {
	for i := range changes {
		c.slot(changes[i].ID).changes.Add(1)
	}
}

// json is the row of a member, nil when it is none. Read only.
func (c *rowCache) json(id uint32, token func(id uint32) *registry.Token) []byte {
	slot := c.slot(id)
	changes := slot.changes.Load()
	if kept := slot.row.Load(); kept != nil && kept.id == id && kept.changes == changes {
		return kept.json
	}
	t := token(id)
	if t == nil {
		return nil
	}
	encoded := encode.Token(make([]byte, 0, encode.TokenSize), t)
	if len(encoded) <= cachedRowMax {
		slot.row.Store(&cachedRow{id, changes, encoded})
	}
	return encoded
}

// rowOf is the row of a member in a shape; false when it is none.
func (s *Server) rowOf(id uint32, sh *shape) (row, bool) {
	if sh.evidence {
		token := s.replica.Token(id)
		return row{id: id, token: token}, token != nil
	}
	encoded := s.rows.json(id, s.replica.Token)
	return row{id: id, json: encoded}, encoded != nil
}
