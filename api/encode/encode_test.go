package encode_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/api/encode"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// text is any string: of the bytes that matter, of Unicode, or of bytes that are no UTF-8.
func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune("ab\"\\/<>&\b\f\n\r\t\x00\x1f\x7fé漢\u2028\u2029\ufffd😀\u200b"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

func maybe[T any](value *rapid.Generator[T]) *rapid.Generator[*T] { return rapid.Ptr(value, true) }

func token() *rapid.Generator[*registry.Token] {
	return rapid.Custom(func(t *rapid.T) *registry.Token {
		optional := func(name string) *string { return maybe(text()).Draw(t, name) }
		number := func(name string) *int64 { return maybe(rapid.Int64()).Draw(t, name) }
		row := &registry.Token{
			Mint: pubkey.Key(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "mint")), Symbol: text().Draw(t, "symbol"), Name: text().Draw(t, "name"), Decimals: rapid.Uint8().Draw(t, "decimals"),
			LogoURL: optional("logo"), LogoStatus: text().Draw(t, "status"), IsToken22: rapid.Bool().Draw(t, "22"),
			DailyVolumeUSD: maybe(volumes()).Draw(t, "volume"), FirstSeenAt: number("first"), LastSeenAt: number("last"), Supply: optional("supply"),
			MintAuthority: optional("mint authority"), FreezeAuthority: optional("freeze authority"), MetaplexURI: optional("uri"),
			UpdateAuthority: optional("update authority"), SellerFeeBasisPoints: number("fee"), TokenStandard: number("standard"),
			Description: optional("description"), ExternalURL: optional("url"),
			Launchpad: optional("launchpad"), Creator: optional("creator"), GraduatedAt: number("graduated"),
			UIMultiplier: maybe(volumes()).Draw(t, "multiplier"), NextUIMultiplier: maybe(volumes()).Draw(t, "next multiplier"), NextUIMultiplierAt: number("next multiplier at"),
		}
		if rapid.Bool().Draw(t, "has extensions") {
			row.Extensions = rapid.MapOf(text(), text()).Draw(t, "extensions")
		}
		if rapid.Bool().Draw(t, "has tags") {
			row.Tags = rapid.SliceOf(text()).Draw(t, "tags")
		}
		return row
	})
}

func volumes() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1e12), rapid.SampledFrom([]float64{
		0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e-9, 1e-10, 1e20, 1e21, 1.5e22, -1e21, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 123456.789,
	}))
}

// TestEqualsEncodingJSON: for any row, every byte.
func TestEqualsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := token().Draw(t, "token")
		want, err := json.Marshal(row)
		require.NoError(t, err)
		require.Equal(t, string(want), string(encode.Token(nil, row)))
	})
}

// TestEveryFieldIsWritten: a field that registry.Token gains must be written too.
func TestEveryFieldIsWritten(t *testing.T) {
	row := full()
	want, err := json.Marshal(row)
	require.NoError(t, err)
	require.Equal(t, string(want), string(encode.Token(nil, row)))
}

func TestNoNumberIsNull(t *testing.T) {
	for _, volume := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Contains(t, string(encode.Token(nil, &registry.Token{DailyVolumeUSD: &volume})), `"daily_volume_usd":null`)
	}
}

// full is a row as most are.
func full() *registry.Token {
	text := func(s string) *string { return &s }
	number := func(n int64) *int64 { return &n }
	volume := 1_234_567.891
	return &registry.Token{
		Mint: pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"), Symbol: "USDC", Name: "USD Coin", Decimals: 6,
		LogoURL: text("https://raw.example.org/assets/mainnet/EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v/logo.png"), LogoStatus: "ok",
		DailyVolumeUSD: &volume, FirstSeenAt: number(1_700_000_000_000), LastSeenAt: number(1_800_000_000_000), Supply: text("5034943423423432"),
		MintAuthority: text("2wmVCSfPxGPjrnMMn7rchp4uaeoTqN39mXFC2zhPdri9"), FreezeAuthority: text("3sNBr7kMccME5D55xNgsmYpZnzPgP2g12CixAajXypn6"),
		MetaplexURI: text("https://example.org/metadata.json"), UpdateAuthority: text("2wmVCSfPxGPjrnMMn7rchp4uaeoTqN39mXFC2zhPdri9"),
		SellerFeeBasisPoints: number(0), TokenStandard: number(2), Description: text("Fully reserved & redeemable"), ExternalURL: text("https://example.org"),
		Extensions: map[string]string{"website": "https://example.org", "twitter": "https://x.example/usdc"}, Tags: []string{"stable", "verified"},
		Launchpad: text("pump"), Creator: text("3sNBr7kMccME5D55xNgsmYpZnzPgP2g12CixAajXypn6"), GraduatedAt: number(1_750_000_000_000),
	}
}

func BenchmarkToken(b *testing.B) {
	row, buffer := full(), []byte(nil)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			buffer = encode.Token(buffer[:0], row)
		}
		b.SetBytes(int64(len(buffer)))
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			buffer, _ = json.Marshal(row)
		}
		b.SetBytes(int64(len(buffer)))
	})
}
