package keys

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
)

// Tailer reads topics. Positions returns the offset of the next record in each partition.
// *kafka.Tailer is one.
type Tailer interface {
	kafka.TailReader
	Positions() map[kafka.TopicPartition]int64
}

// Deps are the collaborators of a Live store.
type Deps struct {
	// Offsets and OpenTail reach the topic. Required.
	Offsets  kafka.Ends
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (Tailer, error)
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Live is a Store of the issued keys. Each node has one. It reads the topic gateway.keys.v1 from
// its beginning and then follows it, so a change holds on every node as soon as the node has read
// it.
//
// While Kafka is away the keys stay as they are: nobody can write a revocation then either. Expiry
// and the end of a grace period need no Kafka.
type Live struct {
	deps    Deps
	metrics *metrics
	loaded  chan struct{}
	issues  atomic.Bool
	// freshAt is when a comparison with the end of the topic last showed that the node had read
	// everything. It is a time of steady.Now; 0 before the first such comparison.
	freshAt atomic.Int64

	mu      sync.RWMutex
	fold    *fold
	changed chan struct{}
	waiting map[string]chan error // channels of await, by the id of a change
}

// NewLive checks the collaborators and registers the metrics; it does no I/O. The store has no keys
// until Run has read them and Loaded is closed.
func NewLive(deps Deps) (*Live, error) {
	if deps.Offsets == nil || deps.OpenTail == nil {
		return nil, errors.New("keys: offsets and a tailer are required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	l := &Live{deps: deps, loaded: make(chan struct{}), fold: newFold(), changed: make(chan struct{}), waiting: map[string]chan error{}}
	var err error
	if l.metrics, err = newMetrics(deps.Registerer, l); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return l, nil
}

// Loaded returns a channel that is closed when the topic was read to the end that it had at the
// start of Run. No surface may open before: a revoked key must not work even for a moment.
func (l *Live) Loaded() <-chan struct{} { return l.loaded }

// Issues notes that this process can issue keys, so a surface may start without a key and wait for
// the first one.
func (l *Live) Issues() { l.issues.Store(true) }

// Find implements Store.
func (l *Live) Find(hash Hash) (Found, bool) {
	l.mu.RLock()
	found, known := l.fold.byHash.find(hash)
	l.mu.RUnlock()
	return found, known
}

// Has implements Store. It stays true after the last key of the product is revoked: that must not
// open a surface.
func (l *Live) Has(product Product) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.fold.has[product]
}

// Changed implements Store.
func (l *Live) Changed() <-chan struct{} {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.changed
}

// Key returns a key by its name.
func (l *Live) Key(product Product, name string) (*Key, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	key, known := l.fold.keys[subject(product, name)]
	return key, known
}

// Keys returns all issued keys by product and name, the revoked ones included.
func (l *Live) Keys() []*Key {
	l.mu.RLock()
	list := make([]*Key, 0, len(l.fold.keys))
	for _, key := range l.fold.keys {
		list = append(list, key)
	}
	l.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Key) int {
		return strings.Compare(subject(a.Product, a.ID), subject(b.Product, b.ID))
	})
	return list
}

// await returns a channel that gets the result of apply for the change with this id.
func (l *Live) await(id []byte) <-chan error {
	done := make(chan error, 1)
	l.mu.Lock()
	l.waiting[string(id)] = done
	l.mu.Unlock()
	return done
}

func (l *Live) forget(id []byte) {
	l.mu.Lock()
	delete(l.waiting, string(id))
	l.mu.Unlock()
}

// take applies records, and sends the result of each to the Issuer that waits for that change. A
// record that cannot be read is counted, logged and skipped. In the end take closes the channel of
// Changed and makes the next one.
func (l *Live) take(records []kafka.Record) {
	l.mu.Lock()
	for i := range records {
		change, err := parseChange(records[i].Value)
		if err != nil {
			l.metrics.badRecords.Inc()
			l.deps.Logger.Error("a change of an API key cannot be read: look at each key (docs/keys.md)", "topic", records[i].Topic,
				"partition", records[i].Partition, "offset", records[i].Offset, "err", err)
			continue
		}
		err = l.fold.apply(change)
		l.metrics.count(change, err)
		if done := l.waiting[string(change.GetId())]; done != nil {
			delete(l.waiting, string(change.GetId()))
			done <- err
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
}
