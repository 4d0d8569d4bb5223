package geyser

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/cenkalti/backoff/v5"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/ingest/source/accounts"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/pause"
)

const (
	// maxReplays is how often a server is asked for the same missing slots before they are a gap.
	maxReplays = 2
	// maxGarbage is how often one and the same place is asked for again because of an undecodable
	// message before the message is passed over.
	maxGarbage = 3
	// replayDoubt is how long a server that could not replay the last few seconds is not asked to
	// again. A reconnection to a server without replay loses blocks itself: asked for every gap, it
	// would never come to rest.
	replayDoubt = 10 * time.Minute
)

// follower is the state that outlives a connection. One goroutine uses it.
type follower struct {
	*Source
	line    *order.Line
	carrier order.Carrier
	sink    *repair.Serial
	buffer  *accounts.Buffer
	// repairer is told of gaps and of the line's tip.
	repairer *repair.Repairer

	accountUpdates

	// tip is the line's tip when it last moved, at progress; replays counts the times the slots
	// behind it were asked for in vain.
	tip      uint64
	progress time.Time
	replays  int
	// forGap says that the connection was given up to have missing blocks replayed; noReplay is
	// until when that is known to be in vain.
	forGap   bool
	noReplay time.Time
	// garbage counts undecodable messages since the tip last moved.
	garbage uint
	// connected says that some session has brought a message; received and useful count this
	// session's messages, and of these those about blocks and slots.
	connected        bool
	received, useful int
	// replayKnown says that the server told this session that it can replay.
	replayKnown bool
	failures    uint
}

// follow opens session after session until ctx ends.
func (f *follower) follow(ctx context.Context) error {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = f.cfg.firstPause, f.cfg.MaxPause
	f.tip = f.line.Tip()
	for {
		before := f.line.Tip()
		f.received, f.useful, f.replayKnown, f.progress = 0, 0, false, time.Time{}
		f.asked = false
		err := f.session(ctx)
		var end *ended
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &end):
			return err
		case f.suspects(end):
		case end.reason == endAuth && !f.connected:
			return fmt.Errorf("the geyser server refuses the token (MINTLAKE_GEYSER_TOKEN): %w", end.err)
		}
		f.metrics.Reconnect(end.reason)
		f.judge(end)
		if f.line.Tip() > before {
			delays.Reset()
			f.failures = 0
		}
		// sampled: the first, second, fourth, eighth …
		if f.failures++; bits.OnesCount(f.failures) == 1 {
			f.log.Warn("geyser connection given up", "reason", end.reason, "err", end.err, "failures", f.failures, "slot", f.line.Tip())
		}
		if err := pause.For(ctx, delays.NextBackOff()); err != nil {
			return err
		}
	}
}

// judge learns from a session's end whether asking for the same slots again makes sense.
func (f *follower) judge(end *ended) {
	switch end.reason {
	case endFromSlot:
		f.cannotReplay()
	case endTooLarge:
		f.metrics.Garbage()
		f.replays++
	case endServerError:
		// Servers without replay answer from_slot with an internal error, which a crash may give
		// too: count only where nothing speaks for the server being able to replay.
		if f.useful == 0 && !f.replayKnown {
			f.replays++
			if f.forGap {
				f.noReplay = time.Now().Add(replayDoubt)
			}
		}
	}
}

// cannotReplay notes that the server has not got what it was asked for.
func (f *follower) cannotReplay() {
	f.replays = maxReplays
	if f.forGap {
		f.noReplay = time.Now().Add(replayDoubt)
	}
}

// fromSlot is what to ask the server to replay from; nil = only what comes from now on. It asks the
// server first what it still has; servers that cannot tell are simply tried.
func (f *follower) fromSlot(ctx context.Context, conn grpc.ClientConnInterface) *uint64 {
	if f.line.Tip() == 0 || f.replays >= maxReplays {
		return nil
	}
	from := f.line.Tip() + 1
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	info, err := pb.NewGeyserClient(conn).SubscribeReplayInfo(ctx, &pb.SubscribeReplayInfoRequest{})
	switch {
	case err != nil:
		if status.Code(err) != codes.Unimplemented {
			f.log.Debug("geyser replay info failed", "err", err)
		}
	case info.FirstAvailable == nil:
		f.cannotReplay()
		return nil
	case *info.FirstAvailable > from:
		f.cannotReplay() // what lies before is gone: no use in asking again
		from = *info.FirstAvailable
	default:
		f.replayKnown = true
	}
	return &from
}

// consume acts on messages until the session is over.
func (f *follower) consume(ctx context.Context, in *intake, pings chan<- struct{}) error {
	silence := time.NewTimer(f.cfg.Silence)
	defer silence.Stop()
	tick := time.NewTicker(max(f.cfg.maxWait/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case message, ok := <-in.messages:
			if !ok {
				return in.err
			}
			if err := f.message(ctx, message, pings); err != nil {
				return err
			}
			silence.Reset(f.cfg.Silence) // only now: a full pipeline is not the server's silence
		case <-silence.C:
			return &ended{endSilent, fmt.Errorf("no message for %s", f.cfg.Silence)}
		case now := <-tick.C:
			if err := f.unstick(ctx, now); err != nil {
				return err
			}
		}
	}
}

// message acts on one message.
func (f *follower) message(ctx context.Context, message []byte, pings chan<- struct{}) error {
	f.metrics.Message(len(message))
	now := time.Now()
	if f.received, f.connected = f.received+1, true; f.received == 1 {
		f.progress = now
		f.answered(now)
	}
	u, err := parse.GeyserUpdate(message)
	if err != nil {
		return f.undecodable(ctx, err)
	}
	if f.deps.Tap != nil {
		f.deps.Tap(message)
	}
	if u.Kind == parse.Ping {
		select {
		case pings <- struct{}{}:
		default: // one is on its way
		}
		return nil
	}
	if u.Kind == parse.Account {
		f.buffer.Add(u.Slot, u.Account)
		return nil
	}
	if u.Kind != parse.Block && u.Kind != parse.Slot {
		return nil
	}
	f.useful++
	if u.Kind == parse.Slot && f.witnessed(u) {
		if err := f.sink.Seen(ctx, u.Slot); err != nil {
			return err
		}
	}
	if err := f.carry(ctx, f.steps(u, now)); err != nil {
		return err
	}
	if u.Kind == parse.Slot && u.Status == parse.SlotFinalized && f.believed(u.Slot) {
		if err := f.sink.Finalized(ctx, u.Slot); err != nil {
			return err
		}
	}
	if tip := f.line.Tip(); tip > f.tip {
		f.forGap = false
		// after the sink took it: a full pipeline is no standstill
		f.tip, f.progress, f.replays, f.garbage = tip, time.Now(), 0, 0
	}
	return nil
}

// maxAhead is how many slots ahead of the tip a slot's status is believed.
const maxAhead = 10_000

// witnessed says that a status tells of a block in its slot, of whatever fork. Shreds alone do not:
// a block that never was complete is none.
func (f *follower) witnessed(u parse.Update) bool {
	if !f.believed(u.Slot) {
		return false
	}
	switch u.Status {
	case parse.SlotProcessed, parse.SlotCompleted, parse.SlotCreatedBank, parse.SlotDead:
		return true
	case parse.SlotConfirmed, parse.SlotFinalized, parse.SlotFirstShredReceived:
	}
	return false
}

// believed says that a status of the slot can be true.
func (f *follower) believed(slot uint64) bool {
	tip := f.line.Tip()
	return tip == 0 || slot <= tip+maxAhead && slot+maxAhead >= tip
}

func (f *follower) steps(u parse.Update, now time.Time) []order.Step {
	switch {
	case u.Kind == parse.Block:
		u.Block.ReceivedAt = now
		dropped := f.line.Dropped()
		steps, repeated := f.line.Add(u.Block, now)
		if repeated {
			f.metrics.Repeated()
		}
		for range f.line.Dropped() - dropped {
			f.metrics.Garbage()
		}
		return steps
	case u.Status == parse.SlotDead:
		return f.line.SlotDead(u.Slot)
	case u.Status == parse.SlotFinalized && u.Parent != nil:
		return f.line.Finalized(u.Slot, *u.Parent)
	}
	return nil
}

// undecodable counts a message that says nothing. The stream is asked again from the last good
// place, unless that place is known to give the same: then the message is passed over, and what it
// may have held shows as a gap.
func (f *follower) undecodable(ctx context.Context, err error) error {
	f.metrics.Garbage()
	f.garbage++
	// sampled: a flood of garbage must not become a flood of dead letters
	if bits.OnesCount(f.garbage) == 1 {
		f.sink.Refused(ctx, "geyser message", err)
	}
	if f.garbage < maxGarbage || f.garbage%100 == 0 {
		return &ended{endGarbage, err}
	}
	return nil
}

// unstick acts when blocks wait for a parent that does not come: the server is asked to replay, and
// when that was in vain the missing slots become a gap.
func (f *follower) unstick(ctx context.Context, now time.Time) error {
	if f.progress.IsZero() || now.Sub(f.progress) <= f.cfg.maxWait || !f.line.Stuck(now) {
		return nil
	}
	if f.replays < maxReplays && now.After(f.noReplay) {
		f.replays++
		f.forGap = true
		return &ended{endGap, fmt.Errorf("%d blocks wait for a parent", f.line.Waiting())}
	}
	dropped := f.line.Dropped()
	steps := f.line.Release()
	for range f.line.Dropped() - dropped {
		f.metrics.Garbage()
	}
	f.tip, f.progress, f.replays, f.forGap = f.line.Tip(), now, 0, false
	return f.carry(ctx, steps)
}

// carry carries steps out and tells how far the stream is by then.
func (f *follower) carry(ctx context.Context, steps []order.Step) error {
	if err := f.carrier.Carry(ctx, steps); err != nil {
		return err
	}
	f.metrics.Waiting(f.line.Waiting())
	f.repairer.At(f.line.Tip())
	return nil
}
