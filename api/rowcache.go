package api

import (
	"bytes"
	"strings"
	"sync/atomic"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
)

// Bounds of the row cache: how many rows it keeps, and how long the JSON of a row may be in bytes.
// It takes some 40 MB with typical rows and markets, 150 MB at worst.
const (
	cachedRows   = 1 << 15
	cachedRowMax = 2 << 10
)

// rowCache keeps the JSON of rows: making a row from the packed replica takes microseconds, and the
// same tokens are requested again and again. A row id has one cell, which it shares with other ids.
// Nothing is locked. A cell keeps a row at its second request, unless another row that is not kept
// was requested of the cell in between. Most rows of a large registry are not requested so often.
// To keep them would cost as much as to make them, and memory that the garbage collector must scan.
//
// The cache returns no row from before a change that Apply was called with. A cell counts the
// changes of its rows, and a row is kept with the count from before it was read. The replica
// changes a row first and then calls Apply. So a row that was read before a change, and kept after
// it, is never used.
type rowCache struct {
	cells []rowCell
}

type rowCell struct {
	changes atomic.Uint64
	row     atomic.Pointer[cachedRow]
	asked   atomic.Uint32 // 1 + the row id that was requested last without being kept; 0: none was
}

type cachedRow struct {
	id      uint32
	changes uint64
	json    []byte
	// supply is in whole tokens; nil if unknown.
	supply *float64
	// The logo's URL and status, and lacksDocument of the token: images need them.
	logoURL, logoStatus string
	lacksDocument       bool
	// market is the market's JSON that was written last; nil at first.
	market atomic.Pointer[cachedMarket]
}

// cachedMarket is the JSON of a market, made with the supply of the row that it belongs to. It is
// valid for one replica.Market, which is recognized by its address: figures are never changed in
// place, and new figures are another replica.Market. While market points to the old figures, they
// are not freed, so no other figures get their address.
type cachedMarket struct {
	market *replica.Market
	json   []byte
}

// appendMarket writes the market m of the row, and keeps its JSON: to write sixteen figures takes
// as long as the rest of a row in a batch.
func (r *cachedRow) appendMarket(dst []byte, m *replica.Market) []byte {
	if kept := r.market.Load(); kept != nil && kept.market == m {
		return append(dst, kept.json...)
	}
	from := len(dst)
	dst = appendMarket(dst, m, r.supply)
	r.market.Store(&cachedMarket{market: m, json: bytes.Clone(dst[from:])})
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

// rowReader is the type of replica.Replica.Row.
type rowReader func(id uint32, use func(row *replica.Row)) bool

// row returns a member's row as JSON; false if id is no member. The caller must not change the
// JSON. If the row is not kept, its JSON is appended to buf, and is valid as long as buf is.
func (c *rowCache) row(id uint32, read rowReader, buf *[]byte) (row, bool) {
	kept, changes := c.kept(id)
	if kept != nil {
		return row{id: id, json: kept.json, supply: kept.supply, kept: kept, lacksDocument: kept.lacksDocument}, true
	}
	return c.made(id, changes, read, buf)
}

// made makes a row that is not kept, and returns it as row does. It keeps the row if the id was
// also the last one for which made was called in its cell. changes is the cell's count from before
// the row is read.
func (c *rowCache) made(id uint32, changes uint64, read rowReader, buf *[]byte) (found row, ok bool) {
	found.id = id
	ok = read(id, func(r *replica.Row) {
		t := r.Token
		from := len(*buf)
		*buf = encode.Token(*buf, t)
		found.json, found.supply, found.lacksDocument = (*buf)[from:len(*buf):len(*buf)], t.WholeSupply(), lacksDocument(t)
		if c.cell(id).asked.Swap(id+1) == id+1 {
			c.keep(id, changes, t, found.json)
		}
	})
	return found, ok
}

// lacksDocument returns whether the token's metadata document could most likely not be read: the
// token has a metadata URI, and nothing of what documents say.
func lacksDocument(t *registry.Token) bool {
	return t.MetaplexURI != nil && t.LogoURL == nil && t.Description == nil && t.ExternalURL == nil && len(t.Extensions) == 0
}

// logo returns the URL of a member's logo, empty if there is none, its status, and what
// lacksDocument returns for the token. ok is false if id is no member. Unlike row, it keeps the row
// at the first request: images are requested again and again.
func (c *rowCache) logo(id uint32, read rowReader) (url, status string, lacking, ok bool) {
	kept, changes := c.kept(id)
	if kept != nil {
		return kept.logoURL, kept.logoStatus, kept.lacksDocument, true
	}
	ok = read(id, func(r *replica.Row) {
		t := r.Token
		if t.LogoURL != nil {
			url = strings.Clone(*t.LogoURL)
		}
		status, lacking = strings.Clone(t.LogoStatus), lacksDocument(t)
		if len(url) < cachedRowMax { // otherwise the row, which has the URL, is too long to be kept
			c.keep(id, changes, t, encode.Token(nil, t))
		}
	})
	return url, status, lacking, ok
}

// kept returns the row that the cell keeps, if it is of this id and valid, else nil. changes is the
// count of changes with which a row that is read from now on must be kept.
func (c *rowCache) kept(id uint32) (row *cachedRow, changes uint64) {
	cell := c.cell(id)
	changes = cell.changes.Load()
	if kept := cell.row.Load(); kept != nil && kept.id == id && kept.changes == changes {
		return kept, changes
	}
	return nil, changes
}

// keep keeps a copy of a row, unless it is too long.
func (c *rowCache) keep(id uint32, changes uint64, t *registry.Token, json []byte) {
	if len(json) > cachedRowMax {
		return
	}
	kept := &cachedRow{id: id, changes: changes, json: bytes.Clone(json), supply: t.WholeSupply(), logoStatus: strings.Clone(t.LogoStatus),
		lacksDocument: lacksDocument(t)}
	if t.LogoURL != nil {
		kept.logoURL = strings.Clone(*t.LogoURL)
	}
	c.cell(id).row.Store(kept)
}

// rowOf returns the row of a member in a shape; false if id is no member. The row's JSON may lie in
// buf.
func (s *Server) rowOf(id uint32, sh *shape, buf *[]byte) (row, bool) {
	if sh.evidence {
		token := s.replica.Token(id)
		return row{id: id, token: token, lacksDocument: token != nil && lacksDocument(token)}, token != nil
	}
	return s.rows.row(id, s.replica.Row, buf)
}
