package stream

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/unknowns"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// ProcessedConfig names the Geyser server that the stream follows at the commitment processed. Zero
// values take the defaults named at each field.
type ProcessedConfig struct {
	// Endpoint is https://host:port or http://host:port; empty = none.
	Endpoint string
	// Token is sent as x-token; empty = none.
	Token string
	// silence is how long no message may come before the connection is closed. Default 15 s;
	// servers ping every 10 s, and answer our pings.
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

// processed follows a Geyser server at the commitment processed. What the server sends goes to
// subscribers at levelProcessed, live only: it is not stored, and the log does not have it.
//
// One goroutine keeps a session open (processed_session.go). Another one, publish, handles what the
// sessions receive.
type processed struct {
	server   *Server
	cfg      ProcessedConfig
	upstream yellowstone.Server
	recent   recent
	// received passes on what the sessions receive, heard the notes of the log about ended and dead
	// slots.
	received chan received
	heard    chan heard
	// scanner counts what the server sends and this version does not know.
	scanner *unknowns.Scanner
	// tip is the highest slot that has ended; 0 while there is none.
	tip atomic.Uint64

	// Only the goroutine of publish uses the fields below.
	banks *banks
	// ended is the slot up to which nothing is missing, or clients were told a gap; 0 before the
	// first update.
	ended uint64
	// resuming is set from the beginning of a session until it is known whether updates are
	// missing. replays says that the session asked for a replay.
	resuming, replays bool
	// list and notes are what the next flush publishes.
	list  []*transaction
	notes []placedNote
	// last is when an update came last.
	last    time.Time
	stalled bool
}

// received is a message of a session, or says that a session begins.
type received struct {
	message []byte
	at      time.Time
	// begins says that a session begins: then message is nil. replays says that it asked for a
	// replay.
	begins, replays bool
}

// heard is a note of the log about a slot. live is false if the log had it before this process
// began.
type heard struct {
	note *note
	live bool
}

// receivedAhead is how many messages of the node, and how many notes of the log, may wait for
// publish.
const receivedAhead = 256

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
		received: make(chan received, receivedAhead), heard: make(chan heard, receivedAhead), banks: newBanks(),
		scanner: unknowns.NewScanner(s.deps.Unknowns, "stream", (&pb.SubscribeUpdate{}).ProtoReflect().Descriptor(), fieldUpdateTransaction),
	}
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

// publish handles what the sessions receive and what the log says, until ctx ends.
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
			for range len(p.received) { // all that waits goes out in one flush
				p.take(<-p.received)
			}
		case h := <-p.heard:
			p.hear(h)
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

// checkStall tells subscribers if no update has come for stallAfter, once for each stall.
func (p *processed) checkStall(now time.Time) {
	if p.stalled || now.Sub(p.last) < p.server.cfg.stallAfter {
		return
	}
	p.stalled = true
	p.server.metrics.stalls.Inc()
	p.server.deps.Logger.Warn("what is processed stalled", "slot", p.tip.Load())
	p.note(&note{kind: noteStalled, slot: p.tip.Load(), why: stalledProcessed})
}

// came notes that an update came. If there was a stall, it tells subscribers that the stall is
// over.
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

// take handles a message or the beginning of a session. A message that cannot be read is counted
// and left out.
func (p *processed) take(r received) {
	if r.begins {
		p.resuming, p.replays = p.ended > 0, r.replays
		p.banks.reconnects()
		return
	}
	p.scanner.Look(r.message)
	if err := p.read(r); err != nil {
		p.server.metrics.processed.bad.Inc()
		p.server.deps.Logger.Debug("processed update left out", "err", err)
	}
}

// read handles what a message is about: a transaction, a slot or a block.
func (p *processed) read(r received) error {
	f := protofields.Fields{Rest: r.message}
	for f.Next() {
		var handle func([]byte) error
		switch {
		case f.IsBytes(fieldUpdateTransaction):
			handle = func(value []byte) error { return p.transaction(value, r.at) }
		case f.IsBytes(fieldUpdateSlotStatus):
			handle = p.status
		case f.IsBytes(fieldUpdateBlockMeta):
			handle = p.block
		default: // pings, pongs
			continue
		}
		p.came(r.at)
		if err := handle(f.Bytes); err != nil {
			return err
		}
	}
	return f.Err
}

// tellUpdate publishes what banks made of an update about a slot. repeated says that the update
// came before. The first updates of a session show whether others are missing: if the server
// replays, it repeats an update that came before, and nothing is missing. Otherwise tellUpdate
// publishes a gap first, from the last ended slot up to this one, whose beginning may be missing.
func (p *processed) tellUpdate(slot uint64, repeated bool) {
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
	p.tellBanks()
}

// tellBanks collects what banks has for clients, for the next flush.
func (p *processed) tellBanks() {
	for _, item := range p.banks.take() {
		n := item.note
		switch {
		case n == nil:
			p.list = append(p.list, item.tx)
			continue
		case n.kind == noteProcessed:
			p.ends(n)
		case n.kind == noteGap:
			p.server.metrics.processed.gaps.Inc()
		case n.kind == noteDead && strings.HasPrefix(n.why, withdrawn):
			p.server.metrics.processed.withdrawn.Inc()
		}
		p.recent.take(n)
		p.note(n)
	}
}

// ends notes the end of a slot. If its parent is above p.ended, updates are missing, and ends tells
// a gap.
func (p *processed) ends(n *note) {
	if parent := n.end.GetParentSlot(); n.slot > p.ended && parent > p.ended && parent < n.slot {
		p.gap(parent)
	}
	p.ended = max(p.ended, n.slot)
	p.tip.Store(p.ended)
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
	if !t.vote {
		p.tellUpdate(t.slot, p.banks.transaction(t))
	}
	return nil
}

// status handles the status of a slot. Clients get the statuses confirmed and finalized from the
// log; here these only say which of several banks is confirmed.
func (p *processed) status(value []byte) error {
	var in pb.SubscribeUpdateSlot
	if err := proto.Unmarshal(value, &in); err != nil {
		return err
	}
	slot, bank := in.GetSlot(), in.GetBankId()
	switch status := in.GetStatus(); status {
	case pb.SlotStatus_SLOT_PROCESSED:
		p.tellUpdate(slot, p.banks.executed(slot, bank, in.Parent))
	case pb.SlotStatus_SLOT_CREATED_BANK:
		p.tellUpdate(slot, p.banks.created(slot, bank, in.Parent))
	case pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED, pb.SlotStatus_SLOT_COMPLETED:
		p.tellUpdate(slot, p.banks.interim(slot, status, in.Parent))
	case pb.SlotStatus_SLOT_DEAD:
		if !p.banks.dies(slot, bank, cmp.Or(in.GetDeadError(), "the node calls its block invalid")) {
			p.server.metrics.processed.dead.Inc()
		}
		p.tellBanks()
	case pb.SlotStatus_SLOT_CONFIRMED, pb.SlotStatus_SLOT_FINALIZED:
		p.banks.confirmed(slot, bank)
		p.tellBanks()
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
	block := &eventspb.StreamBlock{
		Slot: in.GetSlot(), ParentSlot: &in.ParentSlot, Blockhash: hash, ParentBlockhash: parentHash, BlockTime: in.GetBlockTime().GetTimestamp(),
		Executed: in.GetExecutedTransactionCount(),
	}
	if height := in.GetBlockHeight(); height != nil {
		block.BlockHeight = &height.BlockHeight
	}
	repeated, err := p.banks.blockCame(in.GetBankId(), block)
	if err != nil {
		return err
	}
	p.tellUpdate(in.GetSlot(), repeated)
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

// handNote passes a note of the log on to publish. The caller passes each note before it delivers
// it. The log tells which blocks are confirmed. It also tells of dead slots that the node does not
// call dead, because their block is valid but its fork was given up.
func (p *processed) handNote(ctx context.Context, n *note, live bool) {
	if p == nil || n.kind != noteDead && n.kind != noteEnd {
		return
	}
	select {
	case p.heard <- heard{n, live}:
	case <-ctx.Done():
	}
}

// hear handles a note of the log.
func (p *processed) hear(h heard) {
	if h.note.kind == noteDead {
		p.banks.deadBlock(h.note.slot, !h.live)
	} else {
		p.banks.confirmedBlock(h.note.end)
	}
	p.tellBanks()
}
