package usage

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// topic keeps what is written. It fails as often as fail says; what failed may be written all the
// same.
type topic struct {
	mu      sync.Mutex
	records []kafka.Record
	fail    func() (failed, written bool)
}

func (p *topic) Produce(_ context.Context, records ...kafka.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed, written := p.fail()
	if !failed || written {
		p.records = append(p.records, records...)
	}
	if failed {
		return errors.New("kafka is away")
	}
	return nil
}

// heal lets all that is written from now on succeed.
func (p *topic) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = never
}

func never() (bool, bool) { return false, false }

// fold is what the table makes of records: of each total the highest sequence.
func fold(t *testing.T, records []kafka.Record) map[totalKey]*eventspb.Usage {
	t.Helper()
	rows := map[totalKey]*eventspb.Usage{}
	for i := range records {
		require.Equal(t, schemas.TopicGatewayUsage, records[i].Topic)
		u := new(eventspb.Usage)
		require.NoError(t, proto.Unmarshal(records[i].Value, u))
		require.Equal(t, []any{"node", uint64(7)}, []any{u.GetNode(), u.GetEpoch()})
		key := totalKey{subject{u.GetProduct(), u.GetKey(), u.GetMethod()}, u.GetMinute()}
		if held := rows[key]; held == nil || held.GetSequence() < u.GetSequence() {
			rows[key] = u
		}
	}
	return rows
}

func newMeter(t *testing.T, p *topic, cfg Config) *Meter {
	t.Helper()
	cfg.Node, cfg.Epoch = "node", 7
	m, err := New(cfg, Deps{Producer: p})
	require.NoError(t, err)
	return m
}

// Whatever fails, is written twice or comes in another order, the rows are exactly what was
// counted, minute by minute.
func TestRowsAreWhatWasCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	synctest.Test(t, func(t *testing.T) {
		faults := rand.New(rand.NewPCG(3, 4)) // the writing goroutine's own
		p := &topic{fail: func() (bool, bool) { return faults.IntN(3) == 0, faults.IntN(2) == 0 }}
		m := newMeter(t, p, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = m.Run(ctx)
		}()
		truth := map[totalKey]Counts{}
		for range 2000 {
			time.Sleep(time.Duration(random.IntN(900)) * time.Millisecond)
			s := subject{[]string{"rpc", "swap"}[random.IntN(2)], []string{"a", "b", "c"}[random.IntN(3)], []string{"x", "y"}[random.IntN(2)]}
			c := Counts{Requests: uint64(random.IntN(3)), Refused: uint64(random.IntN(2)), Bytes: uint64(random.IntN(1000)), Units: uint64(random.IntN(11))}
			m.Count(s.product, s.key, s.method, c)
			key := totalKey{s, minuteOf(time.Now())}
			sum := truth[key]
			truth[key] = Counts{sum.Requests + c.Requests, sum.Refused + c.Refused, sum.Bytes + c.Bytes, sum.Units + c.Units}
		}
		p.heal()
		cancel()
		<-ended
		require.Empty(t, m.changedKeys())
		again := append(p.records, p.records...)
		random.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		rows := fold(t, again)
		require.Len(t, rows, len(truth))
		for key, c := range truth {
			u := rows[key]
			require.Equal(t, c, Counts{u.GetRequests(), u.GetRefused(), u.GetBytes(), u.GetUnits()}, key)
		}
	})
}

func (m *Meter) changedKeys() []totalKey {
	keys, _ := m.changed()
	return keys
}

// A stream counts in each minute that it is open, with the most addresses it had.
func TestStreamsCountWhileTheyAreOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// half a minute past
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(90 * time.Second)))
		p := &topic{fail: never}
		m := newMeter(t, p, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = m.Run(ctx)
		}()
		first := minuteOf(time.Now())
		a, b := m.Open("rpc", "alice", "Subscribe"), m.Open("rpc", "alice", "Subscribe")
		a.SetAddresses(20)
		b.SetAddresses(5)
		a.SetAddresses(10)
		a.Sent(25_000)
		time.Sleep(35 * time.Second)
		b.Close()
		b.Close()
		b.SetAddresses(1000)
		a.Sent(9_000)
		time.Sleep(60 * time.Second)
		a.Close()
		cancel()
		<-ended
		rows := fold(t, p.records)
		got := map[int64][]uint64{}
		for key, u := range rows {
			require.Equal(t, "Subscribe", key.method)
			got[(key.minute-first)/60] = []uint64{u.GetStreams(), u.GetAddresses(), u.GetBytes(), u.GetUnits()}
		}
		require.Equal(t, map[int64][]uint64{0: {2, 25, 25_000, 2}, 1: {2, 15, 9_000, 0}, 2: {1, 10, 0, 0}}, got)
		require.Empty(t, m.open)
		require.Empty(t, m.all)
	})
}

// While Kafka is away memory is bounded, and what is left out is counted.
func TestLossIsBoundedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &topic{fail: func() (bool, bool) { return true, false }}
		m := newMeter(t, p, Config{maxTotals: 3})
		for i, key := range []string{"a", "b", "c", "d", "e", "a"} {
			m.Count("rpc", key, "x", Counts{Requests: 1, Bytes: uint64(i)})
		}
		s := m.Open("rpc", "z", "x")
		s.Sent(10)
		m.collectAll()
		m.flush(t.Context())
		require.Equal(t, 2.0, testutil.ToFloat64(m.metrics.lostRequests))
		require.Equal(t, 17.0, testutil.ToFloat64(m.metrics.lostBytes))
		require.Equal(t, 1.0, testutil.ToFloat64(m.metrics.writeErrors))
		p.heal()
		time.Sleep(time.Minute)
		m.collectAll()
		m.flush(t.Context())
		require.Len(t, fold(t, p.records), 3)
		require.Empty(t, m.totals, "written and over")
	})
}

// A clock that goes back must not begin a total again that was written and forgotten.
func TestMinutesNeverGoBack(t *testing.T) {
	m := newMeter(t, &topic{fail: never}, Config{})
	ahead := m.minute + 3600
	m.minute = ahead
	m.Count("rpc", "a", "x", Counts{Requests: 1})
	for key := range m.totals {
		require.Equal(t, ahead, key.minute)
	}
}

func TestNilCountsNothing(t *testing.T) {
	var m *Meter
	m.Count("rpc", "a", "x", Counts{})
	s := m.Open("rpc", "a", "x")
	s.Sent(1)
	s.SetAddresses(1)
	s.Close()
}
