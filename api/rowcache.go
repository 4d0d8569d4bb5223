package api

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/api/search"
	"github.com/mintlake/mintlake/registry"
)

// Bounds of the row cache: some 20 MB with rows as they are, 128 MB at worst.
const (
	cachedRows   = 1 << 15
	cachedRowMax = 2 << 10
)

// rowCache keeps the JSON of rows that are asked for: making a row of the packed copy takes microseconds, and the same tokens are asked for again and
// again. A number has one slot, which it shares with others; nobody waits for anybody. A row is kept when it is asked for a second time in turn: most of
// a large registry are not, and keeping them would cost as much as making them, and memory for the collector to look through.
//
// It is never staler than the index: the copy changes a row first and then tells the listeners. A slot counts the changes of its rows, and a row
// is kept with the count from before it was read, so one that was read before a change and kept after it is never used.
type rowCache struct {
	slots []rowSlot
	rooms sync.Pool // of *[]byte, to make rows in: what is kept is as long as it must be
}

type rowSlot struct {
	changes atomic.Uint64
	row     atomic.Pointer[cachedRow]
	asked   atomic.Uint32 // the number that was asked for last and had no row here, plus 1
}

type cachedRow struct {
	id      uint32
	changes uint64
	json    []byte
	// What images need of the row.
	logoURL, logoStatus string
}

func newRowCache() *rowCache { return &rowCache{slots: make([]rowSlot, cachedRows)} }

func (c *rowCache) slot(id uint32) *rowSlot { return &c.slots[id%cachedRows] }

// Apply implements replica.Listener.
func (c *rowCache) Apply(changes []search.Change) {
	for i := range changes {
		c.slot(changes[i].ID).changes.Add(1)
	}
}

// row is the row of a member, false when it is none. Read only.
func (c *rowCache) row(id uint32, token func(id uint32) *registry.Token) (row, bool) {
	kept, changes := c.kept(id)
	if kept == nil {
		t := token(id)
		if t == nil || c.slot(id).asked.Swap(id+1) != id+1 {
			return row{id: id, token: t}, t != nil
		}
		kept = c.keep(id, changes, t)
	}
	return row{id: id, json: kept.json}, true
}

// logo is the URL, empty for none, and the status of a member's logo; false when it is no member.
func (c *rowCache) logo(id uint32, token func(id uint32) *registry.Token) (url, status string, ok bool) {
	kept, changes := c.kept(id)
	if kept != nil {
		return kept.logoURL, kept.logoStatus, true
	}
	t := token(id)
	if t == nil {
		return "", "", false
	}
	if t.LogoURL != nil {
		url = *t.LogoURL
	}
	if len(url) < cachedRowMax { // else the row is too long too, and would be made for nothing
		c.keep(id, changes, t)
	}
	return url, t.LogoStatus, true
}

// kept is the row, if it stands; a row that is made anew is kept with the changes.
func (c *rowCache) kept(id uint32) (row *cachedRow, changes uint64) {
	slot := c.slot(id)
	changes = slot.changes.Load()
	if kept := slot.row.Load(); kept != nil && kept.id == id && kept.changes == changes {
		return kept, changes
	}
	return nil, changes
}

func (c *rowCache) keep(id uint32, changes uint64, t *registry.Token) *cachedRow {
	room, ok := c.rooms.Get().(*[]byte)
	if !ok {
		room = new([]byte)
	}
	*room = encode.Token((*room)[:0], t)
	made := &cachedRow{id: id, changes: changes, json: bytes.Clone(*room), logoStatus: t.LogoStatus}
	c.rooms.Put(room)
	if len(made.json) > cachedRowMax {
		return made
	}
	if t.LogoURL != nil {
		made.logoURL = strings.Clone(*t.LogoURL) // of its own, whatever text it is a part of
	}
	c.slot(id).row.Store(made)
	return made
}

// rowOf is the row of a member in a shape; false when it is none.
func (s *Server) rowOf(id uint32, sh *shape) (row, bool) {
	if sh.evidence {
		token := s.replica.Token(id)
		return row{id: id, token: token}, token != nil
	}
	return s.rows.row(id, s.replica.Token)
}
