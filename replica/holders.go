package replica

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// HolderCount is the last count of the holders of a mint. Amounts are raw.
type HolderCount struct {
	Mint    pubkey.Key
	Holders uint64
	// Top10 is the sum of what the ten owners with the most have. Pools, curves and burnt tokens
	// are left out.
	Top10 float64
	// Balance is the sum of all token accounts of the mint.
	Balance float64
}

// HolderChange is a mint whose holders were counted within 24 hours of block time.
type HolderChange struct {
	Mint pubkey.Key
	// Before is the number of holders at Cut, the begin of the 24 hours; nil: they were not counted
	// before Cut.
	Before *uint64
	Cut    time.Time
}

// Holders are the figures of a token's holders.
type Holders struct {
	Count uint64
	// Change is the number of holders now less the number 24 hours ago; nil: unknown.
	Change *int64
	// Top10Pct is the share of the supply that the ten owners with the most have, in percent; nil:
	// unknown.
	Top10Pct *float64
}

// holderPage is how many tokens share a page.
const holderPage = 256

// percentSteps is the number of steps in which a percent is stored: hundredths. noPercent is stored
// for an unknown percent.
const (
	percentSteps = 100
	noPercent    = math.MaxUint16
)

// holderFigures is a page: the figures of holderPage tokens, 6 bytes each, so that counts of all
// tokens of the chain take some 6 MiB a million. A page is replaced, never changed, so readers need
// no lock.
type holderFigures struct {
	// count is 0 for a token without a count, else the number of holders + 1, up to 2^32-1.
	count [holderPage]uint32
	top10 [holderPage]uint16
}

// holderBefore is how many holders a token had 24 hours ago. Only tokens whose holders were counted
// since then have one, which are few.
type holderBefore struct {
	id, before uint32
}

// unknownBefore is the value of holderBefore.before if the number is not known.
const unknownBefore = math.MaxUint32

// holders are the figures by row id. One goroutine writes.
type holders struct {
	pages   atomic.Pointer[[]*atomic.Pointer[holderFigures]]
	befores atomic.Pointer[[]holderBefore] // sorted by id
}

func (h *holders) page(id uint32) *holderFigures {
	pages := h.pages.Load()
	if at := int(id / holderPage); pages != nil && at < len(*pages) {
		return (*pages)[at].Load()
	}
	return nil
}

// put replaces page number at by a copy that change has changed.
func (h *holders) put(at int, change func(page *holderFigures)) {
	var pages []*atomic.Pointer[holderFigures]
	if current := h.pages.Load(); current != nil {
		pages = *current
	}
	if at >= len(pages) {
		grown := slices.Grow(slices.Clone(pages), at+1-len(pages))
		for len(grown) <= at {
			grown = append(grown, new(atomic.Pointer[holderFigures]))
		}
		pages = grown
		h.pages.Store(&pages)
	}
	next := new(holderFigures)
	if current := pages[at].Load(); current != nil {
		*next = *current
	}
	change(next)
	pages[at].Store(next)
}

// SetHolders replaces the counts of the mints in list; of a mint that is in list twice the last one
// holds. Mints without a row are left out. No two calls may run at the same time.
func (r *Replica) SetHolders(list []HolderCount) {
	type placed struct {
		id    uint32
		count *HolderCount
	}
	var rows []placed
	for i := range list {
		if id, known := r.store.table.find(list[i].Mint); known {
			rows = append(rows, placed{id, &list[i]})
		}
	}
	slices.SortStableFunc(rows, func(a, b placed) int { return cmp.Compare(a.id, b.id) })
	for len(rows) > 0 {
		at := rows[0].id / holderPage
		end := slices.IndexFunc(rows, func(row placed) bool { return row.id/holderPage != at })
		if end < 0 {
			end = len(rows)
		}
		r.store.holders.put(int(at), func(page *holderFigures) {
			for _, row := range rows[:end] {
				page.count[row.id%holderPage] = uint32(min(row.count.Holders, math.MaxUint32-1)) + 1
				page.top10[row.id%holderPage] = r.top10(row.id, row.count)
			}
		})
		rows = rows[end:]
	}
}

// top10 returns the share of the ten owners with the most, in steps of 1/percentSteps percent. It
// is a share of the supply or, if the supply is unknown, of what is in all accounts. If that is 0,
// it returns noPercent.
func (r *Replica) top10(id uint32, count *HolderCount) uint16 {
	whole := count.Balance
	r.Row(id, func(row *Row) {
		if row.Token.Supply == nil {
			return
		}
		if supply, err := strconv.ParseFloat(*row.Token.Supply, 64); err == nil {
			whole = supply
		}
	})
	if whole <= 0 {
		return noPercent
	}
	return uint16(math.Round(min(count.Top10/whole, 1) * 100 * percentSteps))
}

// SetHolderChanges replaces, for all mints, how many holders each one had 24 hours ago. The holders
// of a mint that is missing from list were not counted in these 24 hours, so their number has not
// changed.
func (r *Replica) SetHolderChanges(list []HolderChange) {
	befores := []holderBefore{}
	for i := range list {
		if id, known := r.store.table.find(list[i].Mint); known {
			befores = append(befores, holderBefore{id, r.holdersBefore(id, &list[i])})
		}
	}
	slices.SortFunc(befores, func(a, b holderBefore) int { return cmp.Compare(a.id, b.id) })
	r.store.holders.befores.Store(&befores)
}

// holdersBefore returns how many holders a token had. A token that is younger than the 24 hours had
// none.
func (r *Replica) holdersBefore(id uint32, c *HolderChange) uint32 {
	if c.Before != nil {
		return uint32(min(*c.Before, unknownBefore-1))
	}
	before := uint32(unknownBefore)
	r.Row(id, func(row *Row) {
		if first := row.Token.FirstSeenAt; first != nil && *first >= c.Cut.UnixMilli() {
			before = 0
		}
	})
	return before
}

// Holders returns the figures of a token's holders by its row id; false if they were not counted.
func (r *Replica) Holders(id uint32) (Holders, bool) {
	page := r.store.holders.page(id)
	if page == nil || page.count[id%holderPage] == 0 {
		return Holders{}, false
	}
	figures := Holders{Count: uint64(page.count[id%holderPage] - 1)}
	if top10 := page.top10[id%holderPage]; top10 != noPercent {
		percent := float64(top10) / percentSteps
		figures.Top10Pct = &percent
	}
	befores := r.store.holders.befores.Load()
	if befores == nil {
		return figures, true
	}
	before := figures.Count
	if at, found := slices.BinarySearchFunc(*befores, id, func(b holderBefore, id uint32) int { return cmp.Compare(b.id, id) }); found {
		if (*befores)[at].before == unknownBefore {
			return figures, true
		}
		before = uint64((*befores)[at].before)
	}
	change := int64(figures.Count) - int64(before) // both are below 2^32
	figures.Change = &change
	return figures, true
}

// HolderCount returns the number of a token's holders by its row id, for search.Query.Figure; known
// is false if they were not counted.
func (r *Replica) HolderCount(id uint32) (count float64, known bool) {
	page := r.store.holders.page(id)
	if page == nil || page.count[id%holderPage] == 0 {
		return 0, false
	}
	return float64(page.count[id%holderPage] - 1), true
}
