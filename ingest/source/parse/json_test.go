package parse

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/testkit"
)

func sharedBytes(t testing.TB, rel string) []byte {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, rel))
	require.NoError(t, err)
	if strings.HasSuffix(rel, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		data, err = io.ReadAll(z)
		require.NoError(t, err)
	}
	return data
}

type golden struct {
	Block struct {
		Parent    uint64
		BlockTime int64
		Hash      string
	}
	Summary struct {
		Counts struct {
			Transactions, Vote int
			Failed             int `json:"failed_skipped"`
			Good               int `json:"successful_non_vote"`
		}
	}
	Transactions []struct {
		Sig   string
		Slot  *uint64
		Index *int
		File  string
		Mints []struct {
			Mint     string
			Decimals uint8
			Program  *string
		}
		TokenEvents []struct {
			Outer  int
			Inner  *int
			Height int
		} `json:"token_events"`
	}
}

func readGolden(t testing.TB, name string) (g golden) {
	t.Helper()
	require.NoError(t, json.Unmarshal(sharedBytes(t, "data/golden/"+name+".json"), &g))
	return g
}

// requireGolden compares a whole block with what was computed independently of it.
func requireGolden(t *testing.T, b *chain.Block, g golden) {
	t.Helper()
	require.True(t, b.Whole)
	require.Equal(t, g.Block.Parent, *b.ParentSlot)
	require.Equal(t, g.Block.BlockTime, b.BlockTime)
	require.Equal(t, g.Block.Hash, base58.Encode(b.Blockhash[:]))
	require.Len(t, b.Transactions, g.Summary.Counts.Transactions)
	votes, failed, good := 0, 0, map[string]*chain.Transaction{}
	for i := range b.Transactions {
		tx := &b.Transactions[i]
		require.Equal(t, i, tx.Index)
		switch {
		case tx.Vote:
			votes++
		case tx.Failed:
			failed++
		default:
			good[base58.Encode(tx.Signature[:])] = tx
		}
	}
	require.Equal(t, g.Summary.Counts.Vote, votes)
	require.Equal(t, g.Summary.Counts.Failed, failed)
	require.Len(t, good, g.Summary.Counts.Good)
	for _, want := range g.Transactions {
		tx := good[want.Sig]
		require.NotNil(t, tx, want.Sig)
		require.Equal(t, *want.Index, tx.Index)
		mints := map[string]bool{}
		for _, list := range [][]chain.TokenBalance{tx.PreBalances, tx.PostBalances} {
			for _, bal := range list {
				mints[base58.Encode(bal.Mint[:])] = true
			}
		}
		require.Len(t, mints, len(want.Mints), want.Sig)
		for _, e := range want.TokenEvents {
			call := &tx.Instructions[e.Outer].Call
			if e.Inner != nil {
				call = &tx.Instructions[e.Outer].Inner[*e.Inner]
			}
			require.Equal(t, e.Height, call.StackHeight)
		}
	}
}

func TestBlockJSONAgreesWithGoldens(t *testing.T) {
	for slot, name := range map[uint64]string{254170887: "254170887", 361774429: "361774429"} {
		b, err := Reader{}.BlockJSON(sharedBytes(t, "data/blocks/"+name+".json.gz"), slot)
		require.NoError(t, err)
		requireGolden(t, b, readGolden(t, name))
	}
}

func TestTransactionFiles(t *testing.T) {
	g := readGolden(t, "transactions")
	bySig := map[string]int{}
	for i, tx := range g.Transactions {
		bySig[tx.Sig] = i
	}
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/transactions"), "*.json"))
	require.NoError(t, err)
	seen, failed := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		blocks, err := Reader{}.JSON(data, nil)
		if strings.Contains(file, "getaccountinfo") {
			require.ErrorIs(t, err, ErrNoTransaction)
			require.ErrorContains(t, err, "account")
			continue
		}
		require.NoError(t, err, file)
		require.Len(t, blocks, 1, file)
		tx := blocks[0].Transactions[0]
		if tx.Failed {
			failed++
			continue
		}
		i, ok := bySig[base58.Encode(tx.Signature[:])]
		require.True(t, ok, file)
		want := g.Transactions[i]
		if want.Slot != nil {
			require.Equal(t, *want.Slot, blocks[0].Slot, file)
		}
		if strings.HasSuffix(file, "swap_burn_raydium_cpmm_1.json") {
			require.Equal(t, 11, tx.Index)
		} else {
			require.Equal(t, -1, tx.Index)
		}
		require.False(t, blocks[0].Whole)
		seen++
	}
	require.Equal(t, g.Summary.Counts.Good, seen)
	require.Equal(t, g.Summary.Counts.Failed, failed)
}
