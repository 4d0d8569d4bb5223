package trades

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// hang is what anything may take before it counts as hanging.
const hang = 30 * time.Second

// fetches is a tail that gives what a test sends, and then waits.
type fetches chan []kafka.Record

func (f fetches) FetchBatch(ctx context.Context, _ int, _ time.Duration) ([]kafka.Record, error) {
	select {
	case records := <-f:
		return records, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (fetches) Close() {}

func runHub(t *testing.T) (*Hub, fetches) {
	t.Helper()
	tail := make(fetches)
	hub, err := NewHub(HubConfig{MaxStreams: 10, MaxPerClient: 10, Networks: limits.Networks{}}, HubDeps{
		Open:   func(context.Context, []string) (kafka.TailReader, error) { return tail, nil },
		Price:  func(pubkey.Key) *float64 { return nil },
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return hub, tail
}

// bought are trades that buy a mint, from a slot on.
func bought(t *testing.T, mint pubkey.Key, from, count int) []kafka.Record {
	t.Helper()
	records := make([]kafka.Record, count)
	for i := range records {
		leg := &eventspb.SwapLeg{
			Position: &eventspb.Position{Slot: uint64(from + i), TransactionIndex: proto.Uint32(1)}, BlockTime: 1_800_000_000, Signature: make([]byte, 64), Venue: "raydium_cpmm",
			Pool: key(1), MintIn: key(2), MintOut: mint[:], Trader: key(3), AmountIn: 1, AmountOut: 1,
		}
		value, err := proto.Marshal(leg)
		require.NoError(t, err)
		records[i] = kafka.Record{Topic: schemas.TopicSwaps, Key: []byte(mint.String()), Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSwapLegOut)}}}
	}
	return records
}

func key(n byte) []byte { return append(make([]byte, 31), n) }

// TestAFetchOfOneMintReachesItsReader: a reader that runs only after a whole fetch was given, and
// another one, has all of it in order; one that stays behind is told.
func TestAFetchOfOneMintReachesItsReader(t *testing.T) {
	hub, tail := runHub(t)
	mint := pubkey.Key(key(9))
	reader, err := hub.Open("client", mint)
	require.NoError(t, err)
	defer reader.Close()
	reading, err := reader.Await(hang)
	require.NoError(t, err)
	require.True(t, reading)
	given := 0
	give := func(count int) {
		tail <- bought(t, mint, given, count)
		given += count
		tail <- nil // taken only after the fetch before was given
	}
	give(hubBatch)
	give(hubBatch)
	for slot := 0; slot < given; {
		list, err := reader.Next(hang)
		require.NoError(t, err)
		require.NotEmpty(t, list, "slot %d", slot)
		for _, trade := range list {
			require.EqualValues(t, slot, trade.Slot)
			slot++
		}
	}
	list, err := reader.Next(time.Millisecond)
	require.NoError(t, err)
	require.Empty(t, list)
	give(readerBacklog + 1)
	require.Eventually(t, func() bool {
		_, err = reader.Next(0)
		return err != nil
	}, hang, time.Millisecond)
	require.ErrorIs(t, err, ErrLagged, fmt.Sprint("after ", given))
}
