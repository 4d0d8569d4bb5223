package stream

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// version is a set of filters that a subscriber had: the first transaction that they may have been
// asked for, and the first that they must.
type version struct {
	set            []*oracle
	earliest, last int
}

// Filters change at random while transactions flow: each transaction is matched against one
// version, versions follow each other, and a change counts for what is published after it.
func TestFiltersChangeWhileTransactionsFlow(t *testing.T) {
	messages := realTransactions(t)
	r := rand.New(rand.NewPCG(3, 4))
	r.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
	messages = messages[:1500]
	list := parsed(t, messages)
	book, see := seen(messages)
	place := places(list)
	const subscribers, changes = 40, 20
	h := runHub(t, subscribers, 1<<30)
	var published, matched atomic.Int64
	h.finished = func(b *batch) { matched.Add(int64(len(b.list))) }
	subs := make([]*subscriber, subscribers)
	versions := make([][]version, subscribers)
	// begun[n] is closed when the change number n of all subscribers may begin; made[n] waits for
	// all of them.
	var begun [changes]chan struct{}
	var made [changes]sync.WaitGroup
	for n := range changes {
		begun[n] = make(chan struct{})
		made[n].Add(subscribers)
	}
	for i := range subs {
		var err error
		subs[i], err = h.add("", "", len(list))
		require.NoError(t, err)
		versions[i] = []version{{}}
		random := newRandomFilters(uint64(i), book, see)
		go func() {
			for n := range changes {
				<-begun[n]
				time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
				set := make([]*oracle, random.IntN(4))
				for j := range set {
					set[j] = random.filter()
				}
				read := readAll(t, set)
				earliest := int(matched.Load())
				if err := h.set(subs[i], read, nil); err != nil {
					t.Error(err)
				}
				versions[i] = append(versions[i], version{set, earliest, int(published.Load())})
				made[n].Done()
			}
		}()
	}
	// Each change happens while a part of the transactions flows, or while the next one does.
	for n, part := range slices.Collect(slices.Chunk(list, len(list)/changes)) {
		if n >= 2 {
			made[n-2].Wait()
		}
		close(begun[n])
		for few := range slices.Chunk(part, 5) {
			published.Add(int64(len(few)))
			h.publish(context.Background(), few)
			time.Sleep(200 * time.Microsecond)
		}
	}
	require.Eventually(t, func() bool { return int(matched.Load()) == len(list) }, patience, time.Millisecond)
	for n := range changes {
		made[n].Wait()
	}
	counted := 0
	for i, sub := range subs {
		got := map[int]string{}
		for _, w := range drain(sub, place) {
			if _, twice := got[w.tx]; twice {
				t.Fatalf("transaction %d was delivered twice", w.tx)
			}
			got[w.tx] = w.names
		}
		requireVersions(t, versions[i], got, see)
		counted += len(versions[i])
		h.remove(sub)
	}
	require.Greater(t, counted, subscribers*10, "filters did change")
	requireEmpty(t, h)
}

// requireVersions finds versions, one after the other, that explain what was delivered.
func requireVersions(t *testing.T, versions []version, got map[int]string, see []*seenTransaction) {
	t.Helper()
	possible := map[int]bool{0: true}
	for i, x := range see {
		next := map[int]bool{}
		for v := range versions {
			// A version is possible from its earliest transaction on, until the next one must
			// count.
			if i < versions[v].earliest || v+1 < len(versions) && i >= versions[v+1].last {
				continue
			}
			follows := false
			for p := range possible {
				follows = follows || p <= v
			}
			if !follows {
				continue
			}
			if w, _ := wantedOf(versions[v].set, i, x); w.names == got[i] {
				next[v] = true
			}
		}
		require.NotEmpty(t, next, "transaction %d was delivered for %q, which no version explains", i, got[i])
		possible = next
	}
}

// TestWatchesThatComeTooLate: who is removed while his request is read stays removed.
func TestWatchesThatComeTooLate(t *testing.T) {
	h := newHub(1, 10)
	sub, err := h.add("", "", 1)
	require.NoError(t, err)
	h.remove(sub)
	require.NoError(t, h.set(sub, nil, []*watch{{kind: watchSlots}}))
	require.Empty(t, sub.shard.watchers)
}
