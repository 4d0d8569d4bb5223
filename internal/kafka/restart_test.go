package kafka_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// TestBrokerRestartsLoseNothing kills and stops the broker under a producer, a group consumer and a
// tailer.
func TestBrokerRestartsLoseNothing(t *testing.T) {
	broker := kafkatest.StartBroker(t)
	makeTopic(t, broker.Brokers(), "restart", 3)
	ctx := testContext(t)

	var produced atomic.Int64
	stop, cancel := context.WithCancel(ctx)
	producing := make(chan error, 1)
	producer := newProducer(t, broker.Brokers())
	go func() {
		const keys = 6
		for n := 0; stop.Err() == nil; n++ {
			var records []kafka.Record
			for key := range keys {
				records = append(records, numbered("restart", fmt.Sprintf("k%d", key), n))
			}
			if err := producer.Produce(ctx, records...); err != nil {
				producing <- err
				return
			}
			produced.Add(keys)
			time.Sleep(time.Millisecond)
		}
		producing <- nil
	}()

	finished := make(chan int64, 1) // how many there are, once that is known
	var total atomic.Int64
	total.Store(1 << 40)
	consume := func(f fetcher, commit func(context.Context, []kafka.Record) error) ([]kafka.Record, error) {
		var all []kafka.Record
		done := distinctCounter()
		for done(all) < total.Load() {
			wait, cancel := context.WithTimeout(ctx, time.Second)
			batch, err := f.FetchBatch(wait, 500, 10*time.Millisecond)
			cancel()
			if err != nil {
				if ctx.Err() != nil {
					return all, err
				}
				continue // nothing for a second: look whether that was all
			}
			all = append(all, batch...)
			if err := commit(ctx, batch); err != nil {
				return all, err
			}
		}
		return all, nil
	}
	type result struct {
		all []kafka.Record
		err error
	}
	grouped, tailed := make(chan result, 1), make(chan result, 1)
	consumer := newConsumer(t, broker.Brokers(), "restart", "restart")
	tailer := newTailer(t, broker.Brokers(), nil, "restart")
	go func() {
		all, err := consume(consumer, consumer.Commit)
		grouped <- result{all, err}
	}()
	go func() {
		all, err := consume(tailer, func(context.Context, []kafka.Record) error { return nil })
		tailed <- result{all, err}
	}()

	for round := range 4 {
		before := produced.Load()
		require.Eventually(t, func() bool { return produced.Load() > before+600 }, 2*time.Minute, 10*time.Millisecond, "round %d", round)
		if round%2 == 0 {
			broker.Kill()
		} else {
			broker.Stop()
		}
		broker.Start()
	}
	before := produced.Load()
	require.Eventually(t, func() bool { return produced.Load() > before+600 }, 2*time.Minute, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-producing)
	total.Store(produced.Load())
	finished <- produced.Load()

	for name, ch := range map[string]chan result{"group": grouped, "tailer": tailed} {
		r := <-ch
		require.NoError(t, r.err, name)
		requireOrder(t, r.all)
		t.Logf("%s: %d records delivered, %d produced", name, len(r.all), total.Load())
	}
	admin := newAdmin(t, broker.Brokers())
	require.Eventually(t, func() bool {
		lag, err := admin.Lag(ctx, "restart", []string{"restart"})
		return err == nil && lag == 0
	}, 2*time.Minute, 100*time.Millisecond)
}

// distinctCounter counts different records, reading only what is new.
func distinctCounter() func(all []kafka.Record) int64 {
	seen := make(map[string]bool)
	read := 0
	return func(all []kafka.Record) int64 {
		for ; read < len(all); read++ {
			seen[fmt.Sprintf("%s/%d", all[read].Key, number(all[read]))] = true
		}
		return int64(len(seen))
	}
}

// TestProduceWaitsForABrokerThatIsAway: Produce ends with its context, or goes on as soon as the
// broker is back.
func TestProduceWaitsForABrokerThatIsAway(t *testing.T) {
	broker := kafkatest.StartBroker(t)
	makeTopic(t, broker.Brokers(), "away", 1)
	ctx := testContext(t)
	producer := newProducer(t, broker.Brokers())
	require.NoError(t, producer.Produce(ctx, numbered("away", "k", 0)))
	broker.Kill()

	short, cancel := context.WithTimeout(ctx, time.Second)
	err := producer.Produce(short, numbered("away", "k", 1))
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, kafka.Retryable(err))

	done := make(chan error, 1)
	go func() { done <- producer.Produce(ctx, numbered("away", "k", 1)) }()
	time.Sleep(500 * time.Millisecond)
	broker.Start()
	start := time.Now()
	require.NoError(t, <-done)
	t.Logf("produced %s after the broker answered", time.Since(start))
	require.Less(t, time.Since(start), 2*time.Minute)
	all := fetchUntil(t, newTailer(t, broker.Brokers(), nil, "away"), distinct(2))
	requireOrder(t, all)
}

// TestFrozenBroker: a broker that accepts and says nothing is noticed by timeouts, and nothing is
// lost.
func TestFrozenBroker(t *testing.T) {
	broker := kafkatest.StartBroker(t)
	makeTopic(t, broker.Brokers(), "frozen", 1)
	ctx := testContext(t)
	producer := newProducer(t, broker.Brokers())
	require.NoError(t, producer.Produce(ctx, numbered("frozen", "k", 0)))
	broker.Pause()
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	require.ErrorIs(t, producer.Produce(short, numbered("frozen", "k", 1)), context.DeadlineExceeded)
	cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		other, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: broker.Brokers()}, deps(t))
		if err != nil {
			t.Errorf("new producer: %v", err)
			return
		}
		go func() { time.Sleep(300 * time.Millisecond); other.Close() }()
		if err := other.Produce(ctx, numbered("frozen", "k", 9)); err == nil {
			t.Error("a closed producer reported success")
		}
	}()
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Fatal("close hangs on a frozen broker")
	}
	broker.Resume()
	require.NoError(t, producer.Produce(ctx, numbered("frozen", "k", 1)))
	requireOrder(t, fetchUntil(t, newTailer(t, broker.Brokers(), nil, "frozen"), distinct(2)))
}

// TestAForgottenGroupStaysForgottenAfterAKill: no offset of a deleted group comes back with the
// broker. Otherwise a rebuild that is killed would leave its tables empty.
func TestAForgottenGroupStaysForgottenAfterAKill(t *testing.T) {
	broker := kafkatest.StartBroker(t)
	admin := makeTopic(t, broker.Brokers(), "forget", 2)
	ctx := testContext(t)
	producer := newProducer(t, broker.Brokers())
	for n := range 20 {
		require.NoError(t, producer.Produce(ctx, numbered("forget", fmt.Sprint("key ", n), n)))
	}
	member := newConsumer(t, broker.Brokers(), "reader", "forget")
	for read := 0; read < 20; {
		records, err := member.FetchBatch(ctx, 100, 10*time.Millisecond)
		require.NoError(t, err)
		require.NoError(t, member.Commit(ctx, records))
		read += len(records)
	}
	member.Close()
	require.NoError(t, admin.ForgetGroup(ctx, "reader"))

	broker.Kill()
	broker.Start()
	committed, err := newAdmin(t, broker.Brokers()).CommittedOffsets(ctx, "reader", []string{"forget"})
	require.NoError(t, err)
	require.Empty(t, committed)
}
