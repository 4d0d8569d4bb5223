package search

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
)

// TestPagesOfFewSymbols: where a symbol has many pages of tokens most of them are not looked at,
// and the first are still the best. Volumes are unknown, alike or change, and tokens go.
func TestPagesOfFewSymbols(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	index, scan := NewInverted(), NewScan()
	change := func(id int) Document {
		token := &registry.Token{Mint: fmt.Sprintf("Mint%dxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", id), Symbol: []string{"COIN", "COINS", "COI"}[id%3], Name: "Name", IsToken22: id%7 == 0}
		if random.IntN(3) > 0 {
			// of COI the most: it shares a page with COIN
			volume := float64(random.IntN(200) + id%3/2*1000)
			token.DailyVolumeUSD = &volume
		}
		seen := int64(random.IntN(50))
		token.FirstSeenAt = &seen
		return Document{ID: uint32(id), Mint: token.Mint, Token: token}
	}
	const tokens = 6_000
	changes := make([]Document, tokens)
	for id := range changes {
		changes[id] = change(id)
	}
	index.most = tokens // one segment, so that symbols share pages
	index.Fill(changes)
	scan.Fill(changes)
	index.Filled()
	for range 40 {
		changed := make([]Document, random.IntN(300))
		for i := range changed {
			changed[i] = change(random.IntN(tokens))
			if random.IntN(4) == 0 {
				changed[i].Token = nil
			}
		}
		index.Apply(changed)
		scan.Apply(changed)
		for _, text := range []string{"coin", "co", "coins", "Mint4xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", ""} {
			q := Query{
				Text: text, IncludeToken22: random.IntN(3) > 0, Sort: Sort(random.IntN(3) / 2), Offset: random.IntN(2) * random.IntN(20), Limit: 1 + random.IntN(2),
			}
			require.Equal(t, scan.Search(q), index.Search(q), "%+v", q)
		}
	}
}
