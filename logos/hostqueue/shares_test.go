package hostqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func one(string) int { return 1 }

// pop takes a job that must be there.
func pop(t *testing.T, q *Queue[string]) *Turn[string] {
	t.Helper()
	turn := try(q)
	require.NotNil(t, turn, "a job may begin")
	return turn
}

// try takes a job; nil if none may begin.
func try(q *Queue[string]) *Turn[string] {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take()
}

// TestOneServerWithManyNamesLeavesTheOthersTheirPlaces: a wildcard record gives a thousand names,
// whose limits count each on its own.
func TestOneServerWithManyNamesLeavesTheOthersTheirPlaces(t *testing.T) {
	for _, group := range []string{"domain slow.test", "address 192.0.2.1", "address 2001:db8::/48"} {
		q := New[string](64, one)
		for i := range 1000 {
			q.Push(fmt.Sprintf("%d.slow.test", i), []string{group}, "slow")
		}
		for i := range 300 {
			q.Push(fmt.Sprintf("%d.test", i), []string{fmt.Sprintf("domain %d.test", i)}, "quick")
		}
		held := map[string]int{}
		for range 64 {
			held[pop(t, q).Job]++
		}
		require.Equal(t, map[string]int{"slow": 8, "quick": 56}, held, group)
	}
}

// TestFreePlacesAreForAll: a group takes free places beyond its share, and as many stay free as it
// holds. Whoever comes then finds room at once, and from then on the group gets no further place.
func TestFreePlacesAreForAll(t *testing.T) {
	q := New[string](64, one)
	for i := range 100 {
		q.Push(fmt.Sprintf("%d.slow.test", i), []string{"domain slow.test"}, "slow")
	}
	var slow []*Turn[string]
	for range 32 {
		slow = append(slow, pop(t, q))
	}
	require.Nil(t, try(q))
	for i := range 40 {
		q.Push(fmt.Sprintf("%d.test", i), []string{fmt.Sprintf("domain %d.test", i)}, "quick")
	}
	for range 32 {
		require.Equal(t, "quick", pop(t, q).Job)
	}
	for _, turn := range slow[:24] {
		turn.Release()
	}
	for range 8 {
		require.Equal(t, "quick", pop(t, q).Job)
	}
	for range 4 {
		require.Equal(t, "slow", pop(t, q).Job, "nobody else waits")
	}
	require.Nil(t, try(q), "it holds 12 places, and 12 are free")
}

// TestAGroupLearnedOnTheWay: the address is only known when a connection is made.
func TestAGroupLearnedOnTheWay(t *testing.T) {
	q := New[string](64, one)
	for i := range 64 {
		q.Push(fmt.Sprintf("%d.test", i), []string{fmt.Sprintf("domain %d.test", i)}, "")
	}
	var joined []*Turn[string]
	for range 63 {
		if turn := pop(t, q); turn.Join("address 192.0.2.1") {
			joined = append(joined, turn)
			require.True(t, turn.Join("address 192.0.2.1"), "again, after a redirect")
		}
	}
	require.Len(t, joined, 8)
	require.True(t, pop(t, q).Join("address 192.0.2.2"))
	joined[0].Release()
	require.False(t, joined[0].Join("address 192.0.2.1"), "its turn is over")
}

// TestHostsThatWaitForAGroupAreCalled: whatever groups hosts share, and in whatever order turns
// end, every job has its turn, no bound is passed, and nothing is left behind.
func TestHostsThatWaitForAGroupAreCalled(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		q := New[string](24, func(string) int { return 1 + int(seed%3) })
		left := 300
		for i := range left {
			host := random.IntN(60)
			groups := []string{fmt.Sprint("domain ", host%7), fmt.Sprint("address ", host%5)}
			q.Push(fmt.Sprint(host), groups[:random.IntN(3)], fmt.Sprint(i))
		}
		removed := q.Remove(func(job string) bool { return job[0] == '1' })
		left -= len(removed)
		var under []*Turn[string]
		for left > 0 {
			if turn := try(q); turn != nil && len(under) < 24 {
				under = append(under, turn)
				_ = turn.Join(fmt.Sprint("address ", random.IntN(5)))
				continue
			} else if turn != nil {
				turn.Release()
				left--
				continue
			}
			require.NotEmpty(t, under, "seed %d: %d jobs wait, and nothing is under way", seed, left)
			i := random.IntN(len(under))
			under[i].Release()
			under = append(under[:i], under[i+1:]...)
			left--
		}
		require.Nil(t, try(q))
		require.Zero(t, q.Waiting())
		for _, turn := range under {
			turn.Release()
		}
		require.Nil(t, try(q))
		require.Empty(t, q.hosts, "seed %d", seed)
		require.Empty(t, q.shares.held)
		require.Zero(t, q.shares.active)
	}
}

// TestWorkersAreWoken when a group has room, and when the last others are done.
func TestWorkersAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](16, one)
		ctx, cancel := context.WithCancel(t.Context())
		done := 0
		for range 16 {
			go func() {
				for {
					turn, err := q.Pop(ctx)
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					turn.Release()
					q.mu.Lock()
					done++
					q.mu.Unlock()
				}
			}()
		}
		for i := range 200 {
			q.Push(fmt.Sprint(i), []string{"domain slow.test", fmt.Sprint("address ", i%2)}, "")
		}
		// A lone group has its share of two places at any time: a hundred turns of a second.
		time.Sleep(101 * time.Second)
		synctest.Wait()
		q.mu.Lock()
		require.Equal(t, 200, done)
		q.mu.Unlock()
		cancel()
		synctest.Wait()
	})
}

func TestPlaces(t *testing.T) {
	p := NewPlaces(16)
	var releases []func()
	joined := 0
	for range 16 {
		join, release, ok := p.Take()
		require.True(t, ok)
		releases = append(releases, release)
		if join("address 192.0.2.1") {
			joined++
		}
	}
	require.GreaterOrEqual(t, joined, 2)
	require.LessOrEqual(t, joined, 8)
	_, _, ok := p.Take()
	require.False(t, ok)
	for _, release := range releases {
		release()
	}
	require.Empty(t, p.shares.held)
	join, _, ok := p.Take()
	require.True(t, ok && join("address 192.0.2.1"))
}
