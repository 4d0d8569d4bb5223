package pubkey_test

import (
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

func TestOtherTextsAreNoKeys(t *testing.T) {
	for _, bad := range []string{"", "0", "l", "abc", strings.Repeat("1", 33), strings.Repeat("z", 60)} {
		_, err := pubkey.Parse(bad)
		require.ErrorIs(t, err, pubkey.ErrText, bad)
		require.Panics(t, func() { pubkey.MustParse(bad) })
	}
}
