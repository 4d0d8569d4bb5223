package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/slottime"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
)

const (
	// saveEvery is the time between two checkpoints. A large one waits longer: savedBytes are
	// written a second at most.
	saveEvery  = 10 * time.Second
	savedBytes = 1 << 20
	// oldest is how far behind the chain a checkpoint may be.
	oldest = 24 * time.Hour
	// fileBytes is how large a checkpoint may be, in multiples of FoldConfig.maxBytes.
	fileBytes = 2
)

// saver is what a Feed knows of its checkpoints.
type saver struct {
	// busy says that a checkpoint is being written. due is when the next one is due.
	busy bool
	due  time.Time
	// genesis identifies the chain; zero until the server told it. failures counts the failed
	// writes in a row.
	genesis  pubkey.Key
	failures uint
	writing  sync.WaitGroup
}

// restore goes on from the checkpoint. One that cannot be used is named in the log and ignored.
func (f *Feed) restore(ctx context.Context) {
	if f.cfg.File == "" {
		return
	}
	began := f.deps.Now()
	c, err := f.load(ctx)
	if err == nil {
		f.behind.Store(true) // before Restore publishes state of the past
		err = f.fold.Restore(c)
		f.behind.Store(err == nil)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.metrics.restores.WithLabelValues("absent").Inc()
	case ctx.Err() != nil:
	case err != nil:
		f.metrics.restores.WithLabelValues("refused").Inc()
		f.deps.Logger.Warn("the checkpoint of pools is ignored: they are read again", "path", f.cfg.File, "err", err)
	default:
		f.metrics.restores.WithLabelValues("restored").Inc()
		f.deps.Logger.Info("pools are restored", "slot", c.Slot, "pools", len(c.pools), "pairs", len(c.pairs), "took", f.deps.Now().Sub(began))
	}
}

// load reads the checkpoint, and checks that it is of the server's chain and not too old.
func (f *Feed) load(ctx context.Context) (*Checkpoint, error) {
	c, err := f.open()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		slot, err := f.identify(within)
		switch {
		case err == nil && c.Genesis != f.saver.genesis:
			return nil, fmt.Errorf("it is of another chain: its genesis hash is %s, the server's is %s", c.Genesis, f.saver.genesis)
		case err == nil && c.Slot > slot:
			return nil, fmt.Errorf("it is of slot %d, the server's chain is at %d", c.Slot, slot)
		case err == nil && f.tooOld(within, slot-c.Slot):
			return nil, fmt.Errorf("it is too old: of slot %d, the chain is at %d", c.Slot, slot)
		case err == nil:
			return c, nil
		case !solana.Retryable(err) || pause.For(within, time.Second) != nil:
			return nil, fmt.Errorf("the server does not tell its chain: %w", err)
		}
	}
}

// tooOld reports whether a checkpoint is more than oldest behind the chain. If the answer is not
// certain with the longest slot time, the server is asked for the slot time: the stream has not
// sent slots yet that could tell it.
func (f *Feed) tooOld(ctx context.Context, behind uint64) bool {
	return behind > slottime.Slots(oldest, slottime.Max) && behind > slottime.Slots(oldest, slottime.Ask(ctx, f.deps.RPC))
}

func (f *Feed) open() (*Checkpoint, error) {
	file, err := os.Open(f.cfg.File)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if most := fileBytes * f.fold.cfg.maxBytes; info.Size() > most {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", errCheckpoint, info.Size(), most)
	}
	return ReadCheckpoint(file, info.Size())
}

// identify asks the server for its genesis hash, if it is not known yet, and for its slot.
func (f *Feed) identify(ctx context.Context) (slot uint64, err error) {
	if f.saver.genesis.IsZero() {
		var text string
		if err := f.deps.RPC.Call(ctx, "getGenesisHash", nil, &text); err != nil {
			return 0, err
		}
		if f.saver.genesis, err = pubkey.Parse(text); err != nil {
			return 0, fmt.Errorf("genesis hash: %w", err)
		}
	}
	return f.chainSlot(ctx)
}

// chainSlot returns the slot at which the server reads.
func (f *Feed) chainSlot(ctx context.Context) (slot uint64, err error) {
	slot, _, err = f.deps.RPC.GetMultipleAccounts(ctx, []pubkey.Key{mint.WrappedSOL}, solana.AccountOptions{Commitment: solana.Processed})
	return slot, err
}

// catchUp sets behind to false when the stream has replayed the slots up to now. Until then the
// state is of the past, although its blocks have just come.
func (s *session) catchUp(ctx context.Context) {
	for s.behind.Load() && pause.For(ctx, growEvery) == nil {
		within, cancel := context.WithTimeout(ctx, patience)
		slot, err := s.chainSlot(within)
		cancel()
		if err != nil {
			_ = pause.For(ctx, time.Second)
			continue
		}
		s.enqueue(ctx, func() {
			s.deps.Observe(slot)
			if ctx.Err() == nil && s.fold.Head()+market.HeldSlots >= slot {
				s.behind.Store(false)
			}
		})
	}
}

// save writes a checkpoint in the background, if one is due.
func (f *Feed) save(ctx context.Context) {
	if f.saver.busy || f.deps.Now().Before(f.saver.due) {
		return
	}
	c := f.unsaved()
	if c == nil {
		return
	}
	f.saver.busy = true
	f.saver.writing.Go(func() {
		size := f.write(ctx, c)
		f.enqueue(ctx, func() {
			f.saver.busy = false
			f.saver.due = f.deps.Now().Add(max(saveEvery, time.Duration(size/savedBytes)*time.Second))
		})
	})
}

// saveLast writes a checkpoint when the feed has ended.
func (f *Feed) saveLast(ctx context.Context) {
	f.saver.writing.Wait()
	if c := f.unsaved(); c != nil {
		f.write(context.WithoutCancel(ctx), c)
	}
}

// unsaved returns the checkpoint to be written; nil if no file is configured, or if there is
// nothing to write.
func (f *Feed) unsaved() *Checkpoint {
	if f.cfg.File == "" {
		return nil
	}
	c := f.fold.Checkpoint()
	if c == nil {
		return nil
	}
	if len(c.pools)+len(c.pairs) == 0 {
		return nil
	}
	return c
}

// write writes a checkpoint, and returns its size. It does not return errors, but counts them: the
// old checkpoint stays.
func (f *Feed) write(ctx context.Context, c *Checkpoint) (size int64) {
	err := f.replace(ctx, c, &size)
	f.metrics.saved(c.Slot, size, err)
	if err == nil {
		f.saver.failures = 0
		return size
	}
	if f.saver.failures++; ctx.Err() == nil && bits.OnesCount(f.saver.failures) == 1 { // sampled
		f.deps.Logger.Warn("no checkpoint of pools was written", "path", f.cfg.File, "failures", f.saver.failures, "err", err)
	}
	return size
}

// replace writes a checkpoint in the place of the old file, and sets size. It sets c.Genesis first,
// for which it may ask the server.
func (f *Feed) replace(ctx context.Context, c *Checkpoint, size *int64) error {
	if f.saver.genesis.IsZero() {
		within, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if _, err := f.identify(within); err != nil {
			return fmt.Errorf("the server does not tell its chain: %w", err)
		}
	}
	c.Genesis = f.saver.genesis
	if err := os.MkdirAll(filepath.Dir(f.cfg.File), 0o750); err != nil {
		return err
	}
	return durable.ReplaceWith(f.cfg.File, func(w io.Writer) (err error) {
		*size, err = c.WriteTo(w)
		return err
	})
}
