package enrich

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/kafka"
)

// Whatever order records end in, what take returns is the end of the longest answered run from the
// front, never beyond.
func TestTrackerCommitsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTracker()
		type pending struct {
			entry *entry
			done  bool
		}
		var log [2][]*pending
		var committed [2]int64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p := rapid.IntRange(0, 1).Draw(t, "partition")
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				record := &kafka.Record{Topic: "t", Partition: p, Offset: int64(len(log[p]))}
				log[p] = append(log[p], &pending{entry: tr.add(record)})
			case 1:
				if len(log[p]) > 0 {
					one := log[p][rapid.IntRange(0, len(log[p])-1).Draw(t, "which")]
					one.done = true
					tr.complete(one.entry)
				}
			case 2:
				for _, record := range tr.take() {
					require.Greater(t, record.Offset+1, committed[record.Partition], "never backwards")
					committed[record.Partition] = record.Offset + 1
				}
				for p := range log {
					want := int64(0)
					for want < int64(len(log[p])) && log[p][want].done {
						want++
					}
					require.Equal(t, want, committed[p])
				}
			}
		}
	})
}

func TestTrackerBeginsAgainWhenAPartitionComesBack(t *testing.T) {
	tr := newTracker()
	add := func(offset int64) *entry { return tr.add(&kafka.Record{Topic: "t", Offset: offset}) }
	first, second := add(5), add(6)
	tr.complete(second)
	again := add(5) // the partition went away and came back: read from what was committed
	add(6)
	tr.complete(first)
	require.Empty(t, tr.take(), "what ended before the break does not count for the records read again")
	tr.complete(again)
	require.EqualValues(t, 5, tr.take()[0].Offset)
}

func TestTrackerAge(t *testing.T) {
	tr := newTracker()
	now := time.Now()
	require.Zero(t, tr.age(now))
	old := tr.add(&kafka.Record{Topic: "t", Offset: 1, Time: now.Add(-time.Minute)})
	tr.add(&kafka.Record{Topic: "t", Offset: 2, Time: now.Add(-time.Second)})
	require.Equal(t, time.Minute, tr.age(now))
	tr.complete(old)
	require.Equal(t, time.Second, tr.age(now))
}
