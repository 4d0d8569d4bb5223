package runner_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
)

// TestGuessedParentsAreToldOnce: a development node names every block as its own parent, and the
// log says so once.
func TestGuessedParentsAreToldOnce(t *testing.T) {
	first, second := newBlock(100, 99), newBlock(101, 100)
	first.ParentGuessed, second.ParentGuessed = true, true
	var told bytes.Buffer
	l := &log{}
	r, err := runner.New(runner.Config{Sources: []source.Source{blocks("rpc", first, second)}},
		runner.Deps{Producer: l, Ledger: l, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	require.NoError(t, err)
	require.NoError(t, r.Run(context.Background()))
	require.Equal(t, 1, strings.Count(told.String(), "names itself as its parent"), told.String())
	require.Len(t, l.of("slot"), 2)
}
