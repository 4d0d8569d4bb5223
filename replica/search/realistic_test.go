package search_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// Sizes of TestInvertedEqualsScanOnRealNames. MINTLAKE_TEST_SEARCH_SCALE=10 takes ten times as many
// of both.
const (
	realTokens  = 5_000
	realQueries = 1_000
)

func scale(t *testing.T) int {
	given := os.Getenv("MINTLAKE_TEST_SEARCH_SCALE")
	if given == "" {
		return 1
	}
	times, err := strconv.Atoi(given)
	require.NoError(t, err)
	return times
}

// change gives a token of the corpus extensions and tags, which it has none of.
func change(token *registrytest.Token, id int) search.Document {
	row := token.Registry()
	kinds := [][]string{nil, nil, {"permanent_delegate"}, {"metadata_pointer", "token_metadata"}, {"permanent_delegate", "transfer_fee_config"}}
	if id%7 == 0 {
		row.Tags = []string{"verified"}
	}
	c := search.Document{ID: uint32(id), Mint: token.Mint, Token: row}
	if row.IsToken22 {
		c.Extensions = kinds[id%len(kinds)]
	}
	return c
}

// TestInvertedEqualsScanOnRealNames asks both indexes for names, parts and typos of them, in all
// orders and with all filters, while tokens come, go, and change name and volume.
func TestInvertedEqualsScanOnRealNames(t *testing.T) {
	lists, err := registrytest.ReadLists(testkit.Shared(t, "data/tokenlists"))
	require.NoError(t, err)
	tokens, queries := realTokens*scale(t), realQueries*scale(t)
	corpus := registrytest.NewCorpus(3, lists)
	random := rand.New(rand.NewPCG(7, 8))
	inverted, scan := search.NewInverted(), search.NewScan()
	apply := func(changes []search.Document) {
		inverted.Apply(changes)
		scan.Apply(changes)
	}
	// Every other listed token, and made-up ones.
	number := func(id int) int { return len(lists)/2 + id*3 }
	for from := 0; from < tokens; from += 1_000 {
		changes := make([]search.Document, 1_000)
		for i := range changes {
			token := corpus.Token(number(from + i))
			changes[i] = change(&token, from+i)
		}
		if from < tokens/2 { // as a node that starts
			inverted.Fill(changes)
			scan.Fill(changes)
			continue
		}
		apply(changes)
	}
	for i := range queries {
		if i%10 == 0 {
			apply(someChanges(corpus, random, tokens, number))
		}
		token := corpus.Token(number(random.IntN(tokens)))
		q := search.Query{Text: textLike(random, &token), IncludeToken22: random.IntN(3) > 0, Limit: random.IntN(60), Offset: random.IntN(3) * random.IntN(60)}
		q.Sort = search.Sort(max(0, random.IntN(10)-5))
		if random.IntN(4) == 0 {
			q.Filter = someFilter(random)
		}
		want, got := scan.Search(q), inverted.Search(q)
		require.Equal(t, want, got, "%+v", q)
		require.Equal(t, want, inverted.Search(q), "remembered: %+v", q)
	}
	require.Equal(t, scan.Len(), inverted.Len())
}

func someChanges(corpus *registrytest.Corpus, random *rand.Rand, tokens int, number func(int) int) []search.Document {
	changes := make([]search.Document, 100)
	for i := range changes {
		id := random.IntN(tokens)
		token := corpus.Token(number(id))
		changes[i] = change(&token, id)
		row := changes[i].Token
		switch random.IntN(4) {
		case 0:
			changes[i].Token = nil
		case 1:
			other := corpus.Token(number(random.IntN(tokens)))
			row.Name = other.Name
		case 2:
			volume := float64(random.IntN(1000))
			row.DailyVolumeUSD = &volume
		}
	}
	return changes
}

func someFilter(random *rand.Rand) search.Filter {
	f := search.Filter{Program: search.Program(random.IntN(3))}
	switch random.IntN(5) {
	case 0:
		f.Extensions = []string{"permanent_delegate"}
	case 1:
		f.NotExtensions = []string{"permanent_delegate", "token_metadata"}
	case 2:
		f.Tag = "verified"
	case 3:
		volume := float64(random.IntN(500))
		f.MinVolume = &volume
	default:
		after := int64(1_700_000_000_000)
		f.CreatedAfter = &after
	}
	return f
}

// textLike is something that somebody who looks for a token might write.
func textLike(random *rand.Rand, token *registrytest.Token) string {
	text := []rune(token.Symbol)
	if random.IntN(2) == 0 {
		text = []rune(token.Name)
	}
	if len(text) == 0 {
		return []string{"", "🐸", "犬", token.Mint.String(), "$", "a", "so", " "}[random.IntN(8)]
	}
	at := random.IntN(len(text))
	switch random.IntN(9) {
	case 7:
		return string(text[at:]) + string([]rune("()-.$!🚀")[random.IntN(7)])
	case 8:
		return aroundMark(random, text)
	case 0:
		return string(text[:at+1])
	case 1:
		return string(text[at:])
	case 2:
		return string(text[at : at+1+random.IntN(len(text)-at)])
	case 3:
		return string(text[:at]) + string(rune('a'+random.IntN(26))) + string(text[at+1:])
	case 4:
		return string(text[:at]) + string(text[at+1:])
	case 5:
		return string(text[:at]) + "\u200b" + string(text[at:])
	default:
		return string(text)
	}
}

// aroundMark is a part of the text with the first of its marks in it, or the text with one put in.
func aroundMark(random *rand.Rand, text []rune) string {
	at := slices.IndexFunc(text, func(r rune) bool { return r != ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if at < 0 {
		at = random.IntN(len(text))
		text = slices.Insert(slices.Clone(text), at, []rune("()-.$!🚀")[random.IntN(7)])
	}
	return string(text[max(0, at-random.IntN(4)):min(len(text), at+1+random.IntN(4))])
}

// TestWalkMeetsEachTokenOnce: other tokens come and go, and all volumes change, between the pages
// of a walk.
func TestWalkMeetsEachTokenOnce(t *testing.T) {
	corpus := registrytest.NewCorpus(5, nil)
	random := rand.New(rand.NewPCG(9, 10))
	index := search.NewInverted()
	const stay, all = 3_000, 4_000
	var changes []search.Document
	for id := range all {
		token := corpus.Token(id)
		changes = append(changes, change(&token, id))
	}
	index.Apply(changes)
	met := map[uint32]int{}
	cursor := ""
	for {
		result := index.Search(search.Query{IncludeToken22: true, Sort: search.SortMint, Limit: 70, Cursor: cursor})
		for _, hit := range result.Hits {
			met[hit.ID]++
		}
		if result.Next == "" {
			break
		}
		require.True(t, search.ValidCursor(result.Next))
		cursor = result.Next
		changes = changes[:0]
		for range 200 {
			id := random.IntN(all)
			token := corpus.Token(id)
			c := change(&token, id)
			volume := random.Float64()
			c.Token.DailyVolumeUSD = &volume
			if id >= stay && random.IntN(2) == 0 {
				c.Token = nil
			}
			changes = append(changes, c)
		}
		index.Apply(changes)
	}
	for id := range uint32(stay) {
		require.Equal(t, 1, met[id], id)
	}
	for id, times := range met {
		require.Equal(t, 1, times, id)
	}
}

func TestInvertedMergesWhatIsLarge(t *testing.T) {
	corpus := registrytest.NewCorpus(6, nil)
	index := search.NewInverted()
	const batches, size = 9, 9_000 // of the tier that is merged beside
	for batch := range batches {
		var changes []search.Document
		for i := range size {
			id := batch*size + i
			token := corpus.Token(id)
			changes = append(changes, change(&token, id))
		}
		index.Apply(changes)
		// a removal while merging
		index.Apply([]search.Document{{ID: uint32(batch), Mint: corpus.Token(batch).Mint}})
	}
	index.Wait()
	require.Equal(t, batches*size-batches, index.Len())
	require.Equal(t, batches*size-batches, index.Search(search.Query{IncludeToken22: true, Limit: 1}).Total)
	for batch := range batches {
		token := corpus.Token(batch)
		require.Zero(t, index.Search(search.Query{Text: token.Mint.String(), IncludeToken22: true, Limit: 1, Sort: search.SortVolume}).Total)
	}
	token := corpus.Token(batches * size / 2)
	require.Equal(t, search.TierMint, index.Search(search.Query{Text: token.Mint.String(), IncludeToken22: true, Limit: 1}).Hits[0].Tier)
}

func FuzzInverted(f *testing.F) {
	corpus := registrytest.NewCorpus(4, nil)
	inverted, scan := search.NewInverted(), search.NewScan()
	var changes []search.Document
	for id := range 300 {
		token := corpus.Token(id)
		changes = append(changes, change(&token, id))
	}
	inverted.Apply(changes)
	scan.Apply(changes)
	for _, text := range []string{"", "usd", "a", "🚀", "\xff", "Baby Doge", "e\u0301", corpus.Token(1).Mint.String()} {
		f.Add(text, uint8(0), 0, 10)
	}
	f.Fuzz(func(t *testing.T, text string, sort uint8, offset, limit int) {
		if offset < 0 || limit < 0 {
			t.Skip()
		}
		q := search.Query{Text: text, Sort: search.Sort(sort % 5), Offset: offset, Limit: limit, IncludeToken22: sort < 128}
		want, got := scan.Search(q), inverted.Search(q)
		require.Equal(t, want.Total, got.Total)
		require.Equal(t, want.Next, got.Next)
		require.Equal(t, len(want.Hits), len(got.Hits))
		for i := range want.Hits {
			require.Equal(t, want.Hits[i], got.Hits[i])
		}
	})
}
