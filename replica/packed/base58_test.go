package packed_test

import (
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/replica/packed"
)

func TestKeysReadAndWriteAsBase58(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var key packed.Key
		copy(key[rapid.IntRange(0, 32).Draw(t, "zeros"):], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
		require.Equal(t, base58.Encode(key[:]), key.String())
		parsed, ok := packed.ParseKey(key.String())
		require.True(t, ok)
		require.Equal(t, key, parsed)
	})
}

func TestParseKeyTakesNoOtherText(t *testing.T) {
	check := func(t *rapid.T, text string) {
		raw, err := base58.Decode(text)
		key, ok := packed.ParseKey(text)
		require.Equal(t, err == nil && len(raw) == 32 && base58.Encode(raw) == text, ok, text)
		if ok {
			require.Equal(t, raw, key[:])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringMatching("[1-9A-HJ-NP-Za-km-z]{30,46}").Draw(t, "digits"))
		check(t, rapid.StringMatching("1{0,8}[1-9A-HJ-NP-Za-km-z]{20,44}").Draw(t, "zeros"))
		check(t, rapid.StringN(0, 50, 60).Draw(t, "any"))
	})
}

func BenchmarkKeyString(b *testing.B) {
	key := packed.Key{1, 2, 3, 31: 9}
	var room []byte
	for b.Loop() {
		room = key.Append(room[:0])
	}
}

func BenchmarkParseKey(b *testing.B) {
	key := packed.Key{1, 2, 3, 31: 9}
	text := key.String()
	for b.Loop() {
		packed.ParseKey(text)
	}
}
