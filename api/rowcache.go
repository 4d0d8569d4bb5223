package api

import (
	"bytes"
	"strings"
	"sync/atomic"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
)

// Bounds of the row cache: some 40 MB with rows and markets as they are, 150 MB at worst.
const (
	cachedRows   = 1 << 15
	cachedRowMax = 2 << 10
)

// rowCache keeps the JSON of rows that are asked for: making a row of the packed copy takes
// microseconds, and the same tokens are asked for again and again. A number has one cell, which it
// shares with others; nobody waits for anybody. A row is kept when it is asked for a second time in
// turn: most of a large registry are not, and keeping them would cost as much as making them, and
// memory for the collector to look through.
//
// It is never staler than the index: the copy changes a row first and then tells the listeners. A
// cell counts the changes of its rows, and a row is kept with the count from before it was read, so
// one that was read before a change and kept after it is never used.
type rowCache struct {
	cells []rowCell
}

type rowCell struct {
	changes atomic.Uint64
	row     atomic.Pointer[cachedRow]
	asked   atomic.Uint32 // the number that was asked for last and had no row here, plus 1
}

type cachedRow struct {
	id      uint32
	changes uint64
	json    []byte
	// supply is in whole tokens; nil: unknown.
	supply *float64
	// What images need of the row.
	logoURL, logoStatus string
	market              atomic.Pointer[cachedMarket]
}

// cachedMarket is the JSON of a market with the supply of the row that it lies in. Figures are
// never changed in place: new ones are another replica.Market. This one keeps its own from being
// freed, so no other can have its address.
type cachedMarket struct {
	of   *replica.Market
	json []byte
}

// appendMarket writes the market of the row as it is now: sixteen figures take as long to write as
// the rest of a batch.
func (r *cachedRow) appendMarket(dst []byte, m *replica.Market) []byte {
	if kept := r.market.Load(); kept != nil && kept.of == m {
		return append(dst, kept.json...)
	}
	from := len(dst)
	dst = appendMarket(dst, m, r.supply)
	r.market.Store(&cachedMarket{of: m, json: bytes.Clone(dst[from:])})
	return dst
}

func newRowCache() *rowCache { return &rowCache{cells: make([]rowCell, cachedRows)} }

func (c *rowCache) cell(id uint32) *rowCell { return &c.cells[id%cachedRows] }

// Apply implements replica.Listener.
func (c *rowCache) Apply(changes []replica.Change) {
	for i := range changes {
		c.cell(changes[i].ID).changes.Add(1)
	}
}

// rowReader is replica.Row.
type rowReader func(id uint32, use func(row *replica.Row)) bool

// row is a member's row as JSON, false when it is none. The JSON is read only; what is not kept is
// appended to buf, and is valid as long as that.
func (c *rowCache) row(id uint32, read rowReader, buf *[]byte) (row, bool) {
	kept, changes := c.kept(id)
	if kept != nil {
		return row{id: id, json: kept.json, supply: kept.supply, kept: kept}, true
	}
	return c.made(id, changes, read, buf)
}

// made is row for one that is not kept.
func (c *rowCache) made(id uint32, changes uint64, read rowReader, buf *[]byte) (found row, ok bool) {
	found.id = id
	ok = read(id, func(r *replica.Row) {
		t := r.Token
		from := len(*buf)
		*buf = encode.Token(*buf, t)
		found.json, found.supply = (*buf)[from:len(*buf):len(*buf)], t.WholeSupply()
		if c.cell(id).asked.Swap(id+1) == id+1 {
			c.keep(id, changes, t, found.json)
		}
	})
	return found, ok
}

// logo is the URL, empty for none, and the status of a member's logo; false when it is no member.
func (c *rowCache) logo(id uint32, read rowReader) (url, status string, ok bool) {
	kept, changes := c.kept(id)
	if kept != nil {
		return kept.logoURL, kept.logoStatus, true
	}
	ok = read(id, func(r *replica.Row) {
		t := r.Token
		if t.LogoURL != nil {
			url = strings.Clone(*t.LogoURL)
		}
		status = strings.Clone(t.LogoStatus)
		if len(url) < cachedRowMax { // else the row is too long too, and would be made for nothing
			c.keep(id, changes, t, encode.Token(nil, t))
		}
	})
	return url, status, ok
}

// kept is the row, if it stands; a row that is made anew is kept with the changes.
func (c *rowCache) kept(id uint32) (row *cachedRow, changes uint64) {
	cell := c.cell(id)
	changes = cell.changes.Load()
	if kept := cell.row.Load(); kept != nil && kept.id == id && kept.changes == changes {
		return kept, changes
	}
	return nil, changes
}

// keep keeps a row, if it is not too long: copies of its own, whatever they are parts of.
func (c *rowCache) keep(id uint32, changes uint64, t *registry.Token, json []byte) {
	if len(json) > cachedRowMax {
		return
	}
	kept := &cachedRow{id: id, changes: changes, json: bytes.Clone(json), supply: t.WholeSupply(), logoStatus: strings.Clone(t.LogoStatus)}
	if t.LogoURL != nil {
		kept.logoURL = strings.Clone(*t.LogoURL)
	}
	c.cell(id).row.Store(kept)
}

// rowOf is the row of a member in a shape; false when it is none. It may lie in buf.
func (s *Server) rowOf(id uint32, sh *shape, buf *[]byte) (row, bool) {
	if sh.evidence {
		token := s.replica.Token(id)
		return row{id: id, token: token}, token != nil
	}
	return s.rows.row(id, s.replica.Row, buf)
}
