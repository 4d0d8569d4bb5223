package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/gateway/socket"
)

// Why a subscriber is cut off, and why a new one is refused.
var (
	errLagged = errors.New("the client reads slower than the chain writes; subscribe again, with narrower filters or a faster reader")
	errFull   = errors.New("the server has as many subscribers as it may")
)

// subscriber is one client's subscription. Its filters may be replaced at any time.
type subscriber struct {
	*socket.Ending
	shard *shard
	// out has the transactions to send, in order, and the notes that wait behind them. notes has
	// the notes that do not wait.
	out, notes *queue
	// key is the name of the client's key, form is grpc or websocket.
	key, form string
	since     time.Time

	// change is held while the filters are replaced. It guards entries, the current filters, and
	// gone, which says that the subscriber was removed. Matching needs none of these fields: it
	// reads the index, and the fields of entry that shard.mu guards.
	change  sync.Mutex
	entries []*entry
	gone    bool

	// Guarded by shard.mu: hits are the filters that want the transaction that is being matched.
	// tick is the number of the pass that set hits. If shard.tick is higher, hits are stale.
	// watches are the subscriber's watches.
	tick    uint64
	hits    []*entry
	watches []*watch
}

// batch is a list of transactions in the order of delivery. Every shard processes the whole batch.
// The last shard to finish calls hub.finished.
type batch struct {
	list []*transaction
	// at is levelLog or levelProcessed.
	at level
	// notes are delivered between the transactions: see placedNote.
	notes []placedNote
	// generation is set for a batch with which another generation of the log begins (see hub). next
	// is the offset of the first record of it that is delivered.
	generation uint64
	next       int64
	delivered  atomic.Int64
	left       atomic.Int32 // shards that have not finished
}

// placedNote is a note that is delivered before list[before] of its batch.
type placedNote struct {
	before int
	*note
}

// batchesAhead is how many batches may wait at a shard before publish waits for it.
const batchesAhead = 4

// hub delivers each transaction to the subscribers that want it. Subscribers are spread over
// shards, one for each core. Each shard has an index of its subscribers' filters and matches all
// transactions in their order, so each subscriber gets its own in that order.
type hub struct {
	// most bounds the subscribers, mostAddresses the addresses in the filters of all of them.
	most          int
	mostAddresses int64
	shards        []*shard
	frequency     frequency
	// finished is called when all shards have finished a batch; it may be nil.
	finished func(b *batch)

	mu          sync.RWMutex
	subscribers map[*subscriber]struct{}
	closed      bool
	gone        sync.WaitGroup // counts the subscribers that were not removed yet

	// addresses counts the addresses in all filters. slot is the highest slot seen in the log.
	// lagged counts the subscribers that were cut off because they fell behind.
	addresses atomic.Int64
	slot      atomic.Uint64
	lagged    atomic.Uint64
	// generation counts how often the offsets of the log went back. Offsets of two generations
	// cannot be compared.
	generation atomic.Uint64
}

func newHub(most, mostAddresses int) *hub {
	h := &hub{most: most, mostAddresses: int64(mostAddresses), subscribers: map[*subscriber]struct{}{}}
	for range runtime.GOMAXPROCS(0) {
		h.shards = append(h.shards, newShard(h))
	}
	return h
}

// run runs the shards until ctx ends.
func (h *hub) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range h.shards {
		group.Go(func() error {
			s.run(ctx)
			return nil
		})
	}
	return group.Wait()
}

// add makes a subscriber, in the shard with the fewest subscribers. The subscriber gets nothing
// until it has filters or watches. Up to buffer deliveries may wait for it, and maxNotes notes
// beside them.
func (h *hub) add(key, form string, buffer int) (*subscriber, error) {
	s := &subscriber{
		out: newQueue(buffer), notes: newQueue(maxNotes), Ending: socket.NewEnding(), key: key, form: form, since: time.Now(),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, socket.ErrStops
	case len(h.subscribers) >= h.most:
		return nil, errFull
	}
	s.shard = h.shards[0]
	for _, other := range h.shards[1:] {
		if other.subscribers < s.shard.subscribers {
			s.shard = other
		}
	}
	s.shard.subscribers++
	h.subscribers[s] = struct{}{}
	h.gone.Add(1)
	return s, nil
}

// remove takes a subscriber, its filters and its watches out of the hub. It is called once for each
// subscriber that add made.
func (h *hub) remove(s *subscriber) {
	s.change.Lock()
	s.gone = true
	h.addresses.Add(-int64(countAddresses(s.entries)))
	s.shard.replace(s, nil)
	s.shard.setWatches(s, nil)
	s.change.Unlock()
	h.mu.Lock()
	s.shard.subscribers--
	delete(h.subscribers, s)
	h.mu.Unlock()
	h.gone.Done()
}

// set replaces the subscriber's filters and watches between two transactions: each transaction is
// matched either against the old filters or against the new ones. A filter that is in both keeps
// its place in the index. Matching goes on meanwhile. If all subscribers together would have too
// many addresses, set changes nothing, the watches neither, and returns an error. It does nothing
// if the subscriber was removed.
func (h *hub) set(s *subscriber, filters []namedFilter, watches []*watch) error {
	s.change.Lock()
	defer s.change.Unlock()
	if s.gone {
		return nil
	}
	kept := make(map[*filter]*entry, len(s.entries))
	for _, e := range s.entries {
		kept[e.filter] = e
	}
	next := make([]*entry, len(filters))
	for i, f := range filters {
		if e := kept[f.filter]; e != nil && e.name == f.name {
			next[i] = e
		} else {
			next[i] = newEntry(s, f, f.indexed(h.frequency.of))
		}
	}
	more := int64(countAddresses(next) - countAddresses(s.entries))
	if now := h.addresses.Add(more); more > 0 && now > h.mostAddresses {
		h.addresses.Add(-more)
		return fmt.Errorf("the server holds as many addresses as it may: %d in the filters of all its clients", h.mostAddresses)
	}
	// The watches come first: a new filter must not deliver what lies before a gap untold.
	s.shard.setWatches(s, watches)
	s.shard.replace(s, next)
	return nil
}

func countAddresses(entries []*entry) (n int) {
	for _, e := range entries {
		n += e.count()
	}
	return n
}

// addressesIn counts the addresses of all filters together.
func addressesIn(filters []namedFilter) (n int) {
	for _, f := range filters {
		n += f.count()
	}
	return n
}

// askedFor counts the addresses for the limit and the usage of a key: those in all filters, and the
// entries of their cuckoo filters.
func askedFor(filters []namedFilter) int {
	n := addressesIn(filters)
	for _, f := range filters {
		n += f.cuckoo.entries()
	}
	return n
}

func (h *hub) count() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.subscribers)
}

// publish passes transactions and notes of the log to all shards. It waits for a busy shard, until
// ctx ends, but never for a client: a subscriber whose queue is full is cut off. Only one goroutine
// may call it.
func (h *hub) publish(ctx context.Context, list []*transaction, notes ...placedNote) {
	for _, t := range list {
		h.frequency.add(t.accounts)
		h.seen(t.slot)
	}
	for _, n := range notes {
		if n.kind == noteEnd {
			h.seen(n.slot)
		}
	}
	h.publishAt(ctx, levelLog, list, notes...)
}

// publishAt passes transactions and notes of a level to all shards. Unlike publish, it does not
// update h.slot and h.frequency. Any goroutine may call it.
func (h *hub) publishAt(ctx context.Context, at level, list []*transaction, notes ...placedNote) {
	h.send(ctx, &batch{list: list, at: at, notes: notes})
}

// send passes a batch to all shards.
func (h *hub) send(ctx context.Context, b *batch) {
	b.left.Store(int32(len(h.shards)))
	for _, s := range h.shards {
		select {
		case s.in <- b:
		case <-ctx.Done():
			return
		}
	}
}

// begin tells all shards the offset at which live delivery begins.
func (h *hub) begin(offset int64) {
	for _, s := range h.shards {
		s.begin(offset, h.generation.Load())
	}
}

// seen raises h.slot to slot, if slot is higher.
func (h *hub) seen(slot uint64) {
	for {
		now := h.slot.Load()
		if slot <= now || h.slot.CompareAndSwap(now, slot) {
			return
		}
	}
}

// close ends all subscribers and takes no more.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subscribers {
		s.End(socket.ErrStops)
	}
}

// wait returns when all subscribers have been removed.
func (h *hub) wait() { h.gone.Wait() }

// frequency estimates how often each address is seen. It is a count-min sketch with one row; the
// counts are halved from time to time, so that old ones fade.
type frequency struct {
	counts [1 << 14]atomic.Uint32
	added  int
}

// frequencyHalved is the number of transactions after which the counts are halved.
const frequencyHalved = 1 << 17

func (f *frequency) cell(a address) *atomic.Uint32 {
	return &f.counts[int(binary.LittleEndian.Uint16(a[8:]))%len(f.counts)]
}

func (f *frequency) of(a address) uint32 { return f.cell(a).Load() }

// add counts the addresses of a transaction. It is called by one goroutine.
func (f *frequency) add(list []address) {
	for _, a := range list {
		f.cell(a).Add(1)
	}
	if f.added++; f.added%frequencyHalved == 0 {
		for i := range f.counts {
			f.counts[i].Store(f.counts[i].Load() / 2)
		}
	}
}

// delay returns how long ago Mintlake received t; false if that is not known.
func (t *transaction) delay() (time.Duration, bool) {
	return time.Since(t.received), !t.received.IsZero()
}
