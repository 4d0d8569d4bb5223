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
	// maxReplays is how often a server is asked for the same missing slots before they count as a
	// gap.
	maxReplays = 2
	// maxGarbage is the number of the first message that is skipped, counting the messages that do
	// not parse while the tip stands still. Each of the messages before it restarts the stream
	// after the tip.
	maxGarbage = 3
	// replayDoubt is for how long no connection is given up to have missing blocks replayed, after
	// the server failed to replay some. Without replay, a reconnection itself loses blocks: if each
	// gap led to a reconnection, gaps would never end.
	replayDoubt = 10 * time.Minute
	// maxBroken is how many sessions in a row that asked for a replay may end before replayTime,
	// whatever they brought. The next one asks for live data alone, because replays that always
	// break off may never reach the live data.
	maxBroken  = 10
	replayTime = time.Minute
)

// follower is the state that outlives a connection. Only one goroutine uses it.
type follower struct {
	*Source
	line    *order.Line
	carrier *order.Carrier
	buffer  *accounts.Buffer
	// repairer gets gaps and the line's tip.
	repairer *repair.Repairer

	accountUpdates

	// tip is the line's tip, and progress when it last moved. replays counts the failed attempts to
	// get the slots after it.
	tip      uint64
	progress time.Time
	replays  int
	// forGap means that the connection was given up to have missing blocks replayed. noReplay is
	// the time until which doing so is known to be useless.
	forGap   bool
	noReplay time.Time
	// garbage counts the messages that do not parse since the tip last moved.
	garbage uint
	// connected means that some session has received a message. received counts this session's
	// messages, and blocks those of them that are blocks.
	connected        bool
	received, blocks int
	// began is when this session began. replaying means that this session asked for a replay over a
	// connection that was ready. replayKnown means that the server has said, in its answer to
	// SubscribeReplayInfo, that it has the slots.
	began                  time.Time
	replaying, replayKnown bool
	// broken counts the sessions in a row that maxBroken bounds.
	broken int
	// failures counts the sessions that ended since one of them moved the tip.
	failures uint
}

// follow opens one session after another until ctx ends, with a pause between that grows while the
// tip does not move. It returns an error of the sink, or if the server refuses the token before any
// session has received a message.
func (f *follower) follow(ctx context.Context) error {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = f.cfg.firstPause, f.cfg.MaxPause
	f.tip = f.line.Tip()
	for {
		before := f.line.Tip()
		f.received, f.blocks, f.replaying, f.replayKnown, f.progress = 0, 0, false, false, time.Time{}
		f.asked, f.began = false, time.Now()
		f.buffer.NewSession()
		err := f.session(ctx)
		var end *ended
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &end):
			return err
		case f.suspects(end):
		case end.reason == endAuth && !f.connected && !f.refusesReplay(end):
			return fmt.Errorf("the geyser server refuses the token (MINTLAKE_GEYSER_TOKEN): %w", end.err)
		}
		f.metrics.Reconnect(end.reason)
		f.judge(end)
		if f.line.Tip() > before {
			delays.Reset()
			f.failures = 0
		}
		// Only the first, second, fourth, eighth … failure is logged.
		if f.failures++; bits.OnesCount(f.failures) == 1 {
			f.log.Warn("geyser connection given up", "reason", end.reason, "err", end.err, "failures", f.failures, "slot", f.line.Tip())
		}
		if err := pause.For(ctx, delays.NextBackOff()); err != nil {
			return err
		}
	}
}

// judge counts a session's end as a failed attempt to have the missing slots replayed, if another
// attempt may end in the same way.
func (f *follower) judge(end *ended) {
	if end.reason == endTooLarge {
		f.metrics.Garbage()
	}
	if !f.replaying {
		return
	}
	switch {
	case end.reason == endFromSlot, f.refusesReplay(end):
		f.cannotReplay()
	case end.reason == endTooLarge:
		f.replays++
	case end.reason == endSilent && f.blocks == 0, end.reason == endServerError && f.blocks == 0 && !f.replayKnown:
		// A server without replay answers from_slot with an internal error, but a crash may give
		// the same error. It counts only if nothing shows that the server can replay.
		f.replays++
		if f.forGap {
			f.noReplay = time.Now().Add(replayDoubt)
		}
	}
	switch f.broken++; {
	case end.reason == endGap, time.Since(f.began) >= replayTime:
		f.broken = 0
	case f.broken >= maxBroken:
		f.broken, f.noReplay = 0, time.Now().Add(replayDoubt)
		f.cannotReplay()
	}
}

// refusesReplay reports whether the server may have refused the replay and not the token: the code
// is PermissionDenied, and no session has received a message yet. The server is then asked for live
// data alone.
func (f *follower) refusesReplay(end *ended) bool {
	return f.replaying && !f.connected && status.Code(end.err) == codes.PermissionDenied
}

// cannotReplay notes that the server does not have the slots after the tip, so that they are not
// asked for again.
func (f *follower) cannotReplay() {
	f.replays = maxReplays
	if f.forGap {
		f.noReplay = time.Now().Add(replayDoubt)
	}
}

// fromSlot returns the slot from which the server shall replay. Nil means no replay, only what
// comes from now on: before the first block, after maxReplays failed attempts, and if the server
// replays nothing. While account updates are suspected of a refusal, fromSlot asks for a replay
// only if the refused session did, so that the two sessions differ in the account updates alone.
//
// fromSlot first asks the server which slots it still has. If the server has only later slots,
// fromSlot returns the first of them. If the call fails, it returns the slot after the tip.
func (f *follower) fromSlot(ctx context.Context, conn grpc.ClientConnInterface) *uint64 {
	live := f.replays >= maxReplays
	if f.suspect != nil {
		live = f.suspectLive
	}
	if f.line.Tip() == 0 || live {
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
		f.cannotReplay() // older slots are gone for good
		from = *info.FirstAvailable
	default:
		f.replayKnown = true
	}
	return &from
}

// consume handles messages until the session is over.
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
			// Not before message: its waits for a full pipeline are not the server's silence.
			silence.Reset(f.cfg.Silence)
		case <-silence.C:
			return &ended{endSilent, fmt.Errorf("no message for %s", f.cfg.Silence)}
		case now := <-tick.C:
			if f.replaying && f.blocks == 0 && now.Sub(f.began) > f.cfg.Silence {
				return &ended{endSilent, fmt.Errorf("no block for %s after from_slot", f.cfg.Silence)}
			}
			if err := f.unstick(ctx, now); err != nil {
				return err
			}
		}
	}
}

// message handles one message: it answers a ping, buffers an account, and carries out the steps
// that follow from a block or a slot status. Other messages only go to Tap.
func (f *follower) message(ctx context.Context, message []byte, pings chan<- struct{}) error {
	f.metrics.Message(len(message))
	now := time.Now()
	if f.received, f.connected = f.received+1, true; f.received == 1 {
		f.progress = now
		f.answered(now)
	}
	u, err := f.cfg.Reader.GeyserUpdate(message)
	if err != nil {
		return f.undecodable(ctx, err)
	}
	if f.deps.Tap != nil {
		f.deps.Tap(message)
	}
	if u.Kind == parse.Ping {
		select {
		case pings <- struct{}{}:
		default: // a ping is already about to be sent
		}
		return nil
	}
	switch {
	case u.Kind == parse.Account:
		u.Account.Bank = f.buffer.Here(u.Account.Bank.ID)
		f.buffer.Add(u.Slot, u.Account)
		return nil
	case u.Kind == parse.Slot && u.Status == parse.SlotCreatedBank:
		f.buffer.Created(u.Slot, u.Bank)
	case u.Kind == parse.Block:
		u.Block.Bank = f.buffer.Here(u.Block.Bank.ID)
		f.blocks++
	case u.Kind != parse.Slot:
		return nil
	}
	if u.Kind == parse.Slot && f.witnessed(u) {
		if err := f.carrier.Seen(ctx, u.Slot); err != nil {
			return err
		}
	}
	if err := f.carry(ctx, f.steps(u, now)); err != nil {
		return err
	}
	if u.Kind == parse.Slot && u.Status == parse.SlotFinalized && f.believed(u.Slot) {
		if err := f.carrier.Finalized(ctx, u.Slot); err != nil {
			return err
		}
	}
	if tip := f.line.Tip(); tip > f.tip {
		f.forGap = false
		// The time counts from here: waiting for a full pipeline is not the stream's standstill.
		f.tip, f.progress, f.replays, f.garbage = tip, time.Now(), 0, 0
	}
	return nil
}

// maxAhead is how many slots above or below the tip a slot's status is believed.
const maxAhead = 10_000

// witnessed reports whether a status shows that its slot has a block, on whatever fork. The first
// shred does not show it, because the block may never become complete.
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

// believed reports whether a status of the slot can be true: the slot is near the tip, or there is
// no tip yet.
func (f *follower) believed(slot uint64) bool {
	tip := f.line.Tip()
	return tip == 0 || slot <= tip+maxAhead && slot+maxAhead >= tip
}

// steps returns the steps that follow from a block or a slot status.
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

// undecodable handles a message that does not parse. For the first messages, it restarts the stream
// after the tip. From the maxGarbage-th message without a new tip on, it skips the message, and the
// block that the message may have contained shows as a gap. Then only every hundredth message
// restarts the stream.
func (f *follower) undecodable(ctx context.Context, err error) error {
	f.metrics.Garbage()
	f.garbage++
	// Only the first, second, fourth, eighth … gets a dead letter, as there may be very many.
	if bits.OnesCount(f.garbage) == 1 {
		f.carrier.Refused(ctx, "geyser message", err)
	}
	if f.garbage < maxGarbage || f.garbage%100 == 0 {
		return &ended{endGarbage, err}
	}
	return nil
}

// unstick handles blocks that wait for a parent that does not come, once the tip has stood still
// for maxWait. It ends the session, so that the next one has the server replay the missing slots.
// If that is known to be useless, the missing slots become a gap.
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

// carry carries out steps. Then it sets the metric of waiting blocks and passes the tip to the
// repairer.
func (f *follower) carry(ctx context.Context, steps []order.Step) error {
	if err := f.carrier.Carry(ctx, steps); err != nil {
		return err
	}
	f.metrics.Waiting(f.line.Waiting())
	f.repairer.At(f.line.Tip())
	return nil
}
