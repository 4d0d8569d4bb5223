package trades

import (
	"time"
)

// span is a part of an hour of block time: from is included, to is not.
type span struct {
	from, to time.Time
	trades   uint64 // about how many trades of the mint it has
}

const (
	// mostRead is about how many trades of the mint one query reads when a filter may leave out
	// most of them.
	mostRead = 50_000
	// unvalued is the guess of how many trades an hour has that no valuation has seen.
	unvalued = 1_000
	// mostSpans bounds the spans of one query.
	mostSpans = 100
	// mostParts is the most parts into which an hour is cut: minutes.
	mostParts = 60
)

// spansOf cuts hours, the latest first, into spans of about want trades. So a page of a token that
// everybody trades does not read a whole hour.
func spansOf(hours []hour, want uint64) (spans []span) {
	for _, h := range hours {
		trades := h.trades
		if trades == 0 {
			trades = unvalued
		}
		parts := min(max(trades/want, 1), mostParts)
		// Parts of whole seconds, the last one up to the end of the hour.
		length := time.Hour / time.Duration(parts) / time.Second * time.Second
		for part := int(parts) - 1; part >= 0; part-- {
			from, to := h.start.Add(time.Duration(part)*length), h.start.Add(time.Duration(part+1)*length)
			if part == int(parts)-1 {
				to = h.start.Add(time.Hour)
			}
			spans = append(spans, span{from, to, trades / parts})
		}
	}
	return spans
}

// wanted returns about how many trades the first query of a page should read.
func wanted(limit int, narrow bool) uint64 {
	if narrow {
		return mostRead
	}
	return uint64(2 * limit)
}

// nextBatch takes from spans those that one query reads: about want trades. Spans that touch become
// one.
func nextBatch(spans *[]span, want uint64) (batch []span) {
	var trades uint64
	for len(*spans) > 0 && trades < want {
		next := (*spans)[0]
		last := len(batch) - 1
		switch {
		case last >= 0 && batch[last].from.Equal(next.to):
			batch[last].from = next.from
		case len(batch) == mostSpans:
			return batch
		default:
			batch = append(batch, next)
		}
		trades += next.trades
		*spans = (*spans)[1:]
	}
	return batch
}
