package trust

import (
	"context"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
)

// watch looks at the programs every cfg.every and when wake says so, and records what changed.
// While something is not known yet, it looks every second.
func (t *Trust) watch(ctx context.Context) {
	every, second := time.NewTicker(t.cfg.every), time.NewTicker(time.Second)
	defer every.Stop()
	defer second.Stop()
	t.lookNow(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-second.C:
			t.save()
			t.metrics.observe(t.book)
			if t.unread() || t.behind() {
				t.lookNow(ctx)
			}
		case <-every.C:
			t.lookNow(ctx)
		case <-t.wake:
			t.lookNow(ctx)
		}
	}
}

// unread returns whether the programs were not looked at yet, or whether an executable is being
// read.
func (t *Trust) unread() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.looked.IsZero() || len(t.reading) > 0
}

// behind returns whether there is a stream, but the programs were not looked at since it reports
// deployments.
func (t *Trust) behind() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.connected && !t.live.Load()
}

// lookNow looks at the programs. If it succeeds, the stream becomes live, unless there is none, or
// sessions changed during the look.
func (t *Trust) lookNow(ctx context.Context) {
	t.mu.Lock()
	sessions, from := t.sessions, t.least
	if t.deps.Now().Sub(t.leastAt) > leastWindow {
		from = 0
	}
	t.mu.Unlock()
	if err := t.look(ctx, from); err != nil {
		if ctx.Err() == nil {
			t.deps.Logger.Debug("programs were not read", "err", err)
		}
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live.Store(t.connected && sessions == t.sessions)
}

// Live is called when the stream begins and when it ceases to report Watched accounts, with the
// highest slot that it reported. A stream that begins does not report earlier deployments, so it
// counts as live only after the next look, see lookNow.
func (t *Trust) Live(connected bool, slot uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raise(slot)
	t.live.Store(false)
	t.connected = connected
	t.sessions++
	if connected {
		t.lookSoon()
	}
}

// leastWindow is how long looks must read at the highest slot that the stream reported, or at a
// later one. The time is bounded, because a server may lie once, and a test chain may begin anew:
// then all looks would fail.
const leastWindow = 30 * time.Second

// raise makes later looks read at slot or a later one. The caller holds mu.
func (t *Trust) raise(slot uint64) {
	now := t.deps.Now()
	if now.Sub(t.leastAt) > leastWindow {
		t.least = 0
	}
	t.least, t.leastAt = max(t.least, slot), now
}

// lookSoon triggers a look at the programs.
func (t *Trust) lookSoon() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Watched returns the accounts whose writes Wrote must be called with.
func (t *Trust) Watched() []venue.Key { return t.programs.accounts() }

// Known returns whether the deployed programs are known as of a slot: the stream reports them, or
// they were just read. A deployment is in force from the next slot on, so a look at the slot before
// is recent enough.
func (t *Trust) Known(slot uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.looked.IsZero() && (t.live.Load() || t.deps.Now().Sub(t.looked) < t.cfg.fresh && t.slot+1 >= slot)
}

// Check makes sure that the deployed programs are known as of a slot: it reads them if they are
// not.
func (t *Trust) Check(ctx context.Context, slot uint64) error {
	if t.Known(slot) {
		return nil
	}
	from := max(slot, 1) - 1
	_, err := t.looks.Do(ctx, strconv.FormatUint(from, 10), lookPatience, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, t.look(ctx, from)
	})
	return err
}

// lookPatience is how long a look at the programs, or reading an executable, may take.
const lookPatience = 20 * time.Second

// look reads how the programs are deployed, at slot from or later. New executables are read in the
// background.
func (t *Trust) look(ctx context.Context, from uint64) error {
	began := t.deps.Now()
	slot, marks, err := t.programs.read(ctx, t.deps.RPC, from)
	if err != nil {
		return err
	}
	t.noteDeployments(marks, slot)
	t.mu.Lock()
	defer t.mu.Unlock()
	if began.After(t.looked) {
		t.looked = began
	}
	t.slot = max(t.slot, slot)
	return nil
}

// noteDeployments takes in how programs are deployed at a slot, and starts to read new executables.
func (t *Trust) noteDeployments(marks map[venue.Key]mark, slot uint64) {
	unread, changed := t.book.noteDeployments(marks, slot, t.deps.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = t.dirty || changed
	for program, m := range unread {
		if t.reading[program] != m && !t.deps.Now().Before(t.retry[program]) {
			t.reading[program] = m
			go t.readCode(program, m)
		}
	}
}

// readCode reads an executable and records its hash.
func (t *Trust) readCode(program venue.Key, m mark) {
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	sum, err := t.programs.sum(ctx, t.deps.RPC, program, m)
	if err == nil {
		t.noteHash(program, m, sum)
	} else {
		t.deps.Logger.Warn("an executable was not read", "program_id", program.String(), "slot", m.Slot, "err", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reading[program] == m {
		delete(t.reading, program)
	}
	if err != nil {
		t.retry[program] = t.deps.Now().Add(t.cfg.every)
	}
}

// noteHash records the hash of an executable.
func (t *Trust) noteHash(program venue.Key, m mark, sum string) {
	t.book.noteHash(program, m, sum, t.deps.Now())
	t.deps.Logger.Info("a program's build is known", "program_id", program.String(), "slot", m.Slot, "sha256", sum)
	t.mu.Lock()
	t.dirty = true
	t.mu.Unlock()
}

// Wrote is called with each write of a Watched account. The stream sends the write before it
// reports the block as complete, so Wrote runs before a quote is made from that block.
func (t *Trust) Wrote(w state.Write) {
	program, ok := t.programs.of(w.Key)
	if !ok {
		return
	}
	// The program's loader changed, or its data account was closed.
	if w.Key == program || w.Account == nil {
		t.mu.Lock()
		t.live.Store(false) // each quote reads the programs until the look that is triggered below
		t.raise(w.Slot)
		t.sessions++
		t.mu.Unlock()
		t.lookSoon()
		return
	}
	m := solana.ProgramDataDeployment(w.Key, w.Account)
	if m.At > 0 {
		t.noteHash(program, m, Sum(w.Account.Data[m.At:]))
	}
	t.noteDeployments(map[venue.Key]mark{program: m}, w.Slot)
}
