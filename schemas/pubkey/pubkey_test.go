package pubkey_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestKeysReadAndWriteAsBase58(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var key pubkey.Key
		copy(key[rapid.IntRange(0, 32).Draw(t, "zeros"):], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
		require.Equal(t, base58.Encode(key[:]), key.String())
		parsed, err := pubkey.Parse(key.String())
		require.NoError(t, err)
		require.Equal(t, key, parsed)
	})
}

func TestParseTakesNoOtherText(t *testing.T) {
	check := func(t *rapid.T, text string) {
		raw, err := base58.Decode(text)
		if err == nil && len(raw) == 32 && base58.Encode(raw) == text {
			require.Equal(t, pubkey.Key(raw), pubkey.MustParse(text))
			return
		}
		_, err = pubkey.Parse(text)
		require.ErrorIs(t, err, pubkey.ErrText, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringMatching("[1-9A-HJ-NP-Za-km-z]{30,46}").Draw(t, "digits"))
		check(t, rapid.StringMatching("1{0,8}[1-9A-HJ-NP-Za-km-z]{20,44}").Draw(t, "zeros"))
		check(t, rapid.StringN(0, 50, 60).Draw(t, "any"))
	})
}

func FuzzParse(f *testing.F) {
	f.Add("So11111111111111111111111111111111111111112")
	f.Add("11111111111111111111111111111111")
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := pubkey.Parse(text); err == nil {
			require.Equal(t, text, key.String())
		}
	})
}

// keys have texts of all lengths from 32 to 44.
var keys = rapid.Custom(func(t *rapid.T) (key pubkey.Key) {
	zeros := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 32)).Draw(t, "zeros")
	copy(key[zeros:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
	return key
})

func TestKeysAreOrderedAsTheirTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		if rapid.Bool().Draw(t, "alike") { // as far as this text goes with 1s behind
			if key, err := pubkey.Parse(strings.TrimRight(a.String(), "1") + strings.Repeat("1", rapid.IntRange(0, 3).Draw(t, "ones"))); err == nil {
				b = key
			}
		}
		require.Equal(t, strings.Compare(a.String(), b.String()), pubkey.Compare(a, b), "%s %s", a, b)
		if a.Prefix() != b.Prefix() {
			require.Equal(t, a.String() < b.String(), a.Prefix() < b.Prefix(), "%s %s", a, b)
		}
	})
	short, long := pubkey.MustParse("zGh48JqNmTRvHN3A9BNTrpo9F5ZMnBS3mkQrQ3kGwHv"), pubkey.MustParse("9BB6NFEcjBCtnNLFko2FqVQBq8HHM13kCyYcdQbgpump")
	require.Positive(t, pubkey.Compare(short, long), "the shorter number has the later text")
	one := pubkey.MustParse("11111111111111111111111111111111")
	require.Negative(t, pubkey.Compare(one, long))
}

func TestKeysAreBase58InJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := keys.Draw(t, "key")
		text, err := json.Marshal(map[string]pubkey.Key{"mint": key})
		require.NoError(t, err)
		require.Equal(t, `{"mint":"`+key.String()+`"}`, string(text))
		var read map[string]pubkey.Key
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, key, read["mint"])
	})
	var key pubkey.Key
	require.ErrorIs(t, json.Unmarshal([]byte(`"no key"`), &key), pubkey.ErrText)
}

func TestOtherTextsAreNoKeys(t *testing.T) {
	for _, bad := range []string{"", "0", "l", "abc", strings.Repeat("1", 33), strings.Repeat("z", 60)} {
		_, err := pubkey.Parse(bad)
		require.ErrorIs(t, err, pubkey.ErrText, bad)
		require.Panics(t, func() { pubkey.MustParse(bad) })
	}
}
