package stream

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/yellowstone"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ProcessedConfig is a Geyser server that brings what is processed. Zero values take the defaults
// named at each field.
type ProcessedConfig struct {
	// Endpoint is https://host:port or http://host:port; empty = none.
	Endpoint string
	// Token is sent as x-token; empty = none.
	Token string
	// silence is how long the connection may be without any message before it is given up. Default
	// 15 s; servers ping every 10 s, and answer our pings.
	silence time.Duration
	// firstPause is the pause after a first failure. It doubles up to maxPause. Defaults 250 ms and
	// 10 s.
	firstPause, maxPause time.Duration
}

func (c ProcessedConfig) withDefaults() ProcessedConfig {
	c.silence = cmp.Or(max(c.silence, 0), 15*time.Second)
	c.firstPause = cmp.Or(max(c.firstPause, 0), 250*time.Millisecond)
	c.maxPause = cmp.Or(max(c.maxPause, 0), 10*time.Second)
	return c
}

// processed follows a Geyser server at the commitment processed. What it brings goes to subscribers
// at levelProcessed, live only: nothing of it is stored, and the log does not have it.
//
// One goroutine keeps a session open (processed_session.go). Another one, publish, handles what the
// sessions receive.
type processed struct {
	server   *Server
	cfg      ProcessedConfig
	upstream yellowstone.Server
	recent   recent
	// deaths are the dead slots that were told at levelProcessed.
	deaths struct {
		sync.Mutex
		told *repeats
	}
	// received has what the sessions receive.
	received chan received
	// tip is the highest slot that has ended; 0 while there is none.
	tip atomic.Uint64

	// Only the goroutine of publish uses the fields below.
	repeats *repeats
	// ended is the slot up to which nothing is missing, or was told as a gap. It is set with the
	// first update.
	ended uint64
	// resuming is set from the begin of a session until it is known whether updates are missing.
	// replays says that the session asked for a replay.
	resuming, replays bool
	// ends are slots of which only the status or only the block came.
	ends map[uint64]*slotEnd
	// list and notes are what the next flush publishes.
	list  []*transaction
	notes []placedNote
	// last is when an update came last.
	last    time.Time
	stalled bool
}

// received is a message of a session, or the begin of one.
type received struct {
	message []byte
	at      time.Time
	// begins is set for the begin of a session; replays if it asked for a replay.
	begins, replays bool
}

// slotEnd is what has come of the end of a slot: its status processed and its block.
type slotEnd struct {
	status bool
	parent *uint64
	block  *eventspb.StreamBlock
}

const (
	// receivedAhead is how many messages may wait for publish.
	receivedAhead = 256
	// endsKept bounds slotEnds that are incomplete: a server may leave out blocks.
	endsKept = 16
)

// newProcessed returns nil if no server is configured. It does no I/O.
func newProcessed(s *Server) (*processed, error) {
	cfg := s.cfg.Processed.withDefaults()
	if cfg.Endpoint == "" {
		return nil, nil
	}
	url, err := yellowstone.ParseURL(cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	p := &processed{
		server: s, cfg: cfg, upstream: yellowstone.Server{URL: url, Token: cfg.Token},
		received: make(chan received, receivedAhead), repeats: newRepeats(), ends: map[uint64]*slotEnd{},
	}
	p.deaths.told = newRepeats()
	return p, nil
}

// slot is the highest slot that has ended; 0 while there is none.
func (p *processed) slot() uint64 {
	if p == nil {
		return 0
	}
	return p.tip.Load()
}

// run follows the server until ctx ends.
func (p *processed) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { p.follow(ctx); return nil })
	group.Go(func() error { p.publish(ctx); return nil })
	return group.Wait()
}

// publish handles what the sessions receive until ctx ends.
func (p *processed) publish(ctx context.Context) {
	p.last = time.Now()
	tick := time.NewTicker(max(p.server.cfg.stallAfter/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-p.received:
			p.take(r)
			for range len(p.received) { // what waits goes out together
				p.take(<-p.received)
			}
		case now := <-tick.C:
			p.checkStall(now)
		}
		p.flush(ctx)
	}
}

// flush publishes what take has collected.
func (p *processed) flush(ctx context.Context) {
	if len(p.list)+len(p.notes) == 0 {
		return
	}
	p.server.metrics.processed.records.Add(float64(len(p.list)))
	p.server.hub.publishAt(ctx, levelProcessed, p.list, p.notes...)
	p.list, p.notes = nil, nil
}

// checkStall tells subscribers if nothing has come for stallAfter, once for each stall.
func (p *processed) checkStall(now time.Time) {
	if p.stalled || now.Sub(p.last) < p.server.cfg.stallAfter {
		return
	}
	p.stalled = true
	p.server.metrics.stalls.Inc()
	p.server.deps.Logger.Warn("what is processed stalled", "slot", p.tip.Load())
	p.note(&note{kind: noteStalled, slot: p.tip.Load(), why: stalledProcessed})
}

// came notes that an update came. It tells subscribers if there was a stall.
func (p *processed) came(at time.Time) {
	p.last = at
	if p.stalled {
		p.stalled = false
		p.note(&note{kind: noteResumed, slot: p.tip.Load()})
	}
}

func (p *processed) note(n *note) {
	n.at = levelProcessed
	p.notes = append(p.notes, placedNote{len(p.list), n})
}

// Fields of SubscribeUpdate.
const fieldUpdateSlotStatus, fieldUpdateBlockMeta = 3, 7

// take handles one message. Those of no interest are ignored, and those that cannot be read are
// counted.
func (p *processed) take(r received) {
	if r.begins {
		p.resuming, p.replays = p.ended > 0, r.replays
		return
	}
	if err := p.read(r); err != nil {
		p.server.metrics.processed.bad.Inc()
		p.server.deps.Logger.Debug("processed update left out", "err", err)
	}
}

// read handles what a message is about: a transaction, a slot or a block.
func (p *processed) read(r received) error {
	f := fields{rest: r.message}
	for f.next() {
		var handle func([]byte) error
		switch {
		case f.isBytes(fieldUpdateTransaction):
			handle = func(value []byte) error { return p.transaction(value, r.at) }
		case f.isBytes(fieldUpdateSlotStatus):
			handle = p.status
		case f.isBytes(fieldUpdateBlockMeta):
			handle = p.block
		default: // pings, pongs
			continue
		}
		p.came(r.at)
		if err := handle(f.bytes); err != nil {
			return err
		}
	}
	return f.err
}

// fresh reports whether an update about a slot is new. The first update of a session tells whether
// others are missing. If the server replays, it repeats what came before. Otherwise all is missing
// from the last slot that ended up to this one, of which the beginning may be missing.
func (p *processed) fresh(slot uint64, repeated bool) bool {
	switch {
	case p.ended == 0:
		p.ended = slot - min(slot, 1)
	case repeated && p.replays:
		p.resuming = false
	case !repeated && p.resuming && slot > p.ended:
		p.resuming = false
		p.gap(slot)
		p.ended = slot - 1
	}
	if repeated {
		p.server.metrics.processed.repeated.Inc()
	}
	return !repeated
}

// gap tells subscribers that updates after the last slot that ended are missing, up to slot.
func (p *processed) gap(slot uint64) {
	p.server.metrics.processed.gaps.Inc()
	p.note(&note{kind: noteGap, first: p.ended + 1, slot: slot})
}

func (p *processed) transaction(value []byte, at time.Time) error {
	t, err := parseTransaction(value, 0, at)
	if err != nil {
		return err
	}
	if !t.vote && p.fresh(t.slot, p.repeats.add(t.slot, t.signature)) {
		p.list = append(p.list, t)
	}
	return nil
}

// status handles the status of a slot. Those from confirmed on come with the log.
func (p *processed) status(value []byte) error {
	var in pb.SubscribeUpdateSlot
	if err := proto.Unmarshal(value, &in); err != nil {
		return err
	}
	slot := in.GetSlot()
	switch status := in.GetStatus(); status {
	case pb.SlotStatus_SLOT_PROCESSED:
		if p.fresh(slot, p.repeats.addStatus(slot, status)) {
			e := p.endOf(slot)
			e.status, e.parent = true, in.Parent
			p.end(slot, e)
		}
	case pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED, pb.SlotStatus_SLOT_COMPLETED, pb.SlotStatus_SLOT_CREATED_BANK:
		if p.fresh(slot, p.repeats.addStatus(slot, status)) {
			p.note(&note{kind: noteInterim, slot: slot, interim: status, end: &eventspb.StreamBlock{Slot: slot, ParentSlot: in.Parent}})
		}
	case pb.SlotStatus_SLOT_DEAD:
		n := &note{kind: noteDead, slot: slot, why: cmp.Or(in.GetDeadError(), "the node calls its block invalid")}
		if p.dies(slot) {
			p.server.metrics.processed.dead.Inc()
			p.recent.take(n)
			p.note(n)
		}
	case pb.SlotStatus_SLOT_CONFIRMED, pb.SlotStatus_SLOT_FINALIZED:
	}
	return nil
}

// block handles the metadata of a slot's block.
func (p *processed) block(value []byte) error {
	var in pb.SubscribeUpdateBlockMeta
	if err := proto.Unmarshal(value, &in); err != nil {
		return err
	}
	hash, err := hashOf(in.GetBlockhash())
	if err != nil {
		return err
	}
	parentHash, err := hashOf(in.GetParentBlockhash())
	if err != nil {
		return err
	}
	slot := in.GetSlot()
	if !p.fresh(slot, p.repeats.addText(slot, hash)) {
		return nil
	}
	e := p.endOf(slot)
	e.block = &eventspb.StreamBlock{
		Slot: slot, ParentSlot: &in.ParentSlot, Blockhash: hash, ParentBlockhash: parentHash, BlockTime: in.GetBlockTime().GetTimestamp(),
		Executed: in.GetExecutedTransactionCount(),
	}
	if height := in.GetBlockHeight(); height != nil {
		e.block.BlockHeight = &height.BlockHeight
	}
	p.end(slot, e)
	return nil
}

// hashOf reads a block's hash.
func hashOf(text string) ([]byte, error) {
	hash, err := pubkey.Parse(text)
	if err != nil {
		return nil, errors.New("malformed block hash")
	}
	return hash[:], nil
}

// endOf returns what has come of the end of a slot. If too many are incomplete, it tells the end of
// the lowest one without its block.
func (p *processed) endOf(slot uint64) *slotEnd {
	e := p.ends[slot]
	if e == nil {
		e = &slotEnd{}
		p.ends[slot] = e
	}
	if len(p.ends) > endsKept {
		lowest := slot
		for other := range p.ends {
			lowest = min(lowest, other)
		}
		old := p.ends[lowest]
		delete(p.ends, lowest)
		if old.status {
			p.tellEnd(lowest, &eventspb.StreamBlock{Slot: lowest, ParentSlot: old.parent})
		}
	}
	return e
}

// end tells the end of a slot once both its status and its block have come. Servers do not agree
// on which of the two comes first, and whether transactions come between them.
func (p *processed) end(slot uint64, e *slotEnd) {
	if e.status && e.block != nil {
		delete(p.ends, slot)
		p.tellEnd(slot, e.block)
	}
}

// tellEnd tells the end of a slot. If its parent is beyond what has ended, updates are missing.
func (p *processed) tellEnd(slot uint64, block *eventspb.StreamBlock) {
	if parent := block.GetParentSlot(); slot > p.ended && parent > p.ended && parent < slot {
		p.gap(parent)
	}
	p.ended = max(p.ended, slot)
	p.tip.Store(p.ended)
	n := &note{kind: noteProcessed, slot: slot, end: block}
	p.recent.take(n)
	p.note(n)
}

// dies returns whether the death of a slot is told for the first time.
func (p *processed) dies(slot uint64) bool {
	p.deaths.Lock()
	defer p.deaths.Unlock()
	return !p.deaths.told.addStatus(slot, pb.SlotStatus_SLOT_DEAD)
}

// hears is called with each note of the log before it is published. The log tells of dead slots
// that the node does not: those whose block is valid, but on a fork that was given up.
func (p *processed) hears(n *note) {
	if p == nil || n.kind != noteDead {
		return
	}
	n.again = !p.dies(n.slot)
	p.recent.take(n)
}
