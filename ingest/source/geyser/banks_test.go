package geyser

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/source/accounts"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// followed returns a follower that was given no message yet.
func followed(t *testing.T, sink *book) *follower {
	t.Helper()
	s := open(t, "recorded:1", nil)
	buffer := accounts.NewBuffer(nil)
	carrier := order.NewCarrier(sink, buffer, s.metrics)
	repairer := repair.New(repair.Config{}, repair.Deps{Ledger: sourcetest.Ledger{}, Sink: carrier, Metrics: s.metrics, Logger: s.log})
	carrier.OnGap = repairer.OnGap
	return &follower{Source: s, carrier: carrier, line: order.New(order.Config{Skips: true}, 0), repairer: repairer, buffer: buffer}
}

// TestBanksOfALiveStream: ten sequences in which slots have several banks, as a server at confirmed
// sends them. The ledger ends with the chain; a slot whose block lost is dead or skipped.
func TestBanksOfALiveStream(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/chain-2026/geyser"), "*.json"))
	require.NoError(t, err)
	require.Len(t, names, 10)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(name)
			require.NoError(t, err)
			var want struct {
				Expect struct {
					Ledger map[string]struct{ Status, Blockhash string }
				}
			}
			require.NoError(t, json.Unmarshal(raw, &want))
			data, err := os.ReadFile(strings.TrimSuffix(name, ".json") + ".confirmed.bin")
			require.NoError(t, err)
			sink := newBook()
			f := followed(t, sink)
			for len(data) > 0 {
				size := binary.BigEndian.Uint32(data)
				require.NoError(t, f.message(t.Context(), data[4:4+size], make(chan struct{}, 1)))
				data = data[4+size:]
			}
			require.Empty(t, sink.RefusedInputs())
			require.Empty(t, sink.ledger.Coverage().Gaps)
			require.Zero(t, f.line.Waiting())
			for text, expected := range want.Expect.Ledger {
				slot, err := strconv.ParseUint(text, 10, 64)
				require.NoError(t, err)
				if expected.Status == "ingested" {
					require.True(t, sink.ledger.Ingested(slot, pubkey.MustParse(expected.Blockhash)), slot)
					require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_INGESTED, sink.last[slot])
					continue
				}
				require.Contains(t, []eventspb.SlotStatus{eventspb.SlotStatus_SLOT_STATUS_SKIPPED, eventspb.SlotStatus_SLOT_STATUS_DEAD}, sink.last[slot], slot)
			}
		})
	}
}

// TestABrokenTransactionKeepsTheStream: the block is delivered with the others, and the connection
// is not given up.
func TestABrokenTransactionKeepsTheStream(t *testing.T) {
	c := sourcetest.NewChain(1000, 3)
	sink := newBook()
	f := followed(t, sink)
	for i, b := range c {
		update := b.Update()
		if i == 1 {
			update.GetBlock().Transactions = append(update.GetBlock().Transactions, &pb.SubscribeUpdateTransactionInfo{Index: 99})
			update.GetBlock().ExecutedTransactionCount = 1000
		}
		message, err := proto.Marshal(update)
		require.NoError(t, err)
		require.NoError(t, f.message(t.Context(), message, make(chan struct{}, 1)))
	}
	require.Len(t, sink.Blocks(), 3)
	require.Len(t, sink.Blocks()[1].Transactions, c[1].Transactions)
	require.Len(t, sink.Blocks()[1].Unread, 1)
	require.Equal(t, 99, sink.Blocks()[1].Unread[0].Index)
	require.Empty(t, sink.RefusedInputs())
	require.Zero(t, f.garbage)
}
