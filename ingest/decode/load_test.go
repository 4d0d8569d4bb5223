package decode_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func readShared(t testing.TB, rel string) []byte {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, rel))
	require.NoError(t, err)
	if !strings.HasSuffix(rel, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	data, err = io.ReadAll(r)
	require.NoError(t, err)
	return data
}

// load reads recorded blocks and transactions as ingest does.
func load(t testing.TB, rel string) []*chain.Block {
	t.Helper()
	source, err := file.New(file.Config{Paths: []string{testkit.Shared(t, rel)}}, file.Deps{})
	require.NoError(t, err)
	var sink sourcetest.Sink
	require.NoError(t, source.Run(context.Background(), sourcetest.Ledger{}, &sink))
	require.NotEmpty(t, sink.Blocks())
	return sink.Blocks()
}

// loadBlock reads one recorded block.
func loadBlock(t testing.TB, rel string) *chain.Block {
	t.Helper()
	blocks := load(t, rel)
	require.Len(t, blocks, 1)
	return blocks[0]
}

// loadTransactions reads all recorded single transactions, by signature.
func loadTransactions(t testing.TB) map[string]*chain.Block {
	t.Helper()
	blocks := make(map[string]*chain.Block)
	for _, block := range load(t, "data/transactions") {
		blocks[base58.Encode(block.Transactions[0].Signature[:])] = block
	}
	return blocks
}

func key(t testing.TB, text string) pubkey.Key {
	t.Helper()
	raw, err := base58.Decode(text)
	require.NoError(t, err)
	require.Len(t, raw, 32)
	return pubkey.Key(raw)
}
