// Package market compares the figures of the market with plain loops over the legs of recorded
// blocks. It is the one place that uses ingest, projector, volume and API together without a node.
package market

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/volume"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// noon is the time of the first moment, less two days.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestTheMarketEqualsLoopsOverRealLegs: every figure of each mint that trades, at some moments, is
// what oracle_test.go computes. Legs come late, in pieces and twice. The room is killed between its
// steps, more legs come, and another room goes on from what is stored. MINTLAKE_MARKET_FULL=1 has
// 1,000 mints and 100 moments (make bench-market).
func TestTheMarketEqualsLoopsOverRealLegs(t *testing.T) {
	moments, mints := 1, 50
	if os.Getenv("MINTLAKE_MARKET_FULL") == "1" {
		moments, mints = 100, 1_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := newHistory(t, rand.New(rand.NewPCG(seed, 0)), mints)
	s := newStored(t)
	told := map[string]int{}
	for moment := range moments {
		until := noon.Add(48*time.Hour + time.Duration(moment)*13*time.Minute)
		fresh := h.trade(until, mints, moment == 0)
		half := len(fresh) / 2
		s.deliver(t, h.random, fresh[:half])
		if err := s.value(t, h.random.IntN(20)); err != nil {
			require.ErrorIs(t, err, errKilled)
		}
		s.deliver(t, h.random, fresh[half:])
		require.NoError(t, s.value(t, 1<<30))
		want := h.oracle.market()
		requireMarkets(t, want, s.market(t), fmt.Sprintf("moment %d, seed %d", moment, seed))
		for _, r := range want {
			for name, known := range map[string]bool{
				"rows": true, "price_usd": r.price != nil, "price_change_24h": r.price != nil && r.before != nil, "liquidity_usd": r.liquidity != nil,
				"volume_24h_usd": r.day != nil, "volume_5m_usd": r.fiveMinutes != nil && *r.fiveMinutes > 0,
				"organic_volume_usd": r.organic != nil && *r.organic > 0, "first_pool_at": r.firstPool != nil,
			} {
				if known {
					told[name]++
				}
			}
		}
	}
	require.GreaterOrEqual(t, told["rows"], moments*mints)
	require.Len(t, told, 8, "a figure that no mint has is not compared: %v", told)
	t.Log(told)
}

// stored is the tables with the rooms that write and read them.
type stored struct {
	conn  driver.Conn
	swaps *swaps.ClickHouse
	known []kafka.Record
	api   *market.ClickHouse
}

func newStored(t *testing.T) *stored {
	t.Helper()
	conn, _ := chtest.Migrated(t)
	store := swaps.NewClickHouse(conn, schema.Database)
	require.NoError(t, store.Check(t.Context()))
	open := func(context.Context) (driver.Conn, error) { return conn, nil }
	return &stored{conn: conn, swaps: store, api: market.NewClickHouse(open, schema.Database)}
}

// deliver stores messages in any order, in pieces, with some of earlier ones again.
func (s *stored) deliver(t *testing.T, random *rand.Rand, fresh []proto.Message) {
	t.Helper()
	records := make([]kafka.Record, 0, len(fresh)+10)
	for _, message := range fresh {
		records = append(records, record(t, message))
	}
	for range min(10, len(s.known)) {
		records = append(records, s.known[random.IntN(len(s.known))])
	}
	records = append(records, records[:len(records)/5]...)
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	for i := range records { // each delivery has offsets of its own
		records[i].Partition, records[i].Offset = i%4, int64(len(s.known)+i)
	}
	s.known = append(s.known, records...)
	for len(records) > 0 {
		piece := min(len(records), 1+random.IntN(2*len(s.known)/3+1))
		batch := swaps.NewBatch()
		for i := range records[:piece] {
			require.NoError(t, batch.Add(&records[i]))
		}
		require.NoError(t, s.swaps.Insert(t.Context(), batch))
		records = records[piece:]
	}
}

func record(t *testing.T, message proto.Message) kafka.Record {
	t.Helper()
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	if _, pool := message.(*eventspb.Pool); pool {
		return kafka.Record{Topic: schemas.TopicPools, Value: value}
	}
	return kafka.Record{Topic: schemas.TopicSwaps, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSwapLegIn)}}}
}

var errKilled = errors.New("killed")

// mortal is a store whose process dies before one of its steps.
type mortal struct {
	volume.Store
	left int
}

func (m *mortal) step(do func() error) error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return do()
}

func (m *mortal) PoolMinutes(ctx context.Context, generation uint64, minutes []time.Time) error {
	return m.step(func() error { return m.Store.PoolMinutes(ctx, generation, minutes) })
}

func (m *mortal) Value(ctx context.Context, generation uint64, minutes []time.Time) error {
	return m.step(func() error { return m.Store.Value(ctx, generation, minutes) })
}

func (m *mortal) Hours(ctx context.Context, generation uint64, hours []time.Time) error {
	return m.step(func() error { return m.Store.Hours(ctx, generation, hours) })
}

func (m *mortal) Daily(ctx context.Context, generation uint64) error {
	return m.step(func() error { return m.Store.Daily(ctx, generation) })
}

func (m *mortal) Done(ctx context.Context, minutes []volume.Minute) error {
	return m.step(func() error { return m.Store.Done(ctx, minutes) })
}

// value lets a new room value what is new. It dies before its step after so many.
func (s *stored) value(t *testing.T, steps int) error {
	t.Helper()
	cfg := volume.DefaultConfig()
	store := &mortal{volume.NewClickHouse(s.conn, schema.Database, cfg), steps}
	room, err := volume.New(cfg, volume.Deps{Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = room.Once(t.Context())
	return err
}

// market is what an API node reads.
func (s *stored) market(t *testing.T) map[string]replica.Volume {
	t.Helper()
	generation, err := s.api.Generation(t.Context())
	require.NoError(t, err)
	list, err := s.api.Volumes(t.Context(), generation, market.RankingOrganic, false)
	require.NoError(t, err)
	rows := map[string]replica.Volume{}
	for _, row := range list {
		require.NotContains(t, rows, row.Mint.String())
		rows[row.Mint.String()] = row
	}
	return rows
}
