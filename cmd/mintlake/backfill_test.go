package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
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

// nodeOf serves a made-up chain over JSON-RPC.
func nodeOf(t *testing.T, c sourcetest.Chain) (url string) {
	node := httptest.NewServer(&jsonrpc.Handler{Methods: map[string]jsonrpc.Method{
		"getGenesisHash": func([]json.RawMessage) (any, error) { return c[0].Hash.String(), nil },
		"getSlot":        func([]json.RawMessage) (any, error) { return c[len(c)-1].Slot, nil },
		"getBlocks": func([]json.RawMessage) (any, error) {
			slots := []uint64{}
			for _, b := range c {
				slots = append(slots, b.Slot)
			}
			return slots, nil
		},
		"getBlock": func(params []json.RawMessage) (any, error) {
			var slot uint64
			_ = json.Unmarshal(params[0], &slot)
			if b := c.At(slot); b != nil {
				return json.RawMessage(b.JSON(t)), nil
			}
			return nil, &jsonrpc.Error{Code: solana.CodeSlotSkipped, Message: "skipped"}
		},
	}})
	t.Cleanup(node.Close)
	return node.URL
}

// TestBackfillKeepsBalancesAsIngestDoes: a filled slot has balances of the same mints as the slots
// that ingest reads, or it would make every older mint incomplete. The command's own source says
// nothing of that: it is none beside a demo chain, too.
func TestBackfillKeepsBalancesAsIngestDoes(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	const ofAll, ofAList = 1, 77
	for name, test := range map[string]struct {
		live  uint64 // what the slots that ingest read have
		flags []string
		want  uint64 // what the filled slots have
		tip   uint64 // the live slot; by default the one behind the range
		err   string
	}{
		"as ingest, all":                        {live: ofAll, want: ofAll},
		"as ingest, none":                       {},
		"of a list":                             {live: ofAList, err: "--balances-mode list"},
		"all by a flag":                         {flags: []string{"--balances-mode", "all"}, want: ofAll},
		"none by a flag":                        {live: ofAll, flags: []string{"--balances-mode", "off"}},
		"not to the tip":                        {live: ofAll, tip: 5000, err: "slots 1011 to 4999 behind the range are missing"},
		"no balances of what is not to the tip": {live: ofAll, tip: 5000, flags: []string{"--balances-mode", "off"}},
	} {
		t.Run(name, func(t *testing.T) {
			brokers := kafkatest.Start(t)
			admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
			require.NoError(t, err)
			defer admin.Close()
			require.NoError(t, admin.EnsureTopics(t.Context(), topicSpecs(4, 1)))
			producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
			require.NoError(t, err)
			defer producer.Close()
			tip := cmp.Or(test.tip, 1011)
			// The last record is of a backfill by an earlier version, which kept no balances.
			for slot, live := range map[uint64]*eventspb.SlotRecord{tip: {Source: source.KindGeyser, Balances: test.live}, tip + 1: {Source: source.KindBackfill}} {
				live.Slot, live.Status, live.Blockhash = slot, eventspb.SlotStatus_SLOT_STATUS_INGESTED, make([]byte, 32)
				live.ParentSlot = proto.Uint64(slot - 1)
				value, err := proto.Marshal(live)
				require.NoError(t, err)
				require.NoError(t, producer.Produce(t.Context(), kafka.Record{
					Topic: schemas.TopicSlots, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSlot)}},
				}))
			}
			_, err = runCommand(t, append([]string{"backfill", "--from", "1000", "--to", "1010", "--check-links=false", "--rpc-upstream", nodeOf(t, c),
				"--kafka-brokers", strings.Join(brokers, ",")}, test.flags...)...)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			log, filled := eventlog.Kafka{Brokers: brokers, Admin: admin}, 0
			require.NoError(t, log.Slots().ReadSlots(t.Context(), func(record *eventspb.SlotRecord) {
				if record.GetSlot() <= 1010 && record.GetStatus() == eventspb.SlotStatus_SLOT_STATUS_INGESTED {
					filled++
					require.Equal(t, test.want, record.GetBalances(), "slot %d", record.GetSlot())
				}
			}))
			require.NotZero(t, filled)
			for _, topic := range []string{schemas.TopicBalances, schemas.TopicTransfers} {
				starts, ends, err := log.Bounds(t.Context(), topic)
				require.NoError(t, err)
				require.Equal(t, test.want != 0, eventlog.RecordsBetween(starts, ends) > 0, topic)
			}
		})
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
