package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
)

// runHub matches what is published until the test ends.
func runHub(t testing.TB, most, addresses int) *hub {
	t.Helper()
	h := newHub(most, addresses)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h
}

// publishAll publishes list in parts and returns when all of it is delivered.
func publishAll(h *hub, list []*transaction, part int) {
	var all sync.WaitGroup
	h.finished = func(*batch) { all.Done() }
	for b := range slices.Chunk(list, part) {
		all.Add(1)
		h.publish(context.Background(), b)
	}
	all.Wait()
}

// wanted is a delivery: the transaction's place in the list, and the names of the filters.
type wanted struct {
	tx    int
	names string
}

func drain(sub *subscriber, place map[*transaction]int) (list []wanted) {
	for d, ok := sub.out.pop(); ok; d, ok = sub.out.pop() {
		names := ""
		for _, e := range d.wants {
			names += e.name + " "
		}
		list = append(list, wanted{place[d.tx], names})
	}
	return list
}

func places(list []*transaction) map[*transaction]int {
	place := map[*transaction]int{}
	for i, t := range list {
		place[t] = i
	}
	return place
}

func readAll(t testing.TB, set []*oracle) []namedFilter {
	t.Helper()
	request := filters{}
	for i, o := range set {
		request[fmt.Sprintf("%02d", i)] = o.request()
	}
	read, err := readFilters(request, limits{len(set), 1 << 20})
	require.NoError(t, err)
	return read
}

// wantedOf is what the oracles select, with the names that readAll gives them.
func wantedOf(set []*oracle, i int, x *seenTransaction) (w wanted, any bool) {
	w.tx = i
	for n, o := range set {
		if o.selects(x) {
			w.names += fmt.Sprintf("%02d ", n)
		}
	}
	return w, w.names != ""
}

// The stream delivers exactly what the oracle selects, in order, whatever the filters.
// MINTLAKE_TEST_FILTERS=full takes all transactions of the recorded blocks and of twenty slots of
// the demo chain; otherwise it is a sample of them.
func TestTenThousandRandomFilters(t *testing.T) {
	var messages []*pb.SubscribeUpdateTransaction
	if os.Getenv("MINTLAKE_TEST_FILTERS") == "full" {
		messages = fewerVotes(append(realTransactions(t), demoTransactions(t, 20)...))
	} else {
		r := rand.New(rand.NewPCG(5, 6))
		sample := func(list []*pb.SubscribeUpdateTransaction, n int) {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			messages = append(messages, list[:n]...)
		}
		sample(fewerVotes(realTransactions(t)), 60)
		sample(demoTransactions(t, 2), 20)
	}
	list := parsed(t, messages)
	book, see := seen(messages)
	place := places(list)
	const subscribers, each = 2500, 4
	random := newRandomFilters(17, book, see)
	h := runHub(t, subscribers, 1<<30)
	sets := make([][]*oracle, subscribers)
	subs := make([]*subscriber, subscribers)
	for i := range subs {
		for range each {
			sets[i] = append(sets[i], random.filter())
		}
		var err error
		subs[i], err = h.add("", "", len(list))
		require.NoError(t, err)
		require.NoError(t, h.set(subs[i], readAll(t, sets[i]), nil))
	}
	publishAll(h, list, 100)
	var delivered atomic.Int64
	var group sync.WaitGroup
	for part := range slices.Chunk(slices.Collect(indices(subs)), subscribers/runtime.GOMAXPROCS(0)+1) {
		group.Go(func() {
			for _, i := range part {
				var want []wanted
				for n, x := range see {
					if w, any := wantedOf(sets[i], n, x); any {
						want = append(want, w)
					}
				}
				got := drain(subs[i], place)
				if !slices.Equal(want, got) {
					t.Errorf("subscriber %d with %v: %d delivered, %d wanted", i, sets[i], len(got), len(want))
				}
				delivered.Add(int64(len(got)))
			}
		})
	}
	group.Wait()
	t.Logf("%d filters, %d transactions, %d deliveries", subscribers*each, len(list), delivered.Load())
	require.Greater(t, delivered.Load(), int64(100_000), "the filters select something")
	for _, sub := range subs {
		h.remove(sub)
	}
	requireEmpty(t, h)
}

// fewerVotes keeps one vote of ten: they are all alike.
func fewerVotes(list []*pb.SubscribeUpdateTransaction) (out []*pb.SubscribeUpdateTransaction) {
	votes := 0
	for _, x := range list {
		if x.Transaction.IsVote {
			if votes++; votes%10 != 0 {
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

func indices[T any](list []T) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range list {
			if !yield(i) {
				return
			}
		}
	}
}

// requireEmpty says that nothing of any subscriber is left in the index.
func requireEmpty(t testing.TB, h *hub) {
	t.Helper()
	require.Zero(t, h.count())
	require.Zero(t, h.addresses.Load())
	for _, s := range h.shards {
		s.mu.Lock()
		require.Empty(t, s.byAccount)
		require.Empty(t, s.byOwner)
		require.Empty(t, s.always)
		s.mu.Unlock()
		require.Zero(t, s.subscribers)
	}
}

// What does not fit is refused, and nothing of it stays.
func TestAddressesOfAllAreBounded(t *testing.T) {
	h := runHub(t, 10, 100)
	first, err := h.add("", "", 1)
	require.NoError(t, err)
	second, err := h.add("", "", 1)
	require.NoError(t, err)
	of := func(from, n int) []namedFilter {
		f := &filter{}
		for i := range n {
			f.include = append(f.include, address{byte(from + i), 1})
		}
		return []namedFilter{{"f", f}}
	}
	require.NoError(t, h.set(first, of(0, 60), nil))
	require.ErrorContains(t, h.set(second, of(60, 41), nil), "as many addresses as it may: 100")
	require.NoError(t, h.set(second, of(60, 40), nil))
	require.NoError(t, h.set(first, of(0, 10), nil))
	require.NoError(t, h.set(second, of(60, 90), nil))
	h.remove(first)
	h.remove(second)
	require.NoError(t, h.set(second, of(0, 1), nil), "one that is gone")
	requireEmpty(t, h)
}

// A filter that requires addresses is found by the one that is seen least.
func TestTheRarestRequiredAddressFindsTheFilter(t *testing.T) {
	h := newHub(1, 10)
	common, rare := address{1, 7: 0, 8: 1}, address{2, 7: 0, 8: 2}
	for range 10 {
		h.frequency.add([]address{common})
	}
	f := &filter{required: addresses{common, rare}, include: addresses{common}}
	require.Equal(t, addresses{rare}, f.indexed(h.frequency.of))
	for range 20 {
		h.frequency.add([]address{rare})
	}
	require.Equal(t, addresses{common}, f.indexed(h.frequency.of))
}

func TestQueueGrowsAndShrinks(t *testing.T) {
	q := newQueue(100)
	require.Nil(t, q.ring, "nothing is held before the first delivery")
	list := make([]*transaction, 250)
	for i := range list {
		list[i] = &transaction{slot: uint64(i)}
	}
	in, out := 0, 0
	pop := func(n int) {
		for range n {
			d, ok := q.pop()
			require.True(t, ok)
			require.Same(t, list[out], d.tx)
			out++
		}
	}
	push := func(n int) {
		for range n {
			require.True(t, q.push(delivery{tx: list[in]}))
			in++
		}
	}
	push(3)
	pop(2)
	push(99)
	require.False(t, q.push(delivery{tx: list[0]}), "full")
	require.LessOrEqual(t, len(q.ring), 100)
	pop(100)
	require.Nil(t, q.ring, "empty again")
	push(5)
	pop(5)
	require.Len(t, q.ring, 8, "a little room is kept")
	_, ok := q.pop()
	require.False(t, ok)
}

// Clients of both forms that come, change their filters and go leave no goroutine, no entry and no
// memory.
func TestNothingIsLeftOfClients(t *testing.T) {
	f := start(t, Config{})
	wave := func() {
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				url := "ws://" + f.Addr() + "/?apiKey=" + f.key
				conn, _, err := websocket.Dial(ctx, url, nil)
				if err != nil {
					t.Error(err)
					return
				}
				conn.SetReadLimit(1 << 20)
				defer conn.CloseNow()
				for n := range 3 {
					message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"accountInclude":[%q,%q]}]}`,
						text(byte(n)), text(byte(i)))
					if err := conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
						t.Error(err)
						return
					}
					if _, _, err := conn.Read(ctx); err != nil {
						t.Error(err)
						return
					}
				}
				if i%2 == 0 {
					_ = conn.Close(websocket.StatusNormalClosure, "")
				}
			})
		}
		c, ctx := f.client(t)
		ctx, cancel := context.WithCancel(ctx)
		for range 30 {
			stream, err := c.Subscribe(ctx)
			require.NoError(t, err)
			f.setFilters(t, stream, filters{"a": {AccountInclude: []string{text(1)}}, "b": {AccountRequired: []string{text(2)}}, "c": {}})
			f.setFilters(t, stream, filters{"a": {AccountInclude: []string{text(3)}}})
		}
		f.publish(tx{number: 1, keys: []byte{1, 2, 3}})
		all.Wait()
		cancel()
		require.Eventually(t, func() bool { return f.hub.count() == 0 }, patience, 5*time.Millisecond)
	}
	measure := func() (goroutines int, heap uint64) {
		for range 3 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	wave() // what is made once
	_, before := measure()
	goroutines := runtime.NumGoroutine()
	for range 5 {
		wave()
	}
	requireEmpty(t, f.hub)
	// Each wave's gRPC client has a connection that lives until the test ends, at both ends.
	const ofConnections = 5 * 12
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+ofConnections }, patience, 20*time.Millisecond)
	_, after := measure()
	require.Less(t, after, before+4<<20, "450 clients came and went")
}

// A hub without clients costs next to nothing, one with many little more: each transaction asks
// only those that it concerns.
func BenchmarkPublish(b *testing.B) {
	messages := block(b)
	list := parsed(b, messages)
	for _, clients := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			h := runHub(b, clients, 1<<30)
			r := rand.New(rand.NewPCG(1, 1))
			for range clients {
				sub, err := h.add("", "", 1<<20)
				require.NoError(b, err)
				f := &filter{}
				for range 20 {
					f.include = append(f.include, randomKey(r))
				}
				own := list[r.IntN(len(list))]
				f.include[0] = own.accounts[0]
				slices.SortFunc(f.include, compareAddresses)
				require.NoError(b, h.set(sub, []namedFilter{{"f", f}}, nil))
			}
			done := make(chan struct{})
			h.finished = func(*batch) { close(done) }
			for b.Loop() {
				done = make(chan struct{})
				h.publish(context.Background(), list)
				<-done
				for s := range h.subscribers {
					for _, ok := s.out.pop(); ok; _, ok = s.out.pop() {
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(list)), "ns/transaction")
		})
	}
}
