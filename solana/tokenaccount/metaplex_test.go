package tokenaccount_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// metaplexAccount writes the layout's part that all versions share. Text is padded as the program
// pads it.
func metaplexAccount(creators int) []byte {
	data := append([]byte{4}, bytes.Repeat([]byte{1}, 32)...)
	data = append(data, bytes.Repeat([]byte{2}, 32)...)
	for _, text := range []struct {
		value string
		size  int
	}{{"Mint Lake", 32}, {"LAKE", 10}, {"https://example.com/lake.json", 200}} {
		data = binary.LittleEndian.AppendUint32(data, uint32(text.size))
		data = append(data, text.value...)
		data = append(data, make([]byte, text.size-len(text.value))...)
	}
	data = append(data, 0xf4, 0x01)
	if creators < 0 {
		data = append(data, 0)
	} else {
		data = append(data, 1)
		data = binary.LittleEndian.AppendUint32(data, uint32(creators))
		for i := range creators {
			data = append(data, bytes.Repeat([]byte{byte(10 + i)}, 32)...)
			data = append(data, byte(i%2), 50)
		}
	}
	return append(data, 1, 1)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestMetaplexVersions(t *testing.T) {
	key := bytes.Repeat([]byte{9}, 32)
	number := []byte{5, 0, 0, 0, 0, 0, 0, 0}
	base := metaplexAccount(2)
	standard, size, zeroSize := uint8(2), uint64(5), uint64(0)
	nonce := uint8(254)
	ruleSet := pubkey.Key(key)
	tests := map[string]struct {
		trailer  []byte
		nonce    *uint8
		standard *uint8
		verified *bool
		uses     bool
		size     *uint64
		ruleSet  *pubkey.Key
	}{
		"V1.0 ends at is_mutable":       {trailer: nil},
		"V1.0 padded to 679":            {trailer: make([]byte, 679-len(base))},
		"V1.1 with nonce":               {trailer: []byte{1, 254}, nonce: &nonce},
		"V1.2 fungible":                 {trailer: join([]byte{1, 254, 1, 2, 0, 0}, make([]byte, 300)), nonce: &nonce, standard: &standard},
		"V1.2 collection and uses":      {trailer: join([]byte{1, 254, 1, 2, 1, 1}, key, []byte{1, 1}, number, number, make([]byte, 40)), nonce: &nonce, standard: &standard, verified: new(bool), uses: true},
		"V1.3 sized collection":         {trailer: join([]byte{1, 254, 1, 2, 0, 0, 1, 0}, number, make([]byte, 40)), nonce: &nonce, standard: &standard, size: &size},
		"V1.3 details V2":               {trailer: join([]byte{1, 254, 1, 2, 0, 0, 1, 1}, number, make([]byte, 40)), nonce: &nonce, standard: &standard, size: &zeroSize},
		"programmable, rule set":        {trailer: join([]byte{1, 254, 1, 2, 0, 0, 0, 1, 0, 1}, key), nonce: &nonce, standard: &standard, ruleSet: &ruleSet},
		"programmable, no rule set":     {trailer: []byte{1, 254, 1, 2, 0, 0, 0, 1, 0, 0}, nonce: &nonce, standard: &standard},
		"leftovers behind the nonce":    {trailer: bytes.Repeat([]byte{0x33}, 60)},
		"leftover token standard":       {trailer: join([]byte{1, 254, 1, 99}, make([]byte, 60)), nonce: &nonce},
		"leftover collection":           {trailer: join([]byte{1, 254, 1, 2, 1, 7}, make([]byte, 60)), nonce: &nonce},
		"leftover uses":                 {trailer: join([]byte{1, 254, 1, 2, 0, 1, 9}, make([]byte, 60)), nonce: &nonce},
		"cut off inside the collection": {trailer: join([]byte{1, 254, 1, 2, 1, 1}, key[:9]), nonce: &nonce},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			metadata, err := tokenaccount.ParseMetaplex(join(base, test.trailer))
			require.NoError(t, err)
			require.Equal(t, "Mint Lake", string(bytes.Trim(metadata.Name, "\x00")))
			require.Len(t, metadata.Name, 32, "padding is kept: trimming happens in the fold")
			require.Equal(t, "LAKE", string(bytes.Trim(metadata.Symbol, "\x00")))
			require.Equal(t, "https://example.com/lake.json", string(bytes.Trim(metadata.URI, "\x00")))
			require.EqualValues(t, 500, metadata.SellerFeeBasisPoints)
			require.Len(t, metadata.Creators, 2)
			require.True(t, metadata.IsMutable)
			require.Equal(t, test.nonce, metadata.EditionNonce)
			require.Equal(t, test.standard, metadata.TokenStandard)
			require.Equal(t, test.verified != nil, metadata.Collection != nil)
			require.Equal(t, test.uses, metadata.Uses != nil)
			require.Equal(t, test.size, metadata.CollectionSize)
			require.Equal(t, test.ruleSet, metadata.RuleSet)

			fact := metadata.Fact(pubkey.Key{8}).GetMetadata()
			require.Len(t, fact.GetCreators(), 2)
			require.True(t, fact.GetSetsCreators())
			require.Equal(t, test.standard != nil, fact.TokenStandard != nil)
			require.NotNil(t, fact.Collection)
		})
	}
}

func TestMetaplexRefuses(t *testing.T) {
	base := metaplexAccount(1)
	for _, key := range []byte{0, 1, 6, 255} {
		_, err := tokenaccount.ParseMetaplex(append([]byte{key}, base[1:]...))
		require.ErrorIs(t, err, tokenaccount.ErrOtherKind)
	}
	_, err := tokenaccount.ParseMetaplex(nil)
	require.ErrorIs(t, err, tokenaccount.ErrOtherKind)
	for n := 1; n < len(base); n++ {
		_, err := tokenaccount.ParseMetaplex(base[:n])
		require.ErrorIs(t, err, tokenaccount.ErrMalformed, "cut at %d", n)
	}
	_, err = tokenaccount.ParseMetaplex(metaplexAccount(33))
	require.ErrorIs(t, err, tokenaccount.ErrMalformed)
	none, err := tokenaccount.ParseMetaplex(metaplexAccount(-1))
	require.NoError(t, err)
	require.Empty(t, none.Creators)
}

// Whatever bytes lie behind the shared part, the shared part is read the same.
func TestMetaplexTrailerNeverHurts(t *testing.T) {
	base := metaplexAccount(2)
	rapid.Check(t, func(t *rapid.T) {
		metadata, err := tokenaccount.ParseMetaplex(join(base, rapid.SliceOfN(rapid.Byte(), 0, 120).Draw(t, "trailer")))
		require.NoError(t, err)
		require.EqualValues(t, 500, metadata.SellerFeeBasisPoints)
		if metadata.TokenStandard != nil {
			require.LessOrEqual(t, *metadata.TokenStandard, uint8(5))
		}
	})
}

func FuzzParseMetaplex(f *testing.F) {
	f.Add(metaplexAccount(2))
	f.Add(append(metaplexAccount(0), 1, 254, 1, 2, 1, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		metadata, err := tokenaccount.ParseMetaplex(data)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(metadata.Name)+len(metadata.Symbol)+len(metadata.URI), len(data))
		require.NotNil(t, metadata.Fact(pubkey.Key{}))
	})
}
