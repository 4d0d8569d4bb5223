package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/replica/checkpoint"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/replica/search"
)

// Reasons for which a checkpoint is not loaded, as the metric names them.
const (
	refusedDamaged = "damaged" // not as it was written
	refusedForm    = "form"    // by a build that writes another form
	refusedForeign = "foreign" // of another log, or of records that this one has lost
	refusedOld     = "old"     // the records after it are gone from the topics, or are too many
)

// refusal is why a checkpoint is not loaded.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

// allowedLag is how many records a checkpoint may lack. A checkpoint with more rows than that may
// lack one record for each row: loading a row from ClickHouse takes about as long as applying a
// record.
const allowedLag = 1_000_000

// restore loads the checkpoint and sets r.applied to its offsets. It returns false, and leaves the
// copy unchanged, if there is no checkpoint or if it cannot be used. In the second case it logs
// why.
func (r *Replica) restore(ctx context.Context) bool {
	if r.cfg.CheckpointFolder == "" {
		return false
	}
	begin := r.deps.Now()
	if err := r.claimCheckpoint(); err != nil {
		r.deps.Logger.Warn("no checkpoint of the registry's copy is kept: a restart takes longer", "err", err)
		r.updateStatus(func(s *CheckpointStatus) { s.Failed = err.Error() })
		return false
	}
	r.updateStatus(func(*CheckpointStatus) {})
	info, size, err := r.loadCheckpoint(ctx)
	var refused *refusal
	switch {
	case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil:
		return false
	case errors.As(err, &refused):
		r.metrics.checkpoints.WithLabelValues(refused.reason).Inc()
		r.deps.Logger.Warn("the checkpoint of the registry's copy is not used; the copy is made anew, which takes longer", "reason", refused.reason, "err", err)
		r.updateStatus(func(s *CheckpointStatus) { s.Refused = err.Error() })
		return false
	case err != nil:
		r.metrics.checkpoints.WithLabelValues(refusedDamaged).Inc()
		r.deps.Logger.Warn("the checkpoint of the registry's copy cannot be read; the copy is made anew, which takes longer", "err", err)
		r.updateStatus(func(s *CheckpointStatus) { s.Refused = err.Error() })
		return false
	}
	r.mu.Lock()
	for tp, offset := range offsetsOf(info.Topics) {
		r.applied[tp] = offset
	}
	r.mu.Unlock()
	if len(info.TookBack) > 0 && r.deps.Snapshot != nil {
		r.refolds.add(info.TookBack, offsetsOf(info.Until))
	}
	r.checkpoints.due = info.WrittenAt.Add(r.cfg.CheckpointEvery)
	r.metrics.checkpoints.WithLabelValues("loaded").Inc()
	r.updateStatus(func(s *CheckpointStatus) { s.Loaded, s.WrittenAt, s.Bytes = true, info.WrittenAt, size })
	r.deps.Logger.Info("checkpoint of the registry's copy loaded", "tokens", r.Tokens(), "written_at", info.WrittenAt, "seconds", r.deps.Now().Sub(begin).Seconds())
	return true
}

// claimCheckpoint locks the folder, so that no two processes write one file. It removes a
// half-written file that a killed process has left.
func (r *Replica) claimCheckpoint() error {
	folder := r.cfg.CheckpointFolder
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	lock, err := unix.Open(filepath.Join(folder, "lock"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("lock %s: %w", folder, err)
	}
	if err := unix.Flock(lock, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("%s is another process's: give each API process a data_dir of its own: %w", folder, err), unix.Close(lock))
	}
	r.checkpoints.lock = lock
	if err := os.Remove(r.checkpointPath() + durable.Suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// releaseCheckpoint unlocks the folder.
func (r *Replica) releaseCheckpoint() {
	if r.checkpoints.lock >= 0 {
		_ = unix.Close(r.checkpoints.lock) // unlocks the folder
		r.checkpoints.lock = -1
	}
}

// loadCheckpoint reads the file and, if all of it is good, replaces the copy by what it read.
func (r *Replica) loadCheckpoint(ctx context.Context) (info checkpointInfo, size int64, err error) {
	file, err := checkpoint.Open(r.checkpointPath())
	if err != nil {
		return info, 0, err
	}
	defer func() { _ = file.Close() }() // only read
	var form struct {
		Form string `json:"form"`
	}
	if err := file.About(&form); err != nil {
		return info, 0, err
	}
	if ours := r.form(); form.Form != ours {
		return info, 0, &refusal{refusedForm, fmt.Errorf("its form is %q, this build's is %q", form.Form, ours)}
	}
	if err := file.About(&info); err != nil {
		return info, 0, err
	}
	if err := r.isOfThisLog(ctx, &info); err != nil {
		return info, 0, err
	}
	adopt, err := r.readParts(ctx, file, &info)
	if err != nil {
		return info, 0, err
	}
	adopt()
	return info, file.Size(), nil
}

// isOfThisLog returns a refusal if the log does not go on where the checkpoint ends.
func (r *Replica) isOfThisLog(ctx context.Context, info *checkpointInfo) error {
	starts, err := retry(ctx, func() (map[kafka.TopicPartition]int64, error) {
		return r.deps.Offsets.StartOffsets(ctx, registryTopics)
	})
	if err != nil {
		return err
	}
	ends, err := retry(ctx, func() (map[kafka.TopicPartition]int64, error) { return r.deps.Offsets.EndOffsets(ctx, registryTopics) })
	if err != nil {
		return err
	}
	applied, lag := offsetsOf(info.Topics), int64(0)
	for tp, end := range ends {
		offset := applied[tp]
		switch {
		case offset < starts[tp]:
			return &refusal{refusedOld, fmt.Errorf("%s/%d goes to offset %d in it, and the log begins at %d", tp.Topic, tp.Partition, offset, starts[tp])}
		case offset > end:
			return &refusal{refusedForeign, fmt.Errorf("%s/%d goes to offset %d in it, and the log ends at %d: the log was replaced, or lost records", tp.Topic, tp.Partition, offset, end)}
		}
		lag += end - offset
	}
	if lag > max(allowedLag, int64(info.Rows)) {
		return &refusal{refusedOld, fmt.Errorf("%d records came since, for %d mints in it", lag, info.Rows)}
	}
	marks, err := retry(ctx, func() ([]reached, error) { return r.withMarks(ctx, applied) })
	if err != nil {
		return err
	}
	found := map[kafka.TopicPartition]string{}
	for i := range marks {
		found[marks[i].partition()] = marks[i].Mark
	}
	for i := range info.Topics {
		if of := &info.Topics[i]; of.Mark != "" && of.Mark != found[of.partition()] {
			return &refusal{refusedForeign, fmt.Errorf("the record at %s/%d/%d is another one than when it was written: the log was replaced", of.Topic, of.Partition, of.Offset-1)}
		}
	}
	return nil
}

// readParts reads all parts, some at the same time. adopt puts them into the copy.
func (r *Replica) readParts(ctx context.Context, file *checkpoint.File, info *checkpointInfo) (adopt func(), err error) {
	s, rows := r.store, info.Rows
	made, shared := newTable(), packed.NewShared()
	var index *search.Loaded
	var adopts []func()
	var work errgroup.Group
	read := func(section string, part func(from *checkpoint.Reader)) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		from, err := file.Section(section)
		if err != nil {
			return err
		}
		part(from)
		return from.End()
	}
	work.Go(func() error {
		return errors.Join(
			read("table", func(from *checkpoint.Reader) { made.load(from, rows) }),
			read("shared", shared.Load),
		)
	})
	work.Go(func() error {
		err := read("index", func(from *checkpoint.Reader) { index = search.Load(from, rows) })
		for i, keeper := range r.keepers() {
			err = errors.Join(err, read(keeperSection(i), func(from *checkpoint.Reader) { adopts = append(adopts, keeper.Load(from, rows)) }))
		}
		return err
	})
	if err := work.Wait(); err != nil {
		return nil, err
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shared.Replace(shared)
		s.table.replace(made)
		s.tracker.Raise(info.Highest)
		r.index.Adopt(index)
		for _, adopt := range adopts {
			adopt()
		}
	}, nil
}
