package trust

import (
	"context"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
)

// watch looks at the programs now and then, and records what changed.
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

// unread says that the programs, or an executable, were not read yet.
func (t *Trust) unread() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.looked.IsZero() || len(t.reading) > 0
}

// behind says that the stream tells of the programs, and they were not looked at since.
func (t *Trust) behind() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.connected && !t.live.Load()
}

func (t *Trust) lookNow(ctx context.Context) {
	t.mu.Lock()
	sessions, from := t.sessions, t.least
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

// Live is told when the stream tells of Watched accounts, and when it does not any more, with the
// highest slot that the stream has told of.
func (t *Trust) Live(live bool, slot uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.least = max(t.least, slot)
	t.live.Store(false)
	t.connected = live
	t.sessions++
	if live { // what happened before is not told: a look at the programs comes first
		t.lookSoon()
	}
}

// lookSoon asks for a look at the programs soon.
func (t *Trust) lookSoon() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Watched are the accounts whose writes Wrote must be told of.
func (t *Trust) Watched() []venue.Key { return t.programs.accounts() }

// Check makes sure that it is known how the programs are deployed, at a slot at the least. It reads
// that, unless a stream tells it or it was just read. A deployment is in force from the slot behind
// it on, so what is known of the slot before is good enough.
func (t *Trust) Check(ctx context.Context, slot uint64) error {
	t.mu.Lock()
	known := !t.looked.IsZero() && (t.live.Load() || t.deps.Now().Sub(t.looked) < t.cfg.fresh && t.slot+1 >= slot)
	t.mu.Unlock()
	if known {
		return nil
	}
	detached, from := context.WithoutCancel(ctx), max(slot, 1)-1
	result := t.looks.DoChan(strconv.FormatUint(from, 10), func() (any, error) {
		ctx, cancel := context.WithTimeout(detached, lookPatience)
		defer cancel()
		return nil, t.look(ctx, from)
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r := <-result:
		return r.Err
	}
}

// lookPatience bounds a look at the programs, and the reading of an executable.
const lookPatience = 20 * time.Second

// look reads how the programs are deployed, at a slot or later. Executables that are new are read
// by others.
func (t *Trust) look(ctx context.Context, from uint64) error {
	began := t.deps.Now()
	slot, marks, err := t.programs.read(ctx, t.deps.RPC, from)
	if err != nil {
		return err
	}
	t.moved(marks, slot)
	t.mu.Lock()
	defer t.mu.Unlock()
	if began.After(t.looked) {
		t.looked = began
	}
	t.slot = max(t.slot, slot)
	return nil
}

// moved takes in how programs are deployed at a slot.
func (t *Trust) moved(marks map[venue.Key]mark, slot uint64) {
	unread, changed := t.book.moved(marks, slot, t.deps.Now())
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

// readCode reads an executable.
func (t *Trust) readCode(program venue.Key, m mark) {
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	sum, err := t.programs.sum(ctx, t.deps.RPC, program, m)
	if err == nil {
		t.summed(program, m, sum)
	} else {
		t.deps.Logger.Warn("an executable was not read", "program_id", program.String(), "slot", m.slot, "err", err)
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

func (t *Trust) summed(program venue.Key, m mark, sum string) {
	t.book.summed(program, m, sum, t.deps.Now())
	t.deps.Logger.Info("a program's build is known", "program_id", program.String(), "slot", m.slot, "sha256", sum)
	t.mu.Lock()
	t.dirty = true
	t.mu.Unlock()
}

// Wrote is told of a write of a Watched account. The stream tells it before the block is complete
// that it is in, so before a quote is made from that block.
func (t *Trust) Wrote(w state.Write) {
	program, ok := t.programs.of(w.Key)
	if !ok {
		return
	}
	if w.Key == program || w.Account == nil { // its loader, or it is closed
		t.mu.Lock()
		t.live.Store(false) // quotes look by themselves until this is known
		t.least = max(t.least, w.Slot)
		t.sessions++
		t.mu.Unlock()
		t.lookSoon()
		return
	}
	m := dataMark(w.Key, w.Account)
	if m.at > 0 {
		t.summed(program, m, Sum(w.Account.Data[m.at:]))
	}
	t.moved(map[venue.Key]mark{program: m}, w.Slot)
}
