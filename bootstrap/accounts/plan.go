package accounts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/bootstrap"
)

// planFormat is the version of the progress file.
const planFormat = 1

// errComplete is returned if every shard was read by an earlier run.
var errComplete = errors.New("the bootstrap is complete: --restart begins anew")

// saveEvery is the least time between two writes of the progress file: with many small shards, the
// writes would be most of the work. After a kill, the shards that were finished since the last
// write are read again.
const saveEvery = 300 * time.Millisecond

// saved is the progress file.
type saved struct {
	Format int      `json:"format"`
	Paged  bool     `json:"paged"`
	Kinds  []string `json:"kinds"`
	// Log is Config.Log.
	Log string `json:"log,omitempty"`
	// FirstSlot and LastSlot are the lowest and highest slot of an answer.
	FirstSlot uint64 `json:"first_slot"`
	LastSlot  uint64 `json:"last_slot"`
	Accounts  int64  `json:"accounts"`
	Records   int64  `json:"records"`
	// Finished counts the shards that are done; Shards are the others.
	Finished int64    `json:"finished"`
	Shards   []*shard `json:"shards"`
}

// plan hands out shards and keeps their progress. Safe for concurrent use.
type plan struct {
	file *bootstrap.StateFile

	mu    sync.Mutex
	state saved
	// busy is how many shards are being read. from is an index in state.Shards: all shards before
	// it are being read or are done.
	busy, from int
	savedAt    time.Time
}

// loadPlan loads the plan of the last run, or makes a new one. It refuses the plan of a run with
// other settings, because these need other shards.
func loadPlan(cfg Config, file *bootstrap.StateFile) (*plan, error) {
	p := &plan{file: file}
	found, err := file.Load(&p.state)
	if err != nil {
		return nil, err
	}
	if !found {
		p.state = newState(cfg)
		return p, nil
	}
	s := &p.state
	if s.Format != planFormat {
		return nil, fmt.Errorf("progress in %s is of format %d, this binary writes %d: begin anew with --restart", file.Path(), s.Format, planFormat)
	}
	if s.Paged != cfg.Paged || !slices.Equal(s.Kinds, cfg.Kinds) {
		return nil, fmt.Errorf("progress in %s is of a run with kinds %s and paged %t: go on with those, or begin anew with --restart",
			file.Path(), strings.Join(s.Kinds, ","), s.Paged)
	}
	if err := file.CheckLog(s.Log, cfg.Log); err != nil {
		return nil, err
	}
	s.Log = cfg.Log
	for _, shard := range s.Shards {
		if err := checkShard(shard); err != nil {
			return nil, fmt.Errorf("progress in %s is damaged: %w: begin anew with --restart", file.Path(), err)
		}
	}
	return p, nil
}

// checkShard returns an error for a shard that no plan of this version has.
func checkShard(s *shard) error {
	if s == nil {
		return errors.New("a shard is null")
	}
	k, err := kindOf(s.Kind)
	if err != nil {
		return err
	}
	path, err := s.path()
	if err == nil && len(path) > len(k.steps) {
		err = fmt.Errorf("shard %s: too deep", s)
	}
	return err
}

func newState(cfg Config) saved {
	state := saved{Format: planFormat, Paged: cfg.Paged, Kinds: cfg.Kinds, Log: cfg.Log}
	for _, name := range cfg.Kinds {
		shards := []*shard{{Kind: name}}
		for range cfg.cutsOf(name) {
			var deeper []*shard
			for _, s := range shards {
				deeper = append(deeper, s.cut()...)
			}
			shards = deeper
		}
		state.Shards = append(state.Shards, shards...)
	}
	return state
}

// next returns a shard that no worker reads yet, or nil if there is none now. more is false when
// all shards are done.
func (p *plan) next() (s *shard, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.from < len(p.state.Shards); p.from++ {
		if s := p.state.Shards[p.from]; !s.done && !s.busy {
			s.busy = true
			p.busy++
			p.from++
			return s, true
		}
	}
	return nil, p.busy > 0
}

// progress is one durable step of a shard.
type progress struct {
	page    page
	records int64
	done    bool
}

// advance records a step whose facts are durable in Kafka, and saves the progress if it is time.
func (p *plan) advance(s *shard, step progress) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := &p.state
	if step.page.slot > 0 {
		if state.FirstSlot == 0 || step.page.slot < state.FirstSlot {
			state.FirstSlot = step.page.slot
		}
		state.LastSlot = max(state.LastSlot, step.page.slot)
	}
	state.Accounts += step.page.accounts
	state.Records += step.records
	s.Cursor, s.done = step.page.cursor, step.done
	if step.done {
		s.busy = false
		p.busy--
		state.Finished++
	}
	if time.Since(p.savedAt) < saveEvery {
		return nil
	}
	return p.saveLocked()
}

// cut replaces a shard that is too large for the server by its parts. It returns false if the shard
// cannot be cut further.
func (p *plan) cut(s *shard) bool {
	parts := s.cut()
	if parts == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.state.Shards, s)
	p.state.Shards = slices.Replace(p.state.Shards, i, i+1, parts...)
	p.from = min(p.from, i)
	p.busy--
	return true
}

// save makes the progress durable.
func (p *plan) save() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.saveLocked()
}

func (p *plan) saveLocked() error {
	p.state.Shards = slices.DeleteFunc(p.state.Shards, func(s *shard) bool { return s.done })
	p.from = 0
	p.savedAt = time.Now()
	return p.file.Save(&p.state)
}

// counts returns how many shards are done, how many there are, and the state without its shards.
func (p *plan) counts() (done, total int64, state saved) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state = p.state
	state.Shards = nil
	total = state.Finished
	for _, s := range p.state.Shards {
		if !s.done {
			total++
		}
	}
	return state.Finished, total, state
}

// Written returns how many records the progress file says are in the log; 0 if there is no file. If
// the log holds fewer, it is another log.
func Written(stateFile string) (int64, error) {
	var state saved
	if _, err := bootstrap.NewStateFile(stateFile).Load(&state); err != nil {
		return 0, err
	}
	return state.Records, nil
}
