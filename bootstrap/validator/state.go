package validator

import (
	"fmt"

	"github.com/mintlake/mintlake/bootstrap"
)

// stateFormat is the version of the progress file. With format 1 the spill was sorted.
const stateFormat = 2

// Phases of a run.
const (
	phaseRead    = "read"
	phasePublish = "publish"
	phaseDone    = "done"
)

// state is the progress file. What it says of the spill and the staged facts is durable when the
// file is written.
type state struct {
	Format int    `json:"format"`
	Phase  string `json:"phase"`
	// Archives are those that the run reads, the full one first.
	Archives []archiveState `json:"archives"`
	SkipHash bool           `json:"skip_hash"`
	// Balances says that token accounts are read too.
	Balances bool `json:"balances"`
	// ExpectHash and Log are those of Config.
	ExpectHash string `json:"expect_hash,omitempty"`
	Log        string `json:"log,omitempty"`
	// Counts are the accounts of each storage that was read, by rank.
	Counts []uint32 `json:"counts"`
	// SpillKey is the key of the spill's hash, SpillBytes how long the spill is.
	SpillKey   spillKey `json:"spill_key"`
	SpillBytes int64    `json:"spill_bytes"`
	// StagedBytes and StagedFacts are how many bytes and facts are staged.
	StagedBytes int64 `json:"staged_bytes"`
	StagedFacts int64 `json:"staged_facts"`
	// HeldBytes and HeldAccounts are how many bytes and token accounts are staged. HeldPublished is
	// up to which byte they are in the log, and HeldRecords how many token accounts were written.
	HeldBytes     int64 `json:"held_bytes"`
	HeldAccounts  int64 `json:"held_accounts"`
	HeldPublished int64 `json:"held_published"`
	HeldRecords   int64 `json:"held_records"`
	// Older says whether the tables had open accounts from before the end of the snapshot's slot.
	// It is nil until the first token account is about to be written. Closed is how many of these
	// were closed.
	Older  *bool `json:"older,omitempty"`
	Closed int64 `json:"closed,omitempty"`
	// Sum is the lattice hash of all versions read so far.
	Sum     []byte           `json:"sum"`
	Skipped map[string]int64 `json:"skipped"`
	// Published is up to which byte the staged facts are in the log, and Records how many facts
	// were written.
	Published int64   `json:"published"`
	Records   int64   `json:"records"`
	Summary   Summary `json:"summary"`
}

// archiveState is an archive, and how many of its storages are read.
type archiveState struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	Hash     string `json:"bank_hash"`
	Slot     uint64 `json:"slot"`
	Total    int    `json:"total_storages"`
	Storages int    `json:"storages"`
	Whole    bool   `json:"whole"`
}

// loadState loads the progress of the last run, or begins anew. It refuses the progress of a run
// with other flags or archives. names are the names of the archives.
func loadState(cfg *Config, balances bool, file *bootstrap.StateFile, names []string) (*state, error) {
	s := &state{}
	found, err := file.Load(s)
	if err != nil {
		return nil, err
	}
	if !found {
		s = &state{
			Format: stateFormat, Phase: phaseRead, SkipHash: cfg.SkipHash, Balances: balances, ExpectHash: cfg.ExpectHash, Log: cfg.Log,
			Skipped: map[string]int64{}, SpillKey: newSpillKey(), Archives: make([]archiveState, len(names)),
		}
		for i, name := range names {
			s.Archives[i].Name = name
		}
		return s, nil
	}
	if s.Format != stateFormat && s.Phase != phaseDone {
		return nil, fmt.Errorf("progress in %s is of format %d, this binary writes %d: begin anew with --restart", file.Path(), s.Format, stateFormat)
	}
	if err := file.CheckLog(s.Log, cfg.Log); err != nil {
		return nil, err
	}
	if s.SkipHash != cfg.SkipHash || s.Balances != balances || s.ExpectHash != cfg.ExpectHash || len(s.Archives) != len(names) {
		return nil, fmt.Errorf("progress in %s is of a run with other flags: go on with those, or begin anew with --restart", file.Path())
	}
	for i, name := range names {
		if s.Archives[i].Name != name {
			return nil, fmt.Errorf("progress in %s is of %s, not of %s: begin anew with --restart", file.Path(), s.Archives[i].Name, name)
		}
	}
	s.Log = cfg.Log
	if s.Skipped == nil {
		s.Skipped = map[string]int64{}
	}
	return s, nil
}
