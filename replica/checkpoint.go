package replica

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/checkpoint"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// A checkpoint is the copy in a file, so that a restart need not make the copy anew. Its parts are
// not from one moment: each has all records below the offsets that the file tells, and may have
// later ones. That is enough, because the tail applies the later records again, and the fold gives
// the same result after repeats. The table is written first, then the index and the listeners,
// which are made from the table. So these are never older than the table: a fact that is in the
// table already, and changes nothing when it is applied again, is in them too.

// Keeper is a Listener whose state can be kept in a checkpoint. A Listener that is no Keeper does
// not get the tokens that come from a checkpoint.
type Keeper interface {
	Filler
	// Form names the form of what Save writes. A checkpoint with another form is not loaded.
	Form() string
	// Save writes the state of the row ids below rows, with all changes until it was called. More
	// changes may come while it writes.
	Save(w *checkpoint.Writer, rows int)
	// Load reads what Save wrote, and does not change the listener. adopt replaces the listener's
	// state by what was read, as if Fill had been called with all its tokens. If Load fails, r.Err
	// returns why.
	Load(r *checkpoint.Reader, rows int) (adopt func())
}

// checkpointName is the file in CheckpointFolder.
const checkpointName = "replica.checkpoint"

// checkpointForm is the number of the form of the whole file, and of the parts that package replica
// writes itself. Raise it also when the rules change by which registry.State folds facts.
const checkpointForm = 1

// checkpointInfo is what a checkpoint says about itself.
type checkpointInfo struct {
	// Form is that of the build that wrote the file: see (*Replica).form. The other fields may
	// differ with another form, so it is read first.
	Form      string    `json:"form"`
	WrittenAt time.Time `json:"written_at"`
	Rows      int       `json:"rows"`
	Highest   uint64    `json:"highest_slot"`
	Topics    []reached `json:"topics"`
	// TookBack are the mints that waited to be folded again at any time while the table was
	// written, and Until has the offsets that the projector must have committed first: see type
	// refoldQueue.
	TookBack []pubkey.Key `json:"took_back"`
	Until    []reached    `json:"took_back_until"`
}

// reached is how far a partition is applied. Mark is a hash of the last applied record: a log that
// has another record there is another log. It is empty if the partition has no record there.
type reached struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
	Mark      string `json:"mark,omitempty"`
}

// form names everything that decides what is in the file and how it is read: the forms of its
// parts, the rules that make facts of records, Go with its tables of Unicode, the processor's order
// of bytes, and the version of the records.
func (r *Replica) form() string {
	forms := []string{strconv.Itoa(checkpointForm), schemas.SchemaVersion, strconv.Itoa(registry.FactRules), packed.Form(), strconv.Itoa(search.Form), runtime.Version(), runtime.GOARCH}
	for _, keeper := range r.keepers() {
		forms = append(forms, keeper.Form())
	}
	return strings.Join(forms, " ")
}

func (r *Replica) keepers() (keepers []Keeper) {
	for _, listener := range r.deps.Listeners {
		if keeper, ok := listener.(Keeper); ok {
			keepers = append(keepers, keeper)
		}
	}
	return keepers
}

// checkpoints is the state of a node's checkpoint.
type checkpoints struct {
	status atomic.Pointer[CheckpointStatus]
	// lock is the file descriptor that holds the folder's lock; -1: this process does not hold it.
	// due is when the next checkpoint is written. Until the copy is ready, both belong to the
	// goroutine that tails, then to the one that writes.
	lock int
	due  time.Time
}

// CheckpointStatus is the state of a node's checkpoint on disk.
type CheckpointStatus struct {
	// Loaded is true if this process began with a checkpoint.
	Loaded bool
	// WrittenAt is when the file was begun, Bytes its size. Both are zero if there is none.
	WrittenAt time.Time
	Bytes     int64
	// Refused says why this process did not begin with the checkpoint that it found, Failed why the
	// last one could not be written. Each is empty if that did not happen.
	Refused, Failed string
}

// Checkpoint returns the state of the checkpoint; nil if the node keeps none.
func (r *Replica) Checkpoint() *CheckpointStatus { return r.checkpoints.status.Load() }

func (r *Replica) updateStatus(change func(s *CheckpointStatus)) {
	next := CheckpointStatus{}
	if now := r.checkpoints.status.Load(); now != nil {
		next = *now
	}
	change(&next)
	r.checkpoints.status.Store(&next)
}

const (
	// checkpointLook is how often keepCheckpoint looks whether a checkpoint is due.
	checkpointLook = time.Second
	// checkpointAgain is how long it waits at most after a checkpoint that failed.
	checkpointAgain = 5 * time.Minute
)

// keepCheckpoint writes a checkpoint each CheckpointEvery, until ctx ends. It writes the first one
// when the copy is ready or, if the copy came from a checkpoint, CheckpointEvery after that one was
// written.
func (r *Replica) keepCheckpoint(ctx context.Context) {
	if r.cfg.CheckpointFolder == "" {
		return
	}
	for pause.For(ctx, checkpointLook) == nil {
		switch {
		case !r.Ready() || r.deps.Now().Before(r.checkpoints.due):
			continue
		case r.checkpoints.lock < 0:
			return // the folder is another process's
		}
		begin := time.Now()
		size, err := r.writeCheckpoint(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.metrics.checkpoints.WithLabelValues("failed").Inc()
			r.deps.Logger.Warn("the checkpoint of the registry's copy was not written; the one before stays, and a restart takes longer", "err", err)
			r.updateStatus(func(s *CheckpointStatus) { s.Failed = err.Error() })
			r.checkpoints.due = r.deps.Now().Add(min(checkpointAgain, r.cfg.CheckpointEvery))
		default:
			r.metrics.checkpoints.WithLabelValues("written").Inc()
			r.metrics.checkpointSeconds.Set(time.Since(begin).Seconds())
			r.deps.Logger.Info("checkpoint of the registry's copy written", "bytes", size, "seconds", time.Since(begin).Seconds())
			r.checkpoints.due = r.deps.Now().Add(r.cfg.CheckpointEvery)
		}
	}
}

// writeCheckpoint writes the copy as it is. The fold waits for it a few moments, readers never.
func (r *Replica) writeCheckpoint(ctx context.Context) (size int64, err error) {
	info := checkpointInfo{Form: r.form(), WrittenAt: r.deps.Now()}
	if err := r.needRoom(); err != nil {
		return 0, err
	}
	r.cut.Lock()
	applied, rows := r.appliedFacts(), r.store.table.len()
	r.refolds.keep()
	r.cut.Unlock()
	defer r.refolds.drop()
	if info.Topics, err = r.withMarks(ctx, applied); err != nil {
		return 0, fmt.Errorf("read the last records: %w", err)
	}
	size, err = checkpoint.Write(ctx, r.checkpointPath(), func(w *checkpoint.Writer) (any, error) {
		w.Section("table")
		r.store.table.save(w, 0, rows)
		index := r.freeze(&info)
		r.store.table.save(w, rows, info.Rows) // mints that came meanwhile
		w.Section("index")
		index.Save(w)
		for i, keeper := range r.keepers() {
			w.Section(keeperSection(i))
			keeper.Save(w, info.Rows)
		}
		w.Section("shared")
		r.store.shared.Save(w)
		return info, w.Err()
	})
	if err == nil {
		r.updateStatus(func(s *CheckpointStatus) { s.WrittenAt, s.Bytes, s.Failed = info.WrittenAt, size, "" })
	}
	return size, err
}

func keeperSection(number int) string { return fmt.Sprintf("listener %d", number) }

// freeze returns the index with all documents of the table, and sets the fields of info that must
// be from the same moment.
func (r *Replica) freeze(info *checkpointInfo) search.Saved {
	r.cut.Lock() // so that each mint that lost facts is in r.refolds
	defer r.cut.Unlock()
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	info.Rows, info.Highest = r.store.table.len(), r.store.tracker.Highest()
	var until map[kafka.TopicPartition]int64
	info.TookBack, until = r.refolds.sinceKeep()
	info.Until = reachedOf(until)
	return r.index.Checkpoint()
}

// appliedFacts returns how far the topics with facts are applied.
func (r *Replica) appliedFacts() map[kafka.TopicPartition]int64 {
	applied := r.Applied()
	maps.DeleteFunc(applied, func(tp kafka.TopicPartition, _ int64) bool { return !slices.Contains(registryTopics, tp.Topic) })
	return applied
}

func reachedOf(offsets map[kafka.TopicPartition]int64) (list []reached) {
	for tp, offset := range offsets {
		list = append(list, reached{Topic: tp.Topic, Partition: tp.Partition, Offset: offset})
	}
	slices.SortFunc(list, func(a, b reached) int { return strings.Compare(a.key(), b.key()) })
	return list
}

func (r *reached) key() string { return fmt.Sprintf("%s %08d", r.Topic, r.Partition) }

func (r *reached) partition() kafka.TopicPartition {
	return kafka.TopicPartition{Topic: r.Topic, Partition: r.Partition}
}

func offsetsOf(list []reached) map[kafka.TopicPartition]int64 {
	offsets := make(map[kafka.TopicPartition]int64, len(list))
	for i := range list {
		offsets[list[i].partition()] = list[i].Offset
	}
	return offsets
}

// marksPatience bounds the reading of the last records.
const marksPatience = 20 * time.Second

// withMarks returns the offsets, each with the mark of the last record before it.
func (r *Replica) withMarks(ctx context.Context, applied map[kafka.TopicPartition]int64) ([]reached, error) {
	list := reachedOf(applied)
	starts, err := r.deps.Offsets.StartOffsets(ctx, registryTopics)
	if err != nil {
		return nil, err
	}
	ends, err := r.deps.Offsets.EndOffsets(ctx, registryTopics)
	if err != nil {
		return nil, err
	}
	// Of partitions whose record is not wanted, nothing is read: they begin at their end.
	wanted, from := map[kafka.TopicPartition]*reached{}, maps.Clone(ends)
	for i := range list {
		if tp := list[i].partition(); list[i].Offset > starts[tp] && list[i].Offset <= ends[tp] {
			wanted[tp], from[tp] = &list[i], list[i].Offset-1
		}
	}
	if len(wanted) == 0 {
		return list, nil
	}
	ctx, cancel := context.WithTimeout(ctx, marksPatience)
	defer cancel()
	tail, err := r.deps.OpenTail(registryTopics, from)
	if err != nil {
		return nil, err
	}
	defer tail.Close()
	for len(wanted) > 0 {
		records, err := tail.FetchBatch(ctx, batchRecords, 0)
		if errors.Is(err, context.DeadlineExceeded) {
			return list, nil // the records before these offsets are gone
		}
		if err != nil {
			return nil, err
		}
		for i := range records {
			tp := records[i].TopicPartition()
			if of := wanted[tp]; of != nil {
				if records[i].Offset == of.Offset-1 {
					of.Mark = markOf(&records[i])
				}
				delete(wanted, tp)
			}
		}
	}
	return list, nil
}

// markOf returns a hash of a record.
func markOf(record *kafka.Record) string {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%d %d ", len(record.Key), len(record.Value))
	_, _ = hash.Write(record.Key)
	_, _ = hash.Write(record.Value)
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

func (r *Replica) checkpointPath() string {
	return filepath.Join(r.cfg.CheckpointFolder, checkpointName)
}

// needRoom returns an error if the file system has less free room than roomFactor times the size of
// the next checkpoint. The rest is for Kafka's log, which may be on the same disk and must never
// lack room.
func (r *Replica) needRoom() error {
	var stat unix.Statfs_t
	if err := unix.Statfs(r.cfg.CheckpointFolder, &stat); err != nil {
		return fmt.Errorf("look for room: %w", err)
	}
	need := uint64(r.store.table.len()) * checkpointBytes
	if last := r.Checkpoint(); last != nil {
		need = max(need, uint64(last.Bytes))
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < roomFactor*need {
		return fmt.Errorf("%d MiB are free on the file system of %s, %d are wanted for a checkpoint of about %d: make room, or set api.checkpoint_every to 0",
			free>>20, r.cfg.CheckpointFolder, roomFactor*need>>20, need>>20)
	}
	return nil
}

const (
	// checkpointBytes is about what a token takes in a checkpoint.
	checkpointBytes = 400
	roomFactor      = 3
)
