package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

func TestBackfillTellsWhatIsWrong(t *testing.T) {
	silent := slog.New(slog.DiscardHandler)
	cfg := defaults()
	require.ErrorContains(t, backfill(t.Context(), cfg, silent, backfillOptions{from: 5, to: 2, parallel: 1}), "--from 5 is behind --to 2")
	require.ErrorContains(t, backfill(t.Context(), cfg, silent, backfillOptions{from: 1, to: 2, parallel: 1}), "--rpc-upstream")
	cfg.RPC.Upstream = []string{"http://127.0.0.1:1"}
	require.ErrorContains(t, backfill(t.Context(), cfg, silent, backfillOptions{from: 1, to: 2, commitment: "processed", parallel: 1}), "commitment")
}

// acknowledging takes every record.
type acknowledging struct{}

func (acknowledging) Produce(context.Context, ...kafka.Record) error { return nil }

// TestBackfillFailsForWhatIsNotProved: the server lists the last two blocks, or leaves them out,
// and then says that their slots were skipped. The block behind them names them as its ancestors.
func TestBackfillFailsForWhatIsNotProved(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	from, to := c[0].Slot, c[9].Slot
	for _, listed := range []int{8, 10, 12} {
		for _, hidden := range []bool{false, true} {
			slot := func(params []json.RawMessage) (n uint64) { _ = json.Unmarshal(params[0], &n); return n }
			node := httptest.NewServer(&jsonrpc.Handler{Methods: map[string]jsonrpc.Method{
				"getSlot": func([]json.RawMessage) (any, error) { return c[11].Slot, nil },
				"getBlocks": func([]json.RawMessage) (any, error) {
					slots := []uint64{}
					for _, b := range c[:listed] {
						slots = append(slots, b.Slot)
					}
					return slots, nil
				},
				"getBlock": func(params []json.RawMessage) (any, error) {
					at := slot(params)
					if b := c.At(at); b != nil && (!hidden || at < c[8].Slot || at > c[9].Slot) {
						return json.RawMessage(b.JSON(t)), nil
					}
					return nil, &jsonrpc.Error{Code: solana.CodeSlotSkipped, Message: "skipped"}
				},
			}})
			client, err := solana.NewClient(solana.Config{Endpoints: []string{node.URL}}, solana.Deps{})
			require.NoError(t, err)
			blocks, err := rpc.NewBackfill(rpc.Config{From: &from, To: &to}, rpc.Deps{Client: client})
			require.NoError(t, err)
			room, err := runner.New(runner.Config{Sources: []source.Source{blocks}, Beside: true}, runner.Deps{Producer: acknowledging{}})
			require.NoError(t, err)
			err = runBackfill(t.Context(), room, backfillOptions{from: from, to: to})
			node.Close()
			if hidden {
				require.ErrorContains(t, err, "nor proved to have no block")
				require.EqualValues(t, 8, room.Progress().Blocks)
			} else {
				require.NoError(t, err)
				require.EqualValues(t, 10, room.Progress().Blocks)
			}
		}
	}
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
