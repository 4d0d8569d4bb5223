package projector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// simulation is a log in memory, tables in memory, and a projector that is killed and stopped at
// random. It runs inside a synctest bubble: an hour of waiting takes no time. The same seed gives
// the same records and nearly the same schedule: only what happens at the same instant may come in
// another order.
type simulation struct {
	t *testing.T

	mu     sync.Mutex // of all that follows
	random *rand.Rand

	log       map[kafka.TopicPartition][]kafka.Record
	committed map[kafka.TopicPartition]int64

	// stored has what is known of each mint, rows that which its row was made from.
	stored, rows map[pubkey.Key]known
	letters      map[string]bool
	poison       map[string]bool

	// life counts the projector's lives; a call of an earlier life has no effect any more.
	life   int
	killed bool
}

var errKilled = errors.New("killed")

// known has facts with their slots. Reads of one slot may differ in a value.
type known map[string]uint64

func (k known) add(s *projector.Statement) {
	for _, fact := range s.Facts {
		k[fmt.Sprint(fact.Register, fact.Item, fact.Value, fact.Position)] = s.Position.Slot
	}
}

// version is that of the row, which grows with the positions and not with the values.
func (k known) version() int {
	return len(slices.Compact(slices.Sorted(maps.Values(k))))
}

// simulationMints are few, so that a mint is in many batches and in folds at the same time.
const simulationMints, simulationRecords = 12, 300

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	s := &simulation{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), log: map[kafka.TopicPartition][]kafka.Record{}, committed: map[kafka.TopicPartition]int64{},
		stored: map[pubkey.Key]known{}, rows: map[pubkey.Key]known{}, letters: map[string]bool{}, poison: map[string]bool{},
	}
	for slot := range uint64(simulationRecords) {
		var mint pubkey.Key
		mint[0] = 1 + byte(s.random.IntN(simulationMints))
		partition := kafka.TopicPartition{Topic: schemas.TopicTokenEvents, Partition: int(mint[0]) % 2}
		var message proto.Message = &eventspb.TokenEvent{
			Position: &eventspb.Position{Slot: slot + 1}, Mint: mint[:], ProgramId: mint[:],
			Payload: &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: 1}},
		}
		if s.random.IntN(3) == 0 {
			partition.Topic = schemas.TopicEnrichments
			message = &eventspb.Enrichment{Mint: mint[:], Slot: 1 + slot/30, Fact: &eventspb.Enrichment_MintAccount{
				MintAccount: &eventspb.MintAccount{ProgramId: mint[:], Supply: slot},
			}}
		}
		value, err := proto.Marshal(message)
		require.NoError(t, err)
		record := kafka.Record{Topic: partition.Topic, Partition: partition.Partition, Offset: int64(len(s.log[partition])), Value: value}
		if s.random.IntN(40) == 0 {
			record.Value = []byte{0xff, byte(slot)}
			s.poison[place(partition.Topic, partition.Partition, record.Offset)] = true
		}
		s.log[partition] = append(s.log[partition], record)
	}
	return s
}

func place(topic string, partition int, offset int64) string {
	return fmt.Sprintf("%s %d %d", topic, partition, offset)
}

// simulated is the log and the tables as one life of the projector sees them.
type simulated struct {
	*simulation
	life int
	next map[kafka.TopicPartition]int64
	// fetched is called when there is nothing left to fetch.
	fetched func()
}

// busy takes a while. It fails where the life is over, and at random.
// It is called, and returns, with mu locked.
func (l *simulated) busy(ctx context.Context, longest time.Duration) error {
	pause := time.Duration(l.random.Int64N(int64(longest)))
	l.mu.Unlock()
	time.Sleep(pause)
	l.mu.Lock()
	switch {
	case l.killed || l.life != l.simulation.life:
		return errKilled
	case ctx.Err() != nil:
		return ctx.Err()
	case l.random.IntN(12) == 0:
		return errBusy
	}
	return nil
}

// FetchBatch returns some of the records that are next, of any partitions.
func (l *simulated) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.busy(ctx, 50*time.Millisecond); errors.Is(err, errKilled) {
		return nil, err
	}
	var batch []kafka.Record
	limit = min(limit, 1+l.random.IntN(60))
	for _, partition := range slices.SortedFunc(maps.Keys(l.log), compareTopicPartitions) {
		for len(batch) < limit && l.next[partition] < int64(len(l.log[partition])) {
			batch = append(batch, l.log[partition][l.next[partition]])
			l.next[partition]++
			if l.random.IntN(8) == 0 {
				break
			}
		}
	}
	if len(batch) == 0 {
		l.fetched()
		l.mu.Unlock()
		<-ctx.Done()
		l.mu.Lock()
		return nil, ctx.Err()
	}
	return batch, nil
}

func compareTopicPartitions(a, b kafka.TopicPartition) int {
	return slices.Compare([]int{len(a.Topic), a.Partition}, []int{len(b.Topic), b.Partition})
}

// Commit requires that the row of each mint was made from all that is committed of it.
func (l *simulated) Commit(_ context.Context, records []kafka.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killed {
		return errKilled
	}
	for _, record := range records {
		partition := record.TopicPartition()
		l.committed[partition] = max(l.committed[partition], record.Offset+1)
	}
	l.requireRows()
	return nil
}

func (s *simulation) requireRows() {
	s.t.Helper()
	for partition, records := range s.log {
		for _, record := range records[:s.committed[partition]] {
			if at := place(record.Topic, record.Partition, record.Offset); s.poison[at] {
				require.True(s.t, s.letters[at], "%s is committed without its dead letter", at)
				continue
			}
			batch := new(projector.Batch)
			require.NoError(s.t, batch.Add(&record))
			for _, statement := range batch.Statements {
				one := known{}
				one.add(&statement)
				for id := range one {
					require.Contains(s.t, s.rows[statement.Mint], id, "committed, and not in its token's row")
				}
			}
		}
	}
}

// Produce takes dead letters.
func (l *simulated) Produce(ctx context.Context, records ...kafka.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.busy(ctx, 20*time.Millisecond); err != nil && !errors.Is(err, errBusy) {
		return err
	}
	for _, record := range records {
		letter := new(eventspb.DeadLetter)
		require.NoError(l.t, proto.Unmarshal(record.Value, letter))
		l.letters[place(letter.GetTopic(), int(letter.GetPartition()), letter.GetOffset())] = true
	}
	return nil
}

// Insert stores facts. One that fails may have stored some or all of them.
func (l *simulated) Insert(ctx context.Context, batch *projector.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.busy(ctx, 300*time.Millisecond)
	for _, statement := range batch.Statements {
		if err != nil && l.random.IntN(2) == 0 {
			continue
		}
		if l.stored[statement.Mint] == nil {
			l.stored[statement.Mint] = known{}
		}
		l.stored[statement.Mint].add(&statement)
	}
	return err
}

// Fold reads facts, and writes rows a while later. As in ClickHouse, the row with the highest
// version holds, of equal ones the last.
func (l *simulated) Fold(ctx context.Context, dirty projector.Dirty) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	mints, longest := dirty.Mints, time.Second
	if dirty.All { // others go on meanwhile
		longest = 10 * time.Second
		mints = slices.SortedFunc(maps.Keys(l.stored), pubkey.Compare)
	}
	rows := map[pubkey.Key]known{}
	for _, mint := range mints {
		rows[mint] = maps.Clone(l.stored[mint])
	}
	err := l.busy(ctx, longest)
	for _, mint := range mints {
		if (err == nil || l.random.IntN(2) == 0) && rows[mint].version() >= l.rows[mint].version() {
			l.rows[mint] = rows[mint]
		}
	}
	return err
}

func (l *simulated) Outdated(ctx context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(2) == 0, l.busy(ctx, 10*time.Millisecond)
}

func (l *simulated) Retryable(err error) bool { return errors.Is(err, errBusy) }

// EndOffsets fails now and then.
func (l *simulated) EndOffsets(ctx context.Context, _ []string) (map[kafka.TopicPartition]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.busy(ctx, 10*time.Millisecond); err != nil {
		return nil, err
	}
	ends := map[kafka.TopicPartition]int64{}
	for partition, records := range l.log {
		ends[partition] = int64(len(records))
	}
	return ends, nil
}

// live runs the projector until it is killed, stopped or has read everything, and reports whether
// it has.
func (s *simulation) live(kill bool) bool {
	var done atomic.Bool
	s.mu.Lock()
	s.life, s.killed = s.life+1, false
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	life := &simulated{simulation: s, life: s.life, next: maps.Clone(s.committed)}
	life.fetched = func() {
		time.AfterFunc(time.Minute, func() { done.Store(ctx.Err() == nil); cancel() })
	}
	config := projector.Config{BulkLag: 1 + s.random.Int64N(120), FoldEvery: time.Duration(1+s.random.Int64N(3000)) * time.Millisecond}
	end, stop := time.Duration(s.random.Int64N(int64(8*time.Second))), s.random.IntN(3) == 0
	s.mu.Unlock()
	p, err := projector.New(config, projector.Deps{
		Consumer: life, Producer: life, Store: life, Offsets: life, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(s.t, err)
	if kill {
		time.AfterFunc(end, func() {
			s.mu.Lock()
			s.killed = !stop // one that is stopped finishes its batch
			s.mu.Unlock()
			cancel()
		})
	}
	if err := p.Run(ctx); err != nil {
		require.ErrorIs(s.t, err, errKilled)
	}
	return done.Load()
}

// TestWhateverFailsNoCommittedRecordIsMissing runs the projector over tables and a log in memory,
// with failing and half done writes, kills and stops. At each commit the row of each mint has all
// that is committed, and each poisoned record has its dead letter; in the end all is committed.
// MINTLAKE_TEST_SEED is the first seed; make test-simulations runs thousands.
func TestWhateverFailsNoCommittedRecordIsMissing(t *testing.T) {
	first := testkit.Seed(t)
	seeds := testkit.Rounds(30, 3000)
	if testing.Short() { // beside the race detector
		seeds = 4
	}
	for seed := first; seed < first+uint64(seeds); seed++ {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			s := newSimulation(t, seed)
			for range s.random.IntN(6) {
				s.live(true)
			}
			require.True(t, s.live(false))
			s.requireRows()
			for partition, records := range s.log {
				require.Equal(t, int64(len(records)), s.committed[partition])
			}
			require.Len(t, s.letters, len(s.poison))
		})
		if t.Failed() {
			return
		}
	}
}
