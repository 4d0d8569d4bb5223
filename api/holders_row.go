package api

import (
	"math"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/internal/jsonappend"
	"github.com/mintlake/mintlake/replica"
)

// Names of members of a row. fieldHolders is also a value of the parameter sort.
const fieldHolders, fieldTop10 = "holders", "top10_pct"

// holderFields are the members that appendHolders writes, in order. The parameter fields accepts
// each of these names.
var holderFields = []string{fieldHolders, "holders_change_24h", fieldTop10}

// appendHolders writes figures of the holders: all of them if the market is wanted and this node
// counts holders, else those that fields names. They are null if the holders of the mint were not
// counted.
func (w *rowWriter) appendHolders(dst []byte, r *row) []byte {
	all := w.market && w.holdersOf != nil
	if !all && len(w.holders) == 0 {
		return dst
	}
	var counted *replica.Holders
	if w.holdersOf != nil {
		if h, known := w.holdersOf(r.id); known {
			counted = &h
		}
	}
	for _, name := range holderFields {
		if all || slices.Contains(w.holders, name) {
			dst = appendHolder(appendName(dst, name), name, counted)
		}
	}
	return dst
}

// appendHolder writes the figure with this name; null if counted is nil.
func appendHolder(dst []byte, name string, counted *replica.Holders) []byte {
	switch {
	case counted == nil:
	case name == fieldHolders:
		return strconv.AppendUint(dst, counted.Count, 10)
	case name == fieldTop10:
		return jsonappend.Float(dst, counted.Top10Pct)
	case counted.Change != nil:
		return strconv.AppendInt(dst, *counted.Change, 10)
	}
	return append(dst, "null"...)
}

// queryHolders reads min_holders and max_top10_pct and returns the filter; nil if both are absent.
// A token whose holders were not counted does not pass.
func (s *Server) queryHolders(c *fiber.Ctx) (func(id uint32) bool, error) {
	least, err := queryInteger(c, "min_holders", 0, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	text, given, err := queryOnce(c, "max_top10_pct")
	if err != nil || least == 0 && !given {
		return nil, err
	}
	most := 100.0
	if given {
		var parseErr error
		if most, parseErr = strconv.ParseFloat(text, 64); parseErr != nil || !(most >= 0 && most <= 100) {
			return nil, invalid("max_top10_pct", quoted(text), "must be a number from 0 to 100")
		}
	}
	return func(id uint32) bool {
		if !given {
			count, known := s.replica.HolderCount(id)
			return known && count >= float64(least)
		}
		h, known := s.replica.Holders(id)
		return known && int64(h.Count) >= least && h.Top10Pct != nil && *h.Top10Pct <= most
	}, nil
}

// both returns a filter that passes what a and b pass. A nil filter passes everything.
func both(a, b func(id uint32) bool) func(id uint32) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(id uint32) bool { return a(id) && b(id) }
}
