package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// linked is blocks from..to of one chain; number tells chains apart.
func linked(number byte, from, to uint64) (list []*chain.Block) {
	hash := func(slot uint64) pubkey.Key { return pubkey.Key{number, byte(slot >> 8), byte(slot), 1} }
	for slot := from; slot <= to; slot++ {
		b := newBlock(slot, slot-1)
		b.Blockhash, b.ParentBlockhash = hash(slot), hash(slot-1)
		list = append(list, b)
	}
	return list
}

func ingest(t *testing.T, l *log, kind string, check bool, list ...*chain.Block) error {
	t.Helper()
	r, err := runner.New(runner.Config{Sources: []source.Source{blocks(kind, list...)}, CheckLinks: check}, runner.Deps{Producer: l, Ledger: l, Mints: l})
	require.NoError(t, err)
	return r.Run(context.Background())
}

// TestAnotherChainIsNotJoined: a stream without a genesis hash must continue the ledger.
func TestAnotherChainIsNotJoined(t *testing.T) {
	for name, c := range map[string]struct {
		next []*chain.Block
		want string
	}{
		"goes on":             {next: linked(1, 141, 150)},
		"repeats":             {next: linked(1, 130, 150)},
		"a gap":               {next: linked(1, 145, 150)},
		"another chain":       {linked(2, 141, 150), "block 141"},
		"a reset one":         {linked(2, 110, 150), "names block"},
		"a reset one, before": {linked(2, 90, 150), "another chain"},
	} {
		l := &log{}
		require.NoError(t, ingest(t, l, "geyser", true, linked(1, 101, 140)...))
		err := ingest(t, l, "geyser", true, c.next...)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
		require.ErrorContains(t, err, "--data-dir", name)
		require.NoError(t, ingest(t, l, "file", true, c.next...), "files are not judged")
		require.NoError(t, ingest(t, l, "geyser", false, c.next...))
	}
	l := &log{}
	require.NoError(t, ingest(t, l, "geyser", true, linked(1, 101, 140)...))
	fork := linked(1, 139, 150)
	fork[0].Blockhash, fork[1].ParentBlockhash = pubkey.Key{9}, pubkey.Key{9}
	require.NoError(t, ingest(t, l, "geyser", true, fork...), "a fork is no other chain")
}
