package state

import (
	"cmp"
	"context"
	"slices"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Common returns the mints that have pools with at least commonPairs other mints, those with the
// most first. most bounds the list. The list is empty if ctx ends before the answer.
func (f *Feed) Common(ctx context.Context, most int) []venue.Key {
	found := make(chan []venue.Key, 1)
	f.enqueue(ctx, func() { found <- f.fold.common(most) })
	select {
	case list := <-found:
		return list
	case <-ctx.Done():
		return nil
	}
}

func (f *Fold) common(most int) []venue.Key {
	pairs := map[venue.Key]int{}
	for p, s := range f.pools.pairs {
		if slices.ContainsFunc(s.pools, func(p *pool) bool { return !p.asked && p.state != absent }) {
			pairs[p.a]++
			pairs[p.b]++
		}
	}
	list := make([]venue.Key, 0, len(pairs))
	for mint, count := range pairs {
		if count >= commonPairs {
			list = append(list, mint)
		}
	}
	slices.SortFunc(list, func(a, b venue.Key) int { return cmp.Or(cmp.Compare(pairs[b], pairs[a]), pubkey.Compare(a, b)) })
	return list[:min(len(list), most)]
}

// commonPairs is the least number of other mints with which a common mint has pools.
const commonPairs = 8
