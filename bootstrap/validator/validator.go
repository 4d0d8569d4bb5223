// Package validator fills a registry from the snapshot of a Solana validator.
//
// In: a full snapshot and, over it, an incremental one, from files, URLs or pipes; they are
// hostile.
// Out: one enrichment a mint and a metadata account, at the end of the last archive's slot, as a
// bootstrap over RPC writes them; the token accounts of mints that are followed, and closes of
// those that the tables have and the snapshot does not.
// Guarantees: nothing is written before the whole snapshot is read and checked. Of two versions of
// an account that of the later slot counts, and within a slot the one that stands later in its
// storage. Memory is bounded by 2 GiB: of each version of an account 40 bytes are spilled to
// disk and compared there part by part, and one bit is kept in memory. After a kill a run goes on
// after the last storage, or the last fact, that the progress file counts as done.
package validator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/bootstrap/validator/archive"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/lattice"
)

// Upstream is what facts of a snapshot name as their upstream, so that an operator can retract the
// facts of a bad snapshot.
const Upstream = "validator-snapshot"

// checkpointEvery is the time between two writes of the progress file while archives are read.
const checkpointEvery = 30 * time.Second

// Config is what to read.
type Config struct {
	// Full is the path or URL of a full snapshot, or - for standard input.
	Full string
	// Incremental is the path or URL of an incremental snapshot over the full one. It may be empty.
	Incremental string
	// Folder is where progress, spill and staged facts lie. It is made.
	Folder string
	// ExpectHash is the bank hash that a second source states, in base58. It may be empty.
	ExpectHash string
	// SkipHash leaves out the hashing of accounts: then they are not checked against the bank hash.
	SkipHash bool
	// Log names the log that is written to, by the cluster id of its Kafka.
	Log string
}

// Deps are a loader's collaborators.
type Deps struct {
	Producer kafka.RecordProducer
	// Extract makes the facts of accounts. Default Mints.
	Extract Extract
	// Follow reports whether the token accounts of a mint are read, too. They go to
	// chain.balances.v1. If Follow is nil, none are read.
	Follow func(mint pubkey.Key) bool
	// All says that Follow returns true for every mint.
	All bool
	// Tables tell which token accounts are gone. It may be nil if NeedsTables returns false.
	Tables Tables
	// Bounds says which slots a chain can have reached; nil checks them against the clock alone.
	Bounds *bounds.Bounds
	Logger *slog.Logger
}

// Summary is what a run has done, with the earlier runs that it continues.
type Summary struct {
	// Slot, BankHash, in base58, and Check are those of the last archive.
	Slot     uint64 `json:"slot"`
	BankHash string `json:"bank_hash"`
	Check    Check  `json:"check"`
	// Versions counts the versions of accounts that the archives hold, Replaced the versions that
	// have lamports and that a newer version replaces, Accounts the accounts that exist.
	Versions int64 `json:"versions"`
	Replaced int64 `json:"replaced"`
	Accounts int64 `json:"accounts"`
	// SpillBytes and StagedBytes are how much of the disk the spill and the staged facts took.
	SpillBytes  int64 `json:"spill_bytes"`
	StagedBytes int64 `json:"staged_bytes"`
	// Records counts the facts that were written.
	Records int64 `json:"records"`
	// Holdings counts the token accounts that were written.
	Holdings int64 `json:"holdings"`
	// Closed counts the token accounts, and holdings of earlier owners, that the snapshot does not
	// have and that were closed.
	Closed int64 `json:"closed,omitempty"`
	// Skipped counts versions that state no fact, by reason.
	Skipped map[string]int64 `json:"skipped"`
}

// Loader reads one snapshot into the log.
type Loader struct {
	cfg  Config
	deps Deps
	file *bootstrap.StateFile
	// blockEntries and checkpointEvery are the constants of these names; tests lower them.
	blockEntries    int
	checkpointEvery time.Duration

	state    *state
	sources  []*source
	manifest *archive.Manifest // of the last archive
	spill    *spill
	stage    *stage       // facts of mints and of metadata
	held     *stage       // token accounts of followed mints
	sum      lattice.Hash // of all versions that were read

	progress atomic.Pointer[bootstrap.Progress]
	items    atomic.Int64
}

// New checks the configuration.
func New(cfg Config, deps Deps) (*Loader, error) {
	if cfg.Full == "" || cfg.Folder == "" || deps.Producer == nil {
		return nil, errors.New("a snapshot, a folder and a producer are required")
	}
	if cfg.ExpectHash != "" {
		if _, err := pubkey.Parse(cfg.ExpectHash); err != nil {
			return nil, fmt.Errorf("expected hash: %w", err)
		}
		if cfg.SkipHash {
			return nil, errors.New("--expect-hash with --skip-hash would prove nothing: the accounts must be hashed")
		}
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Extract == nil {
		deps.Extract = Mints
	}
	l := &Loader{cfg: cfg, deps: deps, file: stateFileIn(cfg.Folder), blockEntries: blockEntries, checkpointEvery: checkpointEvery}
	l.progress.Store(&bootstrap.Progress{})
	return l, nil
}

func stateFileIn(folder string) *bootstrap.StateFile {
	return bootstrap.NewStateFile(filepath.Join(folder, "progress.json"))
}

// Forget removes what earlier runs have left in a folder.
func Forget(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("forget the snapshot: %w", err)
	}
	return nil
}

// Written returns how many records an earlier run has written.
func Written(folder string) (int64, error) {
	var saved state
	if _, err := stateFileIn(folder).Load(&saved); err != nil {
		return 0, err
	}
	return saved.Records, nil
}

// ErrComplete is returned if an earlier run has written everything.
var ErrComplete = errors.New("the bootstrap is complete: --restart begins anew")

// Run reads, checks and writes. It returns ErrComplete if an earlier run has done it all.
func (l *Loader) Run(ctx context.Context) (Summary, error) {
	if err := os.MkdirAll(l.cfg.Folder, 0o700); err != nil {
		return Summary{}, fmt.Errorf("folder of the snapshot: %w", err)
	}
	if summary, done, err := l.complete(); done || err != nil {
		return summary, cmp.Or(err, ErrComplete)
	}
	if err := l.open(ctx); err != nil {
		return Summary{}, err
	}
	defer l.close()
	if err := l.readAll(ctx); err != nil {
		return Summary{}, err
	}
	replaced, err := l.findReplaced(ctx)
	if err != nil {
		return Summary{}, err
	}
	if l.state.Phase == phaseRead {
		if err := l.check(ctx, replaced); err != nil {
			return Summary{}, err
		}
	}
	if err := l.publish(ctx, replaced); err != nil {
		return Summary{}, err
	}
	return l.state.Summary, l.finish()
}

// complete reports whether an earlier run has written all of these archives. It does not ask the
// server of a URL, because the file there changes all the time: any file that was read from a URL
// counts.
func (l *Loader) complete() (Summary, bool, error) {
	saved := new(state)
	if _, err := l.file.Load(saved); err != nil || saved.Phase != phaseDone {
		return Summary{}, false, err
	}
	var names []string
	for i, where := range []string{l.cfg.Full, l.cfg.Incremental} {
		switch {
		case where == "":
		case isURL(where) && i < len(saved.Archives):
			names = append(names, saved.Archives[i].Name)
		default:
			names = append(names, filepath.Base(where))
		}
	}
	_, err := loadState(&l.cfg, l.deps.Follow != nil, l.file, names)
	return saved.Summary, err == nil, err
}

// open opens the archives and the progress file, and cuts the spill and the staged facts to what
// the progress file says of them.
func (l *Loader) open(ctx context.Context) error {
	var names []string
	for i, where := range []string{l.cfg.Full, l.cfg.Incremental} {
		if where == "" {
			continue
		}
		source, err := openSource(ctx, where, l.cfg.Folder, []string{"full", "incremental"}[i])
		if err != nil {
			l.close()
			return err
		}
		l.sources = append(l.sources, source)
		names = append(names, source.name)
	}
	var err error
	if l.state, err = loadState(&l.cfg, l.deps.Follow != nil, l.file, names); err == nil {
		l.spill, err = openSpill(filepath.Join(l.cfg.Folder, "accounts"), l.state.SpillKey, l.state.SpillBytes, l.blockEntries)
	}
	if err == nil {
		l.stage, err = openStage(filepath.Join(l.cfg.Folder, "facts"), l.state.StagedBytes, l.state.StagedFacts)
	}
	if err == nil {
		l.held, err = openStage(filepath.Join(l.cfg.Folder, "balances"), l.state.HeldBytes, l.state.HeldAccounts)
	}
	if err == nil && len(l.state.Sum) == lattice.Size {
		l.sum = *lattice.FromBytes((*[lattice.Size]byte)(l.state.Sum))
	}
	if err != nil {
		l.close()
	}
	return err
}

func (l *Loader) close() {
	for _, source := range l.sources {
		source.close()
	}
	if l.spill != nil {
		l.spill.close()
	}
	for _, stage := range []*stage{l.stage, l.held} {
		if stage != nil {
			stage.close()
		}
	}
}

// finish removes the files that are not needed any more. The progress file stays, and says that
// everything is done.
func (l *Loader) finish() error {
	l.state.Phase = phaseDone
	l.state.Counts, l.state.SpillBytes, l.state.StagedBytes, l.state.StagedFacts = nil, 0, 0, 0
	if err := l.file.Save(l.state); err != nil {
		return err
	}
	for _, name := range []string{"accounts", "facts", "balances", "full", "full.json", "incremental", "incremental.json"} {
		if err := os.Remove(filepath.Join(l.cfg.Folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove what was staged: %w", err)
		}
	}
	return nil
}
