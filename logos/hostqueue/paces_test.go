package hostqueue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/pace"
)

// TestTheBackgroundLeavesAQuarter of the workers, and at one host it comes last.
func TestTheBackgroundLeavesAQuarter(t *testing.T) {
	q := New[string](16, func(string) int { return 4 })
	for i := range 40 {
		q.Put(fmt.Sprintf("%d.test", i), nil, "walk", Place{Behind: true})
	}
	var turns []*Turn[string]
	for range 12 {
		turns = append(turns, pop(t, q))
	}
	require.Nil(t, try(q))
	q.Push("30.test", nil, "new") // of a host that waits for a place of the background
	require.Equal(t, "new", pop(t, q).Job)
	q.Put("39.test", nil, "again", Place{Behind: true, First: true})
	turns[0].ReleaseAfter(0)
	require.Equal(t, "walk", pop(t, q).Job)
	require.Nil(t, try(q))
	for _, turn := range turns[1:] {
		turn.Release()
	}
	var rest []string
	for range 11 {
		rest = append(rest, pop(t, q).Job)
	}
	require.NotContains(t, rest, "new")
}

// TestJobsThatWereTriedComeFirst: before those of the same kind.
func TestJobsThatWereTriedComeFirst(t *testing.T) {
	q := New[string](16, one)
	q.Put("a", nil, "walk", Place{Behind: true})
	q.Put("a", nil, "again", Place{Behind: true, First: true})
	q.Push("a", nil, "new")
	q.Put("a", nil, "new again", Place{First: true})
	for _, want := range []string{"new again", "new", "again", "walk"} {
		turn := pop(t, q)
		require.Equal(t, want, turn.Job)
		turn.Release()
	}
	require.Empty(t, q.hosts)
}

// TestAPlaceOfTheBackgroundIsKept for as long as its bytes are over the budget.
func TestAPlaceOfTheBackgroundIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](1, one)
		for range 2 {
			q.Put("a", nil, "walk", Place{Behind: true})
		}
		pop(t, q).ReleaseAfter(time.Minute)
		require.Nil(t, try(q))
		q.Push("b", nil, "new")
		pop(t, q).ReleaseAfter(time.Minute)
		time.Sleep(time.Minute - time.Second)
		require.Nil(t, try(q))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "walk", pop(t, q).Job)
	})
}

// TestPacedHostsTakeTurns: a host that bears 2 a second and one that bears 50 are both asked as
// fast as they bear, by the same workers; a host that pauses keeps none of them.
func TestPacedHostsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewPaced[string](8, func(string) int { return 4 })
		bears := map[string]float64{"slow": 2, "quick": 50, "paused": 0}
		for name := range bears {
			for range 20_000 {
				q.Push(name, nil, name)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		defer workers.Wait()
		defer cancel()
		var mu sync.Mutex
		done, next := map[string]int{}, map[string]time.Time{}
		for range 8 {
			workers.Go(func() {
				for {
					turn, err := q.Pop(ctx)
					if err != nil {
						return
					}
					mu.Lock()
					ok := bears[turn.Job] > 0 && !time.Now().Before(next[turn.Job])
					if ok {
						done[turn.Job]++
						next[turn.Job] = time.Now().Add(time.Duration(float64(time.Second) / bears[turn.Job]))
					}
					mu.Unlock()
					time.Sleep(30 * time.Millisecond)
					switch {
					case ok:
						turn.Told(pace.Outcome{})
					case bears[turn.Job] == 0:
						turn.Told(pace.Outcome{Refused: true, Pause: time.Hour})
					default:
						turn.Told(pace.Outcome{Refused: true, Pause: time.Second})
					}
					turn.Release()
				}
			})
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		require.Greater(t, done["slow"], 2*300*8/10)
		require.Greater(t, done["quick"], 50*300*8/10)
		require.Zero(t, done["paused"])
		mu.Unlock()
		rate, hosts := q.Rates()
		require.Equal(t, 3, hosts)
		require.InDelta(t, 55, rate, 12)
	})
}
