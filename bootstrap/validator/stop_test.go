package validator_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/lattice"
)

// stopAfter extracts mints, and stops the run after that many accounts.
func stopAfter(accounts int, stop context.CancelFunc) validator.Extract {
	var seen atomic.Int64
	return func(a *lattice.Account) (*eventspb.Enrichment, string) {
		if seen.Add(1) == int64(accounts) {
			stop()
		}
		return validator.Mints(a)
	}
}

// fifo makes a named pipe.
func fifo(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}
