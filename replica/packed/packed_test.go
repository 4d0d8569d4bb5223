package packed_test

import (
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// values are what facts hold: everything that is written in a form of its own, and what only looks
// like it.
func values(mint pubkey.Key) *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{
			"", "0", "-0", "00", "-", "-5", "5000", "1700000000000", "18446744073709551615", "18446744073709551616", "-18446744073709551615", "true", "false", mint.String(),
			mint.String() + "x", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "11111111111111111111111111111111", "1111111111111111111111111111111111111111111",
			"{", "}", `{"`, `"`, `":"`, `","`, `","name":"`, `{"uri":"`, `{"url":"x","status":"ok"}`, "https://", "/", "a/b", "Qm", "bafkrei", "bafybei",
		}),
		rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{
			`{"uri":"`, `","name":"`, `","description":"`, `"}`, `{`, `"`, `":"`, "https://ipfs.io/ipfs/", "https://", "/", "Pepe", "Pepe the Frog", "PEPE", ".json", " ", "\\",
			"QmcXHZnXFpQuaNRR9vVx8Lygwy5pJZG3Evp7WJ9QNarXMn", "QmzXHZnXFpQuaNRR9vVx8Lygwy5pJZG3Evp7WJ9QNarXMn", "bafkreibrlfwxe4245f4oix2kghxth6jwu3k5vcen7jpokwam6drpwgpt7i",
			"bafkreibrlfwxe4245f4oix2kghxth6jwu3k5vcen7jpokwam6drpwgpt7j", "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi", "bafybei",
			"mOBAgKkUArMnufJy5cHsXah-CQU2fiV1Nxo-zhxw_dA", "mOBAgKkUArMnufJy5cHsXah-CQU2fiV1Nxo-zhxw_dB", "9BB6NFEcjBCtnNLFko2FqVQBq8HHM13kCyYcdQbgpump", "\x03", "é", "\xff",
		})), func(parts []string) string { return strings.Join(parts, "") }),
	)
}

func position(t *rapid.T) schemas.Position {
	return rapid.OneOf(
		rapid.Map(rapid.Uint64Range(0, 3), schemas.EndOfSlot),
		rapid.Just(schemas.Position{Slot: 400_000_000, Order: 1<<63 | 7<<40 | 3<<28 | 2<<14}),
		rapid.Custom(func(t *rapid.T) schemas.Position {
			edge := rapid.SampledFrom([]uint64{0, 1, 1 << 63, math.MaxUint64, math.MaxUint64 - 1, 1<<63 - 1})
			return schemas.Position{
				Slot: rapid.OneOf(edge, rapid.Uint64()).Draw(t, "slot"), Order: rapid.OneOf(edge, rapid.Uint64()).Draw(t, "order"),
			}
		}),
	).Draw(t, "position")
}

func facts(t *rapid.T, mint pubkey.Key) []registry.Fact {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) registry.Fact {
		return registry.Fact{
			Mint: mint, Register: registry.Register(rapid.Byte().Draw(t, "register")), Position: position(t), Value: values(mint).Draw(t, "value"),
			Item: rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"metadata_pointer", ".key", hex.EncodeToString(make([]byte, 16)), strings.Repeat("A", 32)}), rapid.String()).Draw(t, "item"),
		}
	}), 0, 40).Draw(t, "facts")
}

// comesBack fails with the first fact that is another.
func comesBack(t *rapid.T, want, got []registry.Fact) {
	require.Equal(t, len(want), len(got))
	for i := range got {
		require.Equal(t, want[i], got[i])
	}
}

// TestFactsComeBackAsTheyWere: any facts, in any order, with shared values that are few or many.
func TestFactsComeBackAsTheyWere(t *testing.T) {
	mint := pubkey.Key{7, 31: 9}
	rapid.Check(t, func(t *rapid.T) {
		shared := packed.NewShared()
		writer, reader := packed.NewWriter(shared), packed.NewReader(shared)
		type pack struct {
			bytes []byte
			facts []registry.Fact
		}
		var packs []pack
		for range rapid.IntRange(1, 4).Draw(t, "states") {
			state := facts(t, mint)
			// the second time what is shared knows it
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				packs = append(packs, pack{writer.Append([]byte("before"), mint, state), state})
			}
		}
		for _, p := range packs {
			require.Equal(t, "before", string(p.bytes[:6]))
			comesBack(t, p.facts, reader.Facts(mint, p.bytes[6:]))
			comesBack(t, p.facts, reader.ReusedFacts(mint, p.bytes[6:]))
		}
	})
}

// TestChangedFactsComeBack: whatever is replaced, added or left out of what was read.
func TestChangedFactsComeBack(t *testing.T) {
	mint := pubkey.Key{7, 31: 9}
	rapid.Check(t, func(t *rapid.T) {
		shared := packed.NewShared()
		writer, reader := packed.NewWriter(shared), packed.NewReader(shared)
		before := writer.Append(nil, mint, facts(t, mint))
		changed := slices.Clone(reader.Facts(mint, before))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at, others := rapid.IntRange(0, len(changed)).Draw(t, "at"), facts(t, mint)
			to := min(at+rapid.IntRange(0, 2).Draw(t, "left out"), len(changed))
			changed = slices.Replace(changed, at, to, others[:min(len(others), 2)]...)
		}
		after := writer.AppendChanged([]byte("before"), mint, changed, reader)
		require.Equal(t, "before", string(after[:6]))
		comesBack(t, changed, packed.NewReader(shared).Facts(mint, after[6:]))
	})
}

func TestFoldedStatesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := map[pubkey.Key]*registry.State{}
		for _, message := range registrytest.Messages(40).Draw(t, "messages") {
			for _, fact := range message.Facts() {
				if states[fact.Mint] == nil {
					states[fact.Mint] = new(registry.State)
				}
				states[fact.Mint].Apply(fact)
			}
		}
		shared := packed.NewShared()
		writer, reader := packed.NewWriter(shared), packed.NewReader(shared)
		for mint, state := range states {
			for range 3 {
				require.Equal(t, state.Facts(), reader.Facts(mint, writer.Append(nil, mint, state.Facts())))
			}
		}
	})
}

func corpus(t testing.TB) *registrytest.Corpus {
	listed, err := registrytest.ReadLists(testkit.Shared(t, "data/tokenlists"))
	require.NoError(t, err)
	return registrytest.NewCorpus(1, listed)
}

func TestRealNamesComeBack(t *testing.T) {
	c, shared := corpus(t), packed.NewShared()
	writer, reader := packed.NewWriter(shared), packed.NewReader(shared)
	for token := range c.Tokens(16_000) {
		state := c.AppendFacts(nil, &token)
		if got := reader.Facts(token.Mint, writer.Append(nil, token.Mint, state)); !slices.Equal(state, got) {
			require.Equal(t, state, got)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	c, shared := corpus(b), packed.NewShared()
	writer := packed.NewWriter(shared)
	const n = 100_000
	var states [n][]registry.Fact
	for i := range states {
		token := c.Token(i + 20_000)
		states[i] = c.AppendFacts(nil, &token)
	}
	var dst []byte
	size := 0
	for i := 0; b.Loop(); i++ {
		state := states[i%n]
		dst = writer.Append(dst[:0], state[0].Mint, state)
		size += len(dst)
	}
	b.ReportMetric(float64(size)/float64(b.N), "bytes/token")
}

func BenchmarkRead(b *testing.B) {
	c, shared := corpus(b), packed.NewShared()
	writer, reader := packed.NewWriter(shared), packed.NewReader(shared)
	const n = 100_000
	var states [n][]byte
	var mints [n]pubkey.Key
	for i := range states {
		token := c.Token(i + 20_000)
		mints[i], states[i] = token.Mint, writer.Append(nil, token.Mint, c.AppendFacts(nil, &token))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		reader.Facts(mints[i%n], states[i%n])
	}
}

func BenchmarkToken(b *testing.B) {
	benchmarkToken(b, func(mint pubkey.Key, reader *packed.Reader, state []byte) {
		s := registry.StateOf(reader.Facts(mint, state))
		s.Token(mint)
	})
}

func BenchmarkLentToken(b *testing.B) {
	var room registry.TokenBuffer
	benchmarkToken(b, func(mint pubkey.Key, reader *packed.Reader, state []byte) {
		s := registry.StateOf(reader.ReusedFacts(mint, state))
		s.TokenIn(mint, &room)
	})
}

func benchmarkToken(b *testing.B, read func(mint pubkey.Key, reader *packed.Reader, state []byte)) {
	c, shared := corpus(b), packed.NewShared()
	writer, reader := packed.NewWriter(shared), packed.NewReader(shared)
	const n = 100_000
	var states [n][]byte
	var mints [n]pubkey.Key
	for i := range states {
		token := c.Token(i + 20_000)
		mints[i], states[i] = token.Mint, writer.Append(nil, token.Mint, c.AppendFacts(nil, &token))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		read(mints[i%n], reader, states[i%n])
	}
}
