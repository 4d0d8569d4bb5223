package hostqueue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHostQueuesShareWorkersFairly(t *testing.T) {
	q := New[string](20, func(host string) int {
		if host == "ipfs" {
			return 5
		}
		return 2
	})
	const jobs = 400
	for i := range jobs {
		q.Push([]string{"a", "b", "c", "ipfs"}[i%4], nil, []string{"a", "b", "c", "ipfs"}[i%4])
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var active, most [4]atomic.Int64
	index := map[string]int{"a": 0, "b": 1, "c": 2, "ipfs": 3}
	var done atomic.Int64
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for {
				turn, err := q.Pop(ctx)
				if err != nil {
					return
				}
				i := index[turn.Job]
				n := active[i].Add(1)
				for old := most[i].Load(); n > old && !most[i].CompareAndSwap(old, n); old = most[i].Load() {
				}
				time.Sleep(100 * time.Microsecond)
				active[i].Add(-1)
				turn.Release()
				if done.Add(1) == jobs {
					cancel()
				}
			}
		})
	}
	group.Wait()
	for name, i := range index {
		want := int64(2)
		if name == "ipfs" {
			want = 5
		}
		require.LessOrEqual(t, most[i].Load(), want, name)
	}
	require.EqualValues(t, jobs, done.Load())
	require.Empty(t, q.hosts, "a host without work is forgotten")
	require.Empty(t, q.ready)
}

func TestHostQueuesTakeTurns(t *testing.T) {
	q := New[string](8, func(string) int { return 1 })
	for i := range 3 {
		q.Push("busy", nil, fmt.Sprint("busy", i))
	}
	q.Push("other", nil, "other")
	first, err := q.Pop(context.Background())
	require.NoError(t, err)
	second, err := q.Pop(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"busy0", "other"}, []string{first.Job, second.Job})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = q.Pop(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded, "every host is at its limit")
}
