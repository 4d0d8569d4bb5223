package evidence

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// fakeRows are tokens by their numbers.
type fakeRows map[uint32]*registry.Token

func (r fakeRows) Token(id uint32) *registry.Token { return r[id] }
func (fakeRows) Extensions(uint32) []string        { return nil }
func (fakeRows) Thin(uint32) bool                  { return false }

// mintOf is a random mint of a number.
func mintOf(id uint32) (key pubkey.Key) {
	random := rand.New(rand.NewPCG(uint64(id), 1))
	for i := range key {
		key[i] = byte(random.Uint32())
	}
	return key
}

// expected is the evidence by looking at every token.
func expected(s *Skeletons, rows fakeRows, id uint32) Evidence {
	token := rows[id]
	e := Evidence{Skeleton: s.Symbol(token.Symbol)}
	if e.Skeleton == "" {
		return e
	}
	var group []*registry.Token
	for _, other := range rows {
		if other != nil && s.Symbol(other.Symbol) == e.Skeleton {
			group = append(group, other)
		}
	}
	byAge := func(a, b *registry.Token) int {
		if (a.FirstSeenAt == nil) != (b.FirstSeenAt == nil) {
			if a.FirstSeenAt != nil {
				return -1
			}
			return 1
		}
		if a.FirstSeenAt != nil && *a.FirstSeenAt != *b.FirstSeenAt {
			return cmp.Compare(*a.FirstSeenAt, *b.FirstSeenAt)
		}
		return strings.Compare(a.Mint.String(), b.Mint.String())
	}
	slices.SortFunc(group, byAge)
	e.Sharing, e.RankByAge = len(group), slices.Index(group, token)+1
	slices.SortStableFunc(group, func(a, b *registry.Token) int {
		volume := func(t *registry.Token) float64 {
			if t.DailyVolumeUSD == nil {
				return -1
			}
			return *t.DailyVolumeUSD
		}
		return cmp.Compare(volume(b), volume(a))
	})
	e.RankByVolume, e.Canonical = slices.Index(group, token)+1, group[0].Mint
	name := s.Text(token.Name)
	copied := name != "" && slices.ContainsFunc(group[:e.RankByVolume-1], func(other *registry.Token) bool { return s.Text(other.Name) == name })
	if copied {
		e.Signals = append(e.Signals, SignalCopiedName)
	}
	return e
}

// TestEvidenceIsWhatLookingAtEveryTokenSays: whatever comes, goes and changes, in groups small and
// large.
func TestEvidenceIsWhatLookingAtEveryTokenSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := fakeRows{}
		x, err := New(rows)
		require.NoError(t, err)
		symbols := rapid.SampledFrom([][]string{{"USDC", "usdc", "UЅDC", "$USDC"}, {"A", "B", "C", "D", "", "а"}}).Draw(rt, "symbols")
		names := []string{"", "One", "0ne", "Two", "Three"}
		numbers := uint32(rapid.SampledFrom([]int{6, 120}).Draw(rt, "numbers"))
		for range rapid.IntRange(1, 8).Draw(rt, "batches") {
			var changes []replica.Change
			for range rapid.IntRange(1, 150).Draw(rt, "changes") {
				id := rapid.Uint32Range(0, numbers-1).Draw(rt, "id")
				var token *registry.Token
				if rapid.IntRange(0, 9).Draw(rt, "gone") > 2 {
					token = &registry.Token{Mint: mintOf(id), Symbol: rapid.SampledFrom(symbols).Draw(rt, "symbol"), Name: rapid.SampledFrom(names).Draw(rt, "name")}
					if volume := rapid.IntRange(-3, 3).Draw(rt, "volume"); volume >= 0 {
						v := float64(volume)
						token.DailyVolumeUSD = &v
					}
					if age := rapid.IntRange(0, 3).Draw(rt, "age"); age > 0 {
						ms := int64(age) * 1000
						token.FirstSeenAt = &ms
					}
				}
				rows[id] = token
				changes = append(changes, replica.Change{Row: replica.Row{ID: id, Mint: mintOf(id), Token: token}})
			}
			switch rapid.IntRange(0, 2).Draw(rt, "how") {
			case 0:
				x.Apply(changes)
			case 1:
				x.Fill(changes)
				x.Filled()
			case 2:
				x.Fill(changes)
				continue
			}
			requireEvidence(t, x, rows)
		}
		x.Filled()
		requireEvidence(t, x, rows)
	})
}

func requireEvidence(t *testing.T, x *Index, rows fakeRows) {
	t.Helper()
	for id, token := range rows {
		if token == nil {
			require.Zero(t, x.placeOf(id).size)
			continue
		}
		got := x.Of(id, token)
		got.Signals = slices.DeleteFunc(got.Signals, func(s Signal) bool { return s != SignalCopiedName })
		want := expected(x.skeletons, rows, id)
		want.Signals = append([]Signal{}, want.Signals...)
		require.Equal(t, want, got, "%d: %+v", id, token)
	}
}

// TestWhoIsWho is the story of docs/evidence.md.
func TestWhoIsWho(t *testing.T) {
	volume, first, later := 1e9, int64(1_600_000_000_000), int64(1_700_000_000_000)
	rows := fakeRows{
		0: {Mint: mintOf(0), Symbol: "USDC", Name: "USD Coin", DailyVolumeUSD: &volume, FirstSeenAt: &later},
		1: {Mint: mintOf(1), Symbol: "UЅDC", Name: "USD Coin", FirstSeenAt: &later},
		2: {Mint: mintOf(2), Symbol: "usdc", Name: "Something else", FirstSeenAt: &first},
		3: {Mint: mintOf(3), Symbol: "USDC", Name: "USD C0in"},
	}
	x, err := New(rows)
	require.NoError(t, err)
	var changes []replica.Change
	for id, token := range rows {
		changes = append(changes, replica.Change{Row: replica.Row{ID: id, Mint: token.Mint, Token: token}})
	}
	x.Apply(changes)
	require.Equal(t, Evidence{Skeleton: "USDC", Sharing: 4, RankByVolume: 1, RankByAge: 2 + tie(1, 0), Canonical: mintOf(0), Signals: []Signal{}}, x.Of(0, rows[0]))
	require.Equal(t, []Signal{SignalHomoglyph, SignalCopiedName, SignalMixedScript}, x.Of(1, rows[1]).Signals)
	require.Equal(t, Evidence{Skeleton: "USDC", Sharing: 4, RankByVolume: 2, RankByAge: 1, Canonical: mintOf(0), Signals: []Signal{}}, x.Of(2, rows[2]))
	require.Equal(t, Evidence{
		Skeleton: "USDC", Sharing: 4, RankByVolume: 4, RankByAge: 4, Canonical: mintOf(0), Signals: []Signal{SignalHomoglyph, SignalCopiedName},
	}, x.Of(3, rows[3]))
}

// tie is 1 when mint a stands before mint b.
func tie(a, b uint32) int {
	if mintOf(a).String() < mintOf(b).String() {
		return 1
	}
	return 0
}

// TestCollidingHashesShareNothing: the rows decide.
func TestCollidingHashesShareNothing(t *testing.T) {
	rows := fakeRows{0: {Mint: mintOf(0), Symbol: "A"}, 1: {Mint: mintOf(1), Symbol: "A"}}
	x, err := New(rows)
	require.NoError(t, err)
	x.Apply([]replica.Change{{Row: replica.Row{ID: 0, Token: rows[0]}}, {Row: replica.Row{ID: 1, Token: rows[1]}}})
	canonical := x.placeOf(0).canonical
	other := 1 - canonical
	rows[canonical] = &registry.Token{Mint: mintOf(canonical), Symbol: "B"} // as if B had A's hash
	require.Equal(t, 1, x.Of(other, rows[other]).Sharing)
	require.Equal(t, mintOf(other), x.Of(other, rows[other]).Canonical)
}
