package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
)

// TestLeadersEqualScan: tokens among the first, and others, gain and lose volume, go and come back,
// more of them than there are spare leaders for.
func TestLeadersEqualScan(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	const tokens = 3_000
	inverted, scan := NewInverted(), NewScan()
	all := corpus(tokens)
	apply := func(changes []Document) {
		inverted.Apply(changes)
		scan.Apply(changes)
		for _, classic := range []bool{false, true} {
			first := scan.Search(Query{IncludeToken22: !classic, Limit: maxLeaders})
			for range 3 {
				q := Query{IncludeToken22: !classic, Limit: random.IntN(300), Offset: random.IntN(2) * random.IntN(1_400), Sort: Sort(random.IntN(2)) * SortVolume}
				require.Equal(t, scan.Search(q), inverted.Search(q), "%+v", q)
			}
			l := inverted.current.Load().leaders[map[bool]int{false: allClasses, true: classicOnly}[classic]]
			require.GreaterOrEqual(t, len(l.hits), min(minLeaders, first.Total))
			require.True(t, slices.Equal(first.Hits[:len(l.hits)], l.hits))
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
	apply([]Document{{ID: 1, Mint: "a", Token: &registry.Token{Mint: "a"}}})
}
