package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

var (
	kinds = []string{"transfer_fee", "permanent_delegate", "metadata"}
	tags  = []string{"verified", "meme"}

	launchpads = []string{"pump", "meteora_dbc"}
)

func drawFilter(t *rapid.T) Filter {
	f := Filter{Program: Program(rapid.IntRange(0, 2).Draw(t, "program"))}
	if rapid.IntRange(0, 2).Draw(t, "filtered") > 0 {
		f.Program = ProgramAny
		return f
	}
	f.Extensions = rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 2).Draw(t, "extensions")
	f.NotExtensions = rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 1).Draw(t, "not extensions")
	if rapid.IntRange(0, 3).Draw(t, "by tag") == 0 {
		f.Tag = rapid.SampledFrom(tags).Draw(t, "tag")
	}
	if rapid.IntRange(0, 3).Draw(t, "by launchpad") == 0 {
		f.Launchpad = rapid.SampledFrom(launchpads).Draw(t, "launchpad")
	}
	if rapid.IntRange(0, 3).Draw(t, "by volume") == 0 {
		volume := float64(rapid.IntRange(-1, 3).Draw(t, "min volume"))
		f.MinVolume = &volume
	}
	if rapid.IntRange(0, 3).Draw(t, "by time") == 0 {
		after := int64(rapid.IntRange(-1, 3).Draw(t, "created after"))
		f.CreatedAfter = &after
	}
	if rapid.IntRange(0, 3).Draw(t, "by figure") == 0 {
		f.Passes = func(id uint32) bool { return id%3 != 1 }
	}
	return f
}

func drawQuery(t *rapid.T) Query {
	q := Query{
		Text: drawText(t, "query"), IncludeToken22: rapid.Bool().Draw(t, "include"), Filter: drawFilter(t), Sort: Sort(rapid.IntRange(0, 5).Draw(t, "sort")), Figure: figureOf,
		Offset: rapid.IntRange(0, 20).Draw(t, "offset"), Limit: rapid.IntRange(0, 40).Draw(t, "limit"),
	}
	if rapid.IntRange(0, 9).Draw(t, "by mint") == 0 {
		q.Text = rapid.SampledFrom([]string{" " + named("mint7").String() + " ", named("m").String(), named("mint11").String(), "mint7"}).Draw(t, "mint")
	}
	if rapid.Bool().Draw(t, "from cursor") {
		q.Cursor = named(fmt.Sprintf("mint%d", rapid.IntRange(0, 40).Draw(t, "cursor"))).String()
		if rapid.IntRange(0, 3).Draw(t, "odd cursor") == 0 { // no mint, and perhaps no base58
			q.Cursor = q.Cursor[:rapid.IntRange(0, 8).Draw(t, "kept")] + rapid.StringMatching("[0-9A-Za-z]{1,8}").Draw(t, "end")
		}
	}
	return q
}

func drawChange(t *rapid.T, most uint32) Document {
	id := rapid.Uint32Range(0, most).Draw(t, "mint")
	change := Document{ID: id, Mint: named(fmt.Sprintf("mint%d", id))}
	if id == 1 {
		change.Mint = named("m")
	}
	if rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
		return change
	}
	change.Token = drawToken(t, change.Mint)
	change.Token.Tags = rapid.SliceOfN(rapid.SampledFrom(tags), 0, 2).Draw(t, "tags")
	if rapid.Bool().Draw(t, "launched") {
		launchpad := rapid.SampledFrom(launchpads).Draw(t, "launchpad of the token")
		change.Token.Launchpad = &launchpad
	}
	change.Extensions = rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 2).Draw(t, "kinds")
	return change
}

func drawChanges(t *rapid.T, most int) []Document {
	changes := make([]Document, rapid.IntRange(0, most).Draw(t, "changes"))
	for i := range changes {
		changes[i] = drawChange(t, 40)
	}
	return changes
}

func TestInvertedEqualsScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index, scan := NewInverted(), NewScan()
		if rapid.Bool().Draw(t, "merge beside") { // all merges of more than two tokens
			index.tiers = [...]int{1, 2, 8}
			defer index.Wait()
		}
		if rapid.Bool().Draw(t, "small segments") {
			index.maxDocuments = 4
		}
		if rapid.Bool().Draw(t, "asked by two") {
			index.manyTokens = 0
		}
		for range rapid.IntRange(0, 6).Draw(t, "fillings") {
			changes := drawChanges(t, 20)
			index.Fill(changes)
			scan.Fill(changes)
			if rapid.IntRange(0, 2).Draw(t, "end") == 0 {
				index.Filled()
				require.Equal(t, scan.Len(), index.Len())
			}
		}
		index.Filled()
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			changes := drawChanges(t, 12)
			index.Apply(changes)
			scan.Apply(changes)
			require.Equal(t, scan.Len(), index.Len())
			q := drawQuery(t)
			require.Equal(t, scan.Search(q), index.Search(q), "%+v", q)
		}
		for range 10 {
			q := drawQuery(t)
			require.Equal(t, scan.Search(q), index.Search(q), "%+v", q)
		}
	})
}

func TestTextOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.StringMatching(`(abcdefg)?[ab\x00]{0,3}`)).Draw(t, "texts")
		counts := make([]uint16, len(texts))
		want := make([]uint32, len(texts))
		for i := range texts {
			want[i], counts[i] = uint32(i), uint16(len(texts[i]))
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return strings.Compare(texts[a], texts[b]) })
		order := textOrder(len(texts), func(at uint32) string { return texts[at] })
		require.Equal(t, want, order)
		slices.SortStableFunc(want, func(a, b uint32) int { return cmp.Compare(counts[a], counts[b]) })
		require.Equal(t, want, byCount(order, counts))
	})
}

func TestValidCursor(t *testing.T) {
	for _, no := range []string{"", "a-b", strings.Repeat("1", 45), "é", " ", "a ", "a\n", "a=", "+"} {
		require.False(t, ValidCursor(no), no)
	}
	for _, yes := range []string{"1", strings.Repeat("z", 44), named("m").String(), "0OIl"} {
		require.True(t, ValidCursor(yes), yes)
	}
}

func TestMintsAreOrderedAsTheirTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mints := make([]pubkey.Key, rapid.IntRange(0, 50).Draw(t, "mints"))
		for i := range mints { // of several lengths, and some twice
			copy(mints[i][rapid.IntRange(0, 3).Draw(t, "zeros"):], rapid.SliceOfN(rapid.Byte(), 1, 3).Draw(t, "mint"))
		}
		want := textOrder(len(mints), func(at uint32) string { return mints[at].String() })
		require.Equal(t, want, mintOrder(mints))
	})
}

// TestReadersOfInvertedSeeWholeBatches: as TestReadersSeeWholeBatches, with merges among the
// batches.
func TestReadersOfInvertedSeeWholeBatches(t *testing.T) {
	index := NewInverted()
	index.manyTokens = 0 // each search asks by two goroutines
	index.Apply(corpus(2_000))
	pair := func(i int) []Document {
		symbols := []string{"zzone", "zztwo"}
		volume := float64(i)
		return []Document{
			{ID: 3000, Mint: named("a"), Token: &registry.Token{Mint: named("a"), Symbol: symbols[i%2], DailyVolumeUSD: &volume}},
			{ID: 3001, Mint: named("b"), Token: &registry.Token{Mint: named("b"), Symbol: symbols[(i+1)%2], DailyVolumeUSD: &volume}},
		}
	}
	index.Apply(pair(0))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				index.Apply(pair(i))
			}
		}
	})
	for range 2_000 {
		require.Equal(t, 2, index.Search(Query{Text: "zz", IncludeToken22: true, Limit: 5}).Total)
		require.Equal(t, 1, len(index.Search(Query{Text: "zzone", IncludeToken22: true, Limit: 1}).Hits))
		require.Equal(t, 2_002, index.Search(Query{IncludeToken22: true, Limit: 1}).Total)
	}
	close(stop)
	wg.Wait()
	index.merges.Wait()
}

// TestASearchThatFailsInItsHelper ends the search alone.
func TestASearchThatFailsInItsHelper(t *testing.T) {
	index := NewInverted()
	index.manyTokens, index.maxDocuments = 0, 100
	index.Fill(corpus(2_000))
	index.Filled()
	query := &Query{Text: "pepe", IncludeToken22: true, Limit: 5}
	for round := range 40 {
		v := *index.current.Load()
		v.segments = append(slices.Clone(v.segments), nil)
		if round%2 == 1 {
			v.segments = append(v.segments, nil) // one for each goroutine
		}
		require.Panics(t, func() { index.ask(newPlan(query, &v), &v, true, func(*candidates) {}) })
	}
	require.NotPanics(t, func() { index.Search(*query) })
}

// TestDocumentsThatStayMakeNoVersion, and the later of two of a mint holds.
func TestDocumentsThatStayMakeNoVersion(t *testing.T) {
	of := func(name string) Document {
		return Document{ID: 1, Mint: named("Mint1"), Token: &registry.Token{Mint: named("Mint1"), Symbol: "ONE", Name: name}}
	}
	index := NewInverted()
	index.Fill([]Document{of("alpha"), of("beta")})
	index.Filled()
	version := index.current.Load()
	index.Apply([]Document{of("beta")})
	require.Same(t, version, index.current.Load())
	require.Equal(t, 1, index.Search(Query{Text: "beta", IncludeToken22: true}).Total)

	index.Apply([]Document{of("alpha"), of("gamma")})
	require.Equal(t, 1, index.Search(Query{Text: "gamma", IncludeToken22: true}).Total)
	require.Zero(t, index.Search(Query{Text: "beta", IncludeToken22: true}).Total)
}
