package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// The model: the order of DESIGN section 9, written again as plainly as possible.

// named is a key whose first bytes are the name.
func named(name string) (key pubkey.Key) {
	copy(key[:], name)
	return key
}

// page is a Result without the reasons.
type page struct {
	IDs   []uint32
	Total int
}

func pageOf(result Result) page {
	p := page{Total: result.Total}
	for _, hit := range result.Hits {
		p.IDs = append(p.IDs, hit.ID)
	}
	return p
}

func modelSearch(tokens map[uint32]*registry.Token, q Query) page {
	type ranked struct {
		id    uint32
		token *registry.Token
		tier  int
		score float64
	}
	text := Normalise(q.Text)
	var all []ranked
	for id, token := range tokens {
		if token.IsToken22 && !q.IncludeToken22 {
			continue
		}
		symbol, name := Normalise(token.Symbol), Normalise(token.Name)
		score := max(modelSimilarity(text, symbol), modelSimilarity(text, name))
		edit := symbol != "" && modelDistance(text, symbol) == 1
		longest := max(utf8.RuneCountInString(text), utf8.RuneCountInString(symbol))
		switch {
		case text == "", token.Mint.String() == strings.TrimSpace(q.Text):
			all = append(all, ranked{id, token, 0, 0})
		case symbol == text:
			all = append(all, ranked{id, token, 1, 0})
		case strings.HasPrefix(symbol, text):
			all = append(all, ranked{id, token, 2, 0})
		case strings.HasPrefix(name, text):
			all = append(all, ranked{id, token, 3, 0})
		case strings.Contains(symbol, text), strings.Contains(name, text):
			all = append(all, ranked{id, token, 4, score})
		case edit:
			all = append(all, ranked{id, token, 5, max(score, 1-1/float64(longest))})
		case score >= MinSimilarity:
			all = append(all, ranked{id, token, 5, score})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.tier != b.tier {
			return a.tier < b.tier
		}
		if a.score != b.score {
			return a.score > b.score
		}
		va, vb := a.token.DailyVolumeUSD, b.token.DailyVolumeUSD
		switch {
		case va != nil && vb != nil && *va != *vb:
			return *va > *vb
		case (va == nil) != (vb == nil):
			return va != nil
		}
		fa, fb := a.token.FirstSeenAt, b.token.FirstSeenAt
		switch {
		case fa != nil && fb != nil && *fa != *fb:
			return *fa < *fb
		case (fa == nil) != (fb == nil):
			return fa != nil
		}
		return a.token.Mint.String() < b.token.Mint.String()
	})
	result := page{Total: len(all)}
	for i := q.Offset; i < len(all) && i < q.Offset+q.Limit; i++ {
		result.IDs = append(result.IDs, all[i].id)
	}
	return result
}

func modelSimilarity(a, b string) float64 {
	sets := [2]map[string]bool{{}, {}}
	for i, text := range []string{a, b} {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return len(grams(string(r))) == 0 }) {
			runes := []rune("  " + word + " ")
			for j := 0; j+3 <= len(runes); j++ {
				sets[i][string(runes[j:j+3])] = true
			}
		}
	}
	shared := 0
	for g := range sets[0] {
		if sets[1][g] {
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(len(sets[0])+len(sets[1])-shared)
}

func modelDistance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	row := make([]int, len(rb)+1)
	for j := range row {
		row[j] = j
	}
	for i := range ra {
		previous := row[0]
		row[0] = i + 1
		for j := range rb {
			cost := previous
			if ra[i] != rb[j] {
				cost++
			}
			previous = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(rb)]
}

var alphabet = []string{"a", "b", "A", "ab", "sol", "SOL", "usd", "USDC", "ß", "é", "e\u0301", "ＵＳＤ", "犬", "🐕", " ", "-", "$", "(", "a(", "İ", "ſ", "\u200b"}

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 4).Draw(t, label), "")
}

func drawToken(t *rapid.T, mint pubkey.Key) *registry.Token {
	token := &registry.Token{Mint: mint, Symbol: drawText(t, "symbol"), Name: drawText(t, "name"), IsToken22: rapid.Bool().Draw(t, "token22")}
	if rapid.Bool().Draw(t, "has volume") {
		volume := float64(rapid.IntRange(0, 3).Draw(t, "volume"))
		token.DailyVolumeUSD = &volume
	}
	if rapid.Bool().Draw(t, "has first seen") {
		at := int64(rapid.IntRange(0, 3).Draw(t, "first seen"))
		token.FirstSeenAt = &at
	}
	return token
}

func TestScanEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index, model := NewScan(), map[uint32]*registry.Token{}
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			var changes []Document
			for range rapid.IntRange(0, 30).Draw(t, "changes") {
				id := rapid.Uint32Range(0, 40).Draw(t, "mint")
				mint := named(fmt.Sprintf("mint%d", id))
				if rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
					delete(model, id)
					changes = append(changes, Document{ID: id, Mint: mint})
					continue
				}
				token := drawToken(t, mint)
				model[id] = token
				changes = append(changes, Document{ID: id, Mint: mint, Token: token})
			}
			index.Apply(changes)
		}
		require.Equal(t, len(model), index.Len())
		q := Query{
			Text: drawText(t, "query"), IncludeToken22: rapid.Bool().Draw(t, "include"),
			Offset: rapid.IntRange(0, 40).Draw(t, "offset"), Limit: rapid.IntRange(1, 40).Draw(t, "limit"),
		}
		if rapid.IntRange(0, 9).Draw(t, "by mint") == 0 {
			q.Text = " " + named("mint7").String() + " "
		}
		require.Equal(t, modelSearch(model, q), pageOf(index.Search(q)))
	})
}

func TestTiersInOrder(t *testing.T) {
	index, text := NewScan(), named("a mint that is a symbol, too").String()
	edited := text[:len(text)-1] + "!"
	wide := strings.Map(func(r rune) rune { return r + '\uff21' - 'A' }, text)
	tokens := []*registry.Token{
		{Mint: pubkey.MustParse(text), Symbol: "X", Name: "Nothing alike"},
		{Mint: named("m1"), Symbol: strings.ToUpper(text), Name: "Coin"},
		{Mint: named("m2"), Symbol: text + ".e", Name: "Bridged"},
		{Mint: named("m3"), Symbol: "Y", Name: text + " of somebody"},
		{Mint: named("m4"), Symbol: "a" + text, Name: "Lending"},
		{Mint: named("m5"), Symbol: edited, Name: "Tether"},
		{Mint: named("m6"), Symbol: "BONK", Name: "Bonk"},
		{Mint: named("m7"), Symbol: wide, Name: "full width"},
	}
	var changes []Document
	for i, token := range tokens {
		changes = append(changes, Document{ID: uint32(i), Mint: token.Mint, Token: token})
	}
	index.Apply(changes)
	result := index.Search(Query{Text: " " + text + "\n", IncludeToken22: true, Limit: 50})
	var found []uint32
	for _, hit := range result.Hits {
		found = append(found, hit.ID)
	}
	require.Equal(t, []uint32{0, 1, 7, 2, 3, 4, 5}, found)
	require.Equal(t, 7, result.Total)
}

func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		" WIF ": "wif", "Straße": "strasse", "ＢＯＮＫ": "bonk", "ﬁ": "fi", "É": "é", "\u00a0x\u3000": "x", "ΣΑΣ": "σασ", "ꭰ": "Ꭰ", "Ꭰ": "Ꭰ", "ᏸ": "Ᏸ", "\xff": "\ufffd",
		"U\u200bSDC\u200f": "usdc", "\u2764\ufe0f": "\u2764", "\u3164": "", "a\u00adb": "ab", "\u202eevil": "evil", "\u0600x": "\u0600x",
	} {
		require.Equal(t, want, Normalise(in), in)
	}
	rapid.Check(t, func(t *rapid.T) {
		once := Normalise(rapid.String().Draw(t, "text"))
		require.Equal(t, once, Normalise(once))
	})
}

func TestOneEditIsLevenshteinOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abé犬")), 0, 5, -1)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		require.Equal(t, modelDistance(a, b) == 1, oneEdit(a, b))
	})
}

// TestReadersSeeWholeBatches: a batch swaps the symbols of two tokens; a search must never see both
// or neither under one symbol.
func TestReadersSeeWholeBatches(t *testing.T) {
	index := NewScan()
	pair := func(i int) []Document {
		symbols := []string{"one", "two"}
		return []Document{
			{ID: 0, Mint: named("a"), Token: &registry.Token{Mint: named("a"), Symbol: symbols[i%2]}},
			{ID: 1, Mint: named("b"), Token: &registry.Token{Mint: named("b"), Symbol: symbols[(i+1)%2]}},
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
	for range 20_000 {
		require.Equal(t, 1, index.Search(Query{Text: "one", IncludeToken22: true, Limit: 5}).Total)
	}
	close(stop)
	wg.Wait()
}

func FuzzSearch(f *testing.F) {
	index := NewScan()
	index.Apply([]Document{{Mint: named("m"), Token: &registry.Token{Mint: named("m"), Symbol: "USDC", Name: "USD Coin"}}})
	f.Add("usd", 0, 10)
	f.Fuzz(func(t *testing.T, text string, offset, limit int) {
		if offset < 0 || limit < 0 {
			t.Skip()
		}
		result := index.Search(Query{Text: text, Offset: offset, Limit: limit})
		require.LessOrEqual(t, len(result.Hits), result.Total)
	})
}

// corpus is a deterministic registry of n tokens with names in the manner of the real ones.
func corpus(n int) []Document {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("pepe doge inu cat moon elon trump sol usd coin token baby shiba frog wif hat official meme ai agent bonk pump king rocket dao swap")
	changes := make([]Document, n)
	for i := range changes {
		parts := []string{words[random.IntN(len(words))], words[random.IntN(len(words))], fmt.Sprintf("%x", random.IntN(4096))}
		volume := random.ExpFloat64() * 1000
		first := int64(random.IntN(1 << 40))
		token := &registry.Token{
			Mint: named(fmt.Sprintf("%032d", i)), Symbol: strings.ToUpper(parts[0][:2] + parts[1] + parts[2][:1]), Name: strings.Join(parts, " "), FirstSeenAt: &first,
		}
		if random.IntN(2) == 0 {
			token.DailyVolumeUSD = &volume
		}
		changes[i] = Document{ID: uint32(i), Mint: token.Mint, Token: token}
	}
	return changes
}

func BenchmarkSearch100k(b *testing.B) {
	index := NewScan()
	index.Apply(corpus(100_000))
	for _, text := range []string{"", "solpepe", "peep", "official trump", "x"} {
		b.Run("q="+text, func(b *testing.B) {
			for b.Loop() {
				index.Search(Query{Text: text, IncludeToken22: true, Limit: 50})
			}
		})
	}
}

func TestDeepPageEqualsFirstPages(t *testing.T) {
	index := NewScan()
	index.Apply(corpus(3_000))
	var walked []Hit
	for offset := 0; ; offset += 200 {
		page := index.Search(Query{IncludeToken22: true, Offset: offset, Limit: 200})
		if len(page.Hits) == 0 {
			break
		}
		walked = append(walked, page.Hits...)
	}
	all := index.Search(Query{IncludeToken22: true, Limit: 5_000})
	require.Equal(t, 3_000, all.Total)
	require.True(t, slices.Equal(all.Hits, walked))
}
