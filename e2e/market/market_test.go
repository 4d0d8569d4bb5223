// Package market compares the figures of the market with plain loops over the legs of recorded
// blocks. It is the one place that uses ingest, projector, volume and API together without a node.
package market

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/api/trades"
	"github.com/mintlake/mintlake/e2e/oracle"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/volume"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

// noon is the time of the first moment, less two days.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestTheMarketEqualsLoopsOverRealLegs: what an API node answers of each mint that trades, at some
// moments, is what package oracle computes. Legs are those of recorded blocks and of the demo
// chain. They come late, in pieces and twice. The room is killed between its steps, more legs come,
// and another room goes on from what is stored. The moments are drawn. MINTLAKE_MARKET_MOMENTS says
// how many; MINTLAKE_MARKET_FULL=1 has 100, and 1,000 mints (make bench-market).
func TestTheMarketEqualsLoopsOverRealLegs(t *testing.T) {
	moments, mints := 2, 50
	if text := os.Getenv("MINTLAKE_MARKET_MOMENTS"); text != "" {
		var err error
		moments, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	if os.Getenv("MINTLAKE_MARKET_FULL") == "1" {
		moments, mints = 100, 1_000
	}
	seed := testkit.Seed(t)
	h := newHistory(t, rand.New(rand.NewPCG(seed, 0)), mints)
	s := newStored(t)
	told, until := map[string]int{}, noon.Add(48*time.Hour)
	for moment := range moments {
		// Most follow each other within minutes, some after hours: windows empty in between.
		until = until.Add(time.Duration(h.random.IntN(1500)) * time.Second)
		if h.random.IntN(20) == 0 {
			until = until.Add(time.Duration(h.random.IntN(8*3600)) * time.Second)
		}
		fresh, facts := h.trade(until, mints, moment == 0)
		s.tell(facts)
		half := len(fresh) / 2
		s.deliver(t, h.random, fresh[:half])
		if err := s.value(t, h.random.IntN(20)); err != nil {
			require.ErrorIs(t, err, errKilled)
		}
		s.deliver(t, h.random, fresh[half:])
		require.NoError(t, s.value(t, 1<<30))
		for name, n := range h.oracle.Require(t, s.node(t), fmt.Sprintf("moment %d, seed %d", moment, seed)) {
			told[name] += n
		}
	}
	require.GreaterOrEqual(t, told["rows"], moments*mints)
	for _, name := range oracle.Figures() {
		require.Positive(t, told[name], "%s is not compared: no mint has it", name)
	}
	t.Log(told)
}

// stored is the tables with the rooms that write and read them.
type stored struct {
	conn  driver.Conn
	swaps *swaps.ClickHouse
	known []kafka.Record
	log   *apitest.Log
	// stop ends the API node of the moment before.
	stop func()
}

func newStored(t *testing.T) *stored {
	t.Helper()
	conn, _ := chtest.Migrated(t)
	store := swaps.NewClickHouse(conn, schema.Database)
	require.NoError(t, store.Check(t.Context()))
	return &stored{conn: conn, swaps: store, log: apitest.NewLog()}
}

// tell appends facts about mints to the topics.
func (s *stored) tell(facts []proto.Message) {
	for _, fact := range facts {
		switch m := fact.(type) {
		case *eventspb.TokenEvent:
			s.log.Message(schemas.TopicTokenEvents, base58.Encode(m.GetMint()), m, time.Now())
		case *eventspb.Enrichment:
			s.log.Message(schemas.TopicEnrichments, base58.Encode(m.GetMint()), m, time.Now())
		}
	}
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
	kind := schemas.TypeSwapLegIn
	if _, liquidity := message.(*eventspb.LiquidityChange); liquidity {
		kind = schemas.TypeLiquidity
	}
	return kafka.Record{Topic: schemas.TopicSwaps, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(kind)}}}
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

// node starts an API node, which reads all of it anew, and waits until it has the latest figures.
func (s *stored) node(t *testing.T) oracle.Node {
	t.Helper()
	cfg := api.DefaultConfig()
	cfg.Addr, cfg.RateLimits.Enabled = "127.0.0.1:0", false
	open := func(context.Context) (driver.Conn, error) { return s.conn, nil }
	node, err := api.New(cfg, api.Deps{
		Offsets: s.log, Producer: s.log, Market: market.NewClickHouse(open, schema.Database), Trades: trades.NewClickHouse(open, schema.Database),
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return s.log.Tail(topics, start), nil
		},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	if s.stop != nil {
		s.stop()
	}
	s.stop = sync.OnceFunc(func() {
		stop()
		require.NoError(t, <-done)
	})
	t.Cleanup(s.stop)
	<-node.Bound()
	require.Eventually(t, node.Ready, hang, time.Millisecond)
	get := func(path string) (body []byte, status int, err error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+node.Addr()+path, nil)
		if err != nil {
			return nil, 0, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, 0, err
		}
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
		return body, response.StatusCode, err
	}
	// Eventually calls in a goroutine of its own, where a test may not be ended.
	require.Eventually(t, func() bool {
		body, status, err := get("/tokens?limit=1&fields=market")
		return err == nil && status == http.StatusOK && bytes.Contains(body, []byte("as_of"))
	}, hang, 10*time.Millisecond)
	return func(path string) []byte {
		t.Helper()
		body, status, err := get(path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
		return body
	}
}
