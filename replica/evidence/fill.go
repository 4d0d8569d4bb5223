package evidence

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/mintlake/mintlake/replica"
)

// While a registry loads, tokens are only collected. Filled sorts them and makes each group in one
// step. If tokens were inserted one by one, each would move those that stand after it in its group.

// Fill implements replica.Filler: it replaces Apply while the registry loads. Until Filled, each
// token counts as the only one with its symbol. An index that has groups already takes the changes
// in one by one.
func (x *Index) Fill(changes []replica.Change) {
	x.mu.Lock()
	x.filling = x.filling || len(x.groups.of) == 0
	x.mu.Unlock()
	x.each(changes)
}

// Filled makes the groups of the tokens that Fill has collected.
func (x *Index) Filled() {
	if !x.filling { // only this goroutine writes
		return
	}
	shares := make([][]grouped, runtime.GOMAXPROCS(0))
	var sorting sync.WaitGroup
	for i := range shares {
		sorting.Go(func() { shares[i] = x.share(uint64(i), uint64(len(shares))) })
	}
	sorting.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, share := range shares {
		for len(share) > 0 {
			end := 1
			for end < len(share) && share[end].symbol == share[0].symbol {
				end++
			}
			x.groups.put(x, share[:end])
			share = share[end:]
		}
	}
	x.groups.room = nil
	x.filling = false
}

// grouped is a token and its group.
type grouped struct {
	symbol uint64
	id     uint32
}

// share returns the tokens of one of count shares of the groups: those whose hash modulo count is
// index. They come group by group, each group in the order of volume.
func (x *Index) share(index, count uint64) []grouped {
	var share []grouped
	for number, chunk := range x.chunks {
		for i := range chunk {
			if symbol := chunk[i].symbol; symbol != 0 && symbol%count == index {
				share = append(share, grouped{symbol, uint32(number<<chunkBits | i)})
			}
		}
	}
	slices.SortFunc(share, func(a, b grouped) int {
		switch {
		case a.symbol != b.symbol:
			return cmp.Compare(a.symbol, b.symbol)
		case a.id == b.id:
			return 0
		case x.byVolume(a.id, b.id):
			return -1
		}
		return 1
	})
	return share
}

// put makes a group of its tokens, which come in the order of volume.
func (g *groups) put(x *Index, tokens []grouped) {
	symbol := tokens[0].symbol
	if len(tokens) == 1 {
		g.of[symbol] = tokens[0].id
		return
	}
	members := group{byVolume: g.take(len(tokens))}
	for i := range tokens {
		members.byVolume[i] = tokens[i].id
	}
	if len(tokens) > smallGroup {
		members.grow(x)
	}
	g.of[symbol] = manyBit | g.add(members)
}

// take returns a slice of count numbers, cut from a larger one. There are a hundred thousand
// groups, and the garbage collector would visit each slice of its own.
func (g *groups) take(count int) []uint32 {
	const piece = 1 << 14
	if count > len(g.room) {
		g.room = make([]uint32, max(count, piece))
	}
	taken := g.room[:count:count]
	g.room = g.room[count:]
	return taken
}
