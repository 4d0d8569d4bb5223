package decode_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
)

// rewritten returns a block of which 42 % of the transactions were rewritten as version 1, in one
// of its forms.
func rewritten(t testing.TB, slot, folder, form string) *chain.Block {
	t.Helper()
	rel := "data/chain-2026/blocks/" + folder + "/" + form + "/" + slot
	if form != "geyser" {
		return loadBlock(t, rel+".json.gz")
	}
	message := readShared(t, rel+".subscribeupdate.bin")
	require.Len(t, message[4:], int(binary.BigEndian.Uint32(message)))
	update, err := parse.Reader{}.GeyserUpdate(message[4:])
	require.NoError(t, err)
	return update.Block
}

// TestGoldensOfVersionOne: version 1 changes no event, leg or mint, whatever form it comes in.
func TestGoldensOfVersionOne(t *testing.T) {
	for slot, want := range map[string]struct{ events, legs int }{
		"254170887": {68, 49}, "332254855": {2, 27}, "361774429": {2, 114},
	} {
		forms := map[string][]string{"-alpenglow": {"base64", "json", "jsonParsed", "geyser"}}
		if slot == "361774429" {
			forms["-votes"] = []string{"base64"}
		}
		for suffix, list := range forms {
			for _, form := range list {
				t.Run(slot+suffix+"/"+form, func(t *testing.T) {
					block := rewritten(t, slot, slot+suffix, form)
					require.True(t, block.Whole)
					require.Empty(t, block.Unread)
					require.Zero(t, block.OverLimit)
					golden := "data/chain-2026/blocks/" + slot + suffix + "/golden.json"
					require.Equal(t, want.events, compareBlock(t, block, loadGolden(t, golden), usedDifferences{}))
					require.Equal(t, want.legs, compareSwaps(t, []*chain.Block{block}, loadGoldenSwaps(t, golden), map[string]int{}))
				})
			}
		}
	}
}
