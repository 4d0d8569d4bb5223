package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
)

func TestBackfillTellsWhatIsWrong(t *testing.T) {
	silent := slog.New(slog.DiscardHandler)
	cfg := defaults()
	require.ErrorContains(t, backfill(t.Context(), cfg, silent, backfillOptions{from: 5, to: 2, parallel: 1}), "--from 5 is behind --to 2")
	require.ErrorContains(t, backfill(t.Context(), cfg, silent, backfillOptions{from: 1, to: 2, parallel: 1}), "--rpc-upstream")
	cfg.RPC.Upstream = []string{"http://127.0.0.1:1"}
	require.ErrorContains(t, backfill(t.Context(), cfg, silent, backfillOptions{from: 1, to: 2, commitment: "processed", parallel: 1}), "commitment")
}

func TestRecordTellsWhatIsWrong(t *testing.T) {
	silent := slog.New(slog.DiscardHandler)
	cfg := defaults()
	for _, source := range []string{"none", "demo:", "file:x", "rpc+http://h"} {
		cfg.Source = []string{source}
		require.ErrorContains(t, record(t.Context(), cfg, silent, recordOptions{}), "can be recorded", source)
	}
}

func TestBackfillEstimate(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	var e estimate
	require.Equal(t, "backfill: reading the slot ledger", e.line(runner.Progress{}, began))
	p := runner.Progress{Read: 100, Total: 1100, Slot: 99}
	require.NotContains(t, e.line(p, began), "left", "nothing is known of the rate yet")
	p.Read, p.Refused = 200, 2
	require.Contains(t, e.line(p, began.Add(10*time.Second)), "200 of 1100 slots (18 %), slot 99, 0 blocks, 0 transactions, 10.0 slots/s, 1m30s left, 2 blocks refused")
}
