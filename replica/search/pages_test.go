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
		token := &registry.Token{Mint: named(fmt.Sprintf("Mint%d", id)), Symbol: []string{"COIN", "COINS", "COI"}[id%3], Name: "Name", IsToken22: id%7 == 0}
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
	index.maxDocuments = tokens // one segment, so that symbols share pages
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
		for _, text := range []string{"coin", "co", "coins", named("Mint4").String(), ""} {
			q := Query{
				Text: text, IncludeToken22: random.IntN(3) > 0, Sort: Sort(random.IntN(3) / 2), Offset: random.IntN(2) * random.IntN(20), Limit: 1 + random.IntN(2),
			}
			require.Equal(t, scan.Search(q), index.Search(q), "%+v", q)
		}
	}
}

// TestTopEqualsScan asks for the first tokens without a text, while these and others gain and lose
// volume, go and come back.
func TestTopEqualsScan(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	const tokens = 3_000
	inverted, scan := NewInverted(), NewScan()
	all := corpus(tokens)
	apply := func(changes []Document) {
		inverted.Apply(changes)
		scan.Apply(changes)
		for _, classic := range []bool{false, true} {
			for range 3 {
				q := Query{IncludeToken22: !classic, Limit: random.IntN(300), Offset: random.IntN(2) * random.IntN(1_400), Sort: Sort(random.IntN(2)) * SortVolume}
				require.Equal(t, scan.Search(q), inverted.Search(q), "%+v", q)
			}
		}
	}
	for from := 0; from < tokens; from += 500 {
		apply(all[from : from+500])
	}
	for range 60 {
		first := scan.Search(Query{IncludeToken22: true, Limit: 600}).Hits
		var changes []Document
		for range 1 + random.IntN(300) {
			id := random.Uint32N(tokens)
			if random.IntN(3) > 0 {
				id = first[random.IntN(len(first))].ID
			}
			row := *all[id].Token
			change := Document{ID: id, Mint: all[id].Mint, Token: &row}
			switch random.IntN(5) {
			case 0:
				change.Token = nil
			case 1:
				row.DailyVolumeUSD = nil
			case 2:
				seen := int64(random.IntN(3))
				row.FirstSeenAt = &seen
			case 3:
				row.IsToken22 = random.IntN(2) == 0
			default:
				volume := float64(random.IntN(1_000))
				row.DailyVolumeUSD = &volume
			}
			changes = append(changes, change)
		}
		apply(changes)
	}
	var none []Document
	for i := range all {
		none = append(none, Document{ID: uint32(i), Mint: all[i].Mint})
	}
	apply(none[10:])
	apply(none)
	apply([]Document{{ID: 1, Mint: named("a"), Token: &registry.Token{Mint: named("a")}}})
}
