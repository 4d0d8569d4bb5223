package stream

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/panics"
)

// gate holds live transactions back from the filters that a replay serves. Live delivery passes the
// records at offset from and above; the replay delivers the records below from. Neither delivers
// slots below slot, from which on the client asked for a replay. from is an offset of the log with
// that generation (see hub); of a later one live delivery passes every offset. shard.mu guards
// from. A nil gate is always open.
type gate struct {
	from       int64
	slot       uint64
	generation uint64
}

// replaying is the value of gate.from until the replay has caught up.
const replaying = math.MaxInt64

// opens returns whether live delivery may deliver what the record at an offset of a generation says
// of slot.
func (g *gate) opens(generation uint64, offset int64, slot uint64) bool {
	switch {
	case g == nil:
		return true
	case g.from == replaying, slot < g.slot:
		return false
	}
	return offset >= g.from || generation > g.generation
}

// errReplays refuses a replay while too many others run.
var errReplays = errors.New("the server runs as many replays as it may; subscribe again in a moment, or without from_slot")

const (
	// replayAhead is how many deliveries may wait for the client before a replay pauses. It is less
	// than the queue holds, so that there is room for live deliveries to the connection's other
	// filters.
	replayAhead = 256
	// replayBatch bounds one fetch, in records.
	replayBatch = 512
	// replayIdle is how long a replay waits for records before it checks whether it has caught up.
	replayIdle = 50 * time.Millisecond
)

// replay reads the log for one subscriber, from slot on, until live delivery takes over.
type replay struct {
	server *Server
	sub    *subscriber
	gate   *gate
	slot   uint64
	next   int64 // offset of the next record
	log    *logReader
	// reader is the reader of the log that the replay has joined; nil if it has left one and joined
	// no other.
	reader *replayReader
	// at is levelLog or levelFinal.
	at level
	// pushed counts deliveries. waited is how long the replay has waited for the client since
	// pushed was last a multiple of replayAhead.
	pushed int
	waited time.Duration
}

// newReplay waits until live delivery has begun, finds the slot in the log, and joins a reader. If
// there are too many replays, it waits up to Config.replayPatience for a place. If there are too
// many readers, it waits as long for a reader. Then it returns errReplays, or errKeyReplays if the
// replays of the same key are too many. Unless there is an error, the caller calls either run or
// release.
func (s *Server) newReplay(ctx context.Context, sub *subscriber, slot uint64, at level) (_ *replay, err error) {
	select { // until live delivery has an offset, a replay cannot hand over to it
	case <-s.fed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := s.takePlace(ctx, sub.key); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.freePlace(sub.key)
		}
	}()
	generation := s.hub.generation.Load() // before the offset, so that it is not of a later one
	offset, err := s.locate(ctx, slot)
	if err != nil {
		return nil, err
	}
	joining, stop := context.WithTimeoutCause(ctx, s.cfg.replayPatience, errReplays)
	defer stop()
	reader, err := s.readers.join(joining, offset, sub.key, newcomer)
	if err != nil {
		return nil, err
	}
	s.metrics.replays.Inc()
	log := newLogReader(s.metrics)
	log.final = s.onlyFinal()
	log.ended = slot - min(slot, 1) // so that a gap at the first slot is noticed
	if at == levelFinal {
		log.finals = newFinals()
	}
	g := &gate{from: replaying, slot: slot, generation: generation}
	return &replay{server: s, sub: sub, gate: g, slot: slot, next: offset, log: log, at: at, reader: reader}, nil
}

// errKeyReplays refuses a replay while others of its key have all places that one key may have.
var errKeyReplays = errors.New("other replays of this API key have all places that one key may have, a quarter of the server's; subscribe again when one of them has caught up, from the slot of one of them, or without from_slot")

// shareOf returns how many of n places one API key may have: a quarter, but at least one. There
// is no limit for keys.OpenID: without keys, all clients are on this machine.
func shareOf(key string, n int) int {
	if key == keys.OpenID {
		return math.MaxInt
	}
	return max(1, n/4)
}

// takePlace takes a place for a replay: it waits for one of the key's places, then for one of the
// server's. Each wait ends after Config.replayPatience, with errKeyReplays or errReplays. Unless
// there is an error, the caller calls freePlace.
func (s *Server) takePlace(ctx context.Context, key string) error {
	own, stop := context.WithTimeoutCause(ctx, s.cfg.replayPatience, errKeyReplays)
	defer stop()
	if s.shares.Take(own, key) != nil {
		return context.Cause(own)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, s.cfg.replayPatience, errReplays)
	defer cancel()
	if s.running.Acquire(waiting, 1) != nil {
		s.shares.Give(key)
		return context.Cause(waiting)
	}
	return nil
}

func (s *Server) freePlace(key string) {
	s.running.Release(1)
	s.shares.Give(key)
}

// release gives back what newReplay took.
func (r *replay) release() {
	r.leave()
	r.server.freePlace(r.sub.key)
}

// leave leaves the reader, if there is one.
func (r *replay) leave() {
	if r.reader != nil {
		r.server.readers.leave(r.reader, r.sub.key)
		r.reader = nil
	}
}

// run delivers until live delivery takes over, the subscriber is cut off, or ctx ends. If the log
// cannot be read, it cuts the subscriber off, so that the client subscribes again from its last
// slot on.
func (r *replay) run(ctx context.Context) {
	defer r.release()
	defer panics.Catch(r.server.deps.Logger, r.server.metrics.panics, func() { r.sub.End(socket.ErrInternal) })
	for !r.handOver() {
		records, err := r.fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded), err == nil && len(records) == 0:
			continue
		case err != nil:
			r.server.deps.Logger.Warn("a replay lost its topic", "err", err)
			r.sub.End(errLostLog)
			return
		}
		if records[0].offset > r.next {
			r.log.torn = true // retention deleted what was to be read next
		}
		for _, record := range records {
			if !r.record(ctx, record) {
				return
			}
		}
	}
}

// fetch returns the next records. If no records come within replayIdle, it returns
// context.DeadlineExceeded. If the replay must read elsewhere, as when it is slower than the others
// at its reader, fetch joins another reader and returns no records. It waits for that reader until
// ctx ends. If the log was made anew, it returns errLostLog.
func (r *replay) fetch(ctx context.Context) ([]*logRecord, error) {
	if r.gate.generation != r.server.hub.generation.Load() {
		return nil, errLostLog
	}
	within, cancel := context.WithTimeout(ctx, replayIdle)
	defer cancel()
	records, err := r.reader.fetch(within, r.next)
	if !errors.Is(err, errElsewhere) {
		return records, err
	}
	if r.reader, err = r.server.readers.move(ctx, r.reader, r.next, r.sub.key); err != nil {
		return nil, err
	}
	// The new reader may have dropped the record at r.next already. So nothing is read from it
	// here: the caller calls fetch again, which may change the reader once more.
	return nil, nil
}

// errStalled ends a subscription whose client hardly reads its replay.
var errStalled = errors.New("the client hardly reads its replay; subscribe again with the slot that you are at, and a faster reader")

// errLostLog ends a subscription whose replay failed.
var errLostLog = errors.New("the server cannot read its log; subscribe again with the slot that you are at")

// record delivers what is in a record to the filters and watches that the replay serves. It returns
// false when the subscription is over.
func (r *replay) record(ctx context.Context, record *logRecord) bool {
	r.next = record.offset + 1
	for _, item := range r.log.read(record) {
		if item.note != nil {
			if !r.deliverFinal(ctx, item.note) || !r.tell(ctx, item.note) {
				return false
			}
			continue
		}
		if r.at == levelLog && item.tx.slot >= r.slot && !r.transaction(ctx, item.tx) {
			return false
		}
	}
	return true
}

// deliverFinal delivers the transactions of the slots that n finalizes. It returns false when the
// subscription is over.
func (r *replay) deliverFinal(ctx context.Context, n *note) bool {
	for _, slot := range n.final {
		for _, t := range slot.list {
			if t.slot >= r.slot && !r.transaction(ctx, t) {
				return false
			}
		}
	}
	return true
}

// handOver lets live delivery take over and returns true, unless live delivery is already beyond
// what the replay has read. A replay of finalized transactions must know a finalized slot first:
// until then, live delivery may already have delivered a slot that the replay still holds.
func (r *replay) handOver() bool {
	return (r.at == levelLog || r.log.finals.root > 0) && r.sub.shard.handOver(r.gate, r.next)
}

func (r *replay) transaction(ctx context.Context, t *transaction) bool {
	wants := r.wanting(t)
	if len(wants) == 0 {
		return ctx.Err() == nil
	}
	return r.push(ctx, delivery{tx: t, wants: wants})
}

// wanting returns the entries that the replay serves and that want t.
func (r *replay) wanting(t *transaction) (wants []*entry) {
	r.sub.change.Lock()
	defer r.sub.change.Unlock()
	var hashes hashCache
	for _, e := range r.sub.entries {
		if e.gate == r.gate && e.wants(t, false, &hashes) {
			wants = append(wants, e)
		}
	}
	return wants
}

// tell delivers a note to the watches that the replay serves. It returns false when the
// subscription is over.
func (r *replay) tell(ctx context.Context, n *note) bool {
	for _, d := range r.sub.shard.notesFor(r.sub, n, func(w *watch) bool { return w.gate == r.gate }) {
		if !r.push(ctx, d) {
			return false
		}
	}
	return true
}

// push queues a delivery, and waits for the client to make room for it. It returns false when the
// subscription is over. A client that hardly reads is cut off, because other replays wait for a
// place.
func (r *replay) push(ctx context.Context, d delivery) bool {
	if r.pushed++; r.pushed%replayAhead == 0 {
		r.waited = 0
	}
	for !r.sub.out.pushBelow(d, replayAhead) {
		begun := time.Now()
		over := time.NewTimer(r.server.cfg.replayStall - r.waited)
		select {
		case <-ctx.Done():
		case <-r.sub.Ended():
		case <-r.sub.out.drained:
		case <-over.C:
			r.sub.End(errStalled)
		}
		over.Stop()
		r.waited += time.Since(begun)
		if ctx.Err() != nil || r.sub.Over() {
			return false
		}
	}
	r.server.metrics.replayed.Inc()
	return true
}

// handOver opens the gate at offset next and returns true, unless live delivery is already beyond
// next, or is in another generation of the log.
func (s *shard) handOver(g *gate, next int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != g.generation || s.next > next {
		return false
	}
	g.from = next
	return true
}

// notesFor returns the deliveries of a note to the subscriber's watches for which match returns
// true. match must return true only for watches that have a gate. Notes about slots below the
// gate's slot are left out.
func (s *shard) notesFor(sub *subscriber, n *note, match func(*watch) bool) (list []delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range sub.watches {
		if !match(w) {
			continue
		}
		for _, end := range w.finalEnds(n) {
			if end.slot >= w.gate.slot {
				list = append(list, delivery{note: end, watch: w})
			}
		}
		if w.wants(n) && n.slot >= w.gate.slot {
			list = append(list, delivery{note: n, watch: w})
		}
	}
	return list
}

// setWatches replaces the subscriber's watches. A watch that is new, or that changed between the
// log and the node of Config.Processed, gets the note about a present stall of its source at once.
// Comparing all new watches with all old ones is cheap: a subscriber has at most two for each of
// its 16 subscriptions (Config.maxFilters).
func (s *shard) setWatches(sub *subscriber, list []*watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := sub.watches
	sub.watches = slices.Clone(list)
	if len(list) == 0 {
		delete(s.watchers, sub)
	} else {
		s.watchers[sub] = struct{}{}
	}
	for _, w := range list {
		known := func(old *watch) bool {
			return old.kind == w.kind && old.name == w.name && old.ofProcessed() == w.ofProcessed()
		}
		if !slices.ContainsFunc(was, known) {
			s.tellNow(sub, w)
		}
	}
}

// tell delivers a note to the watches that want it, and the transactions that are finalized with it
// to the filters that want them. Some notes must not overtake the transactions of their slot: if
// the client gets both, these notes wait in the queue of transactions. All other notes have a small
// queue of their own. The result counts the transactions that were delivered, not the notes.
func (s *shard) tell(n *note) (delivered int) {
	if n.ofLog() {
		s.mu.Lock()
		// Set first, so that a replay hands over either before the whole note or after it.
		s.next = n.offset + 1
		s.mu.Unlock()
		delivered = s.matchFinal(n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepStall(n)
	for sub := range s.watchers {
		for _, w := range sub.watches {
			for _, end := range w.finalEnds(n) {
				if w.gate.opens(s.generation, n.offset, end.slot) {
					s.push(sub, delivery{note: end, watch: w}, w.ordered)
				}
			}
			if w.wants(n) && (!n.ofLog() || w.gate.opens(s.generation, n.offset, n.slot)) {
				s.push(sub, delivery{note: n, watch: w}, w.waitsBehind(n))
			}
		}
	}
	return delivered
}

// push queues a note for a subscriber, behind its transactions or in the queue of notes. It never
// waits: a subscriber whose queue is full is cut off.
func (s *shard) push(sub *subscriber, d delivery, behind bool) {
	queue := sub.notes
	if behind {
		queue = sub.out
	}
	if !queue.push(d) {
		s.hub.lagged.Add(1)
		sub.End(errLagged)
	}
}
