package snapshot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Bounds of one record. A mint with more facts takes several records: each change of its supply is
// a fact.
const (
	maxRecordFacts = 1000
	maxRecordBytes = 256 << 10
)

// ImportConfig is what to read, and whom to trust.
type ImportConfig struct {
	Folder string
	Trust  Trust
	// StateFile is where progress is kept; its folder must exist.
	StateFile string
	// Log names the log that is written to, by the cluster id of its Kafka. Progress in another log
	// is refused.
	Log string
	// CheckChain returns an error to refuse a snapshot of another chain, by the manifest's genesis
	// hash. Nil: any chain is accepted. It is called before anything is written.
	CheckChain func(ctx context.Context, genesisHash string) error
}

// importState is the progress file. File is a file of facts, counted from 0, and Row a row in it.
// All files before File are durable, and of File all rows before Row.
type importState struct {
	// Manifest is the SHA-256 of the manifest: the progress of another snapshot is ignored.
	Manifest string `json:"manifest"`
	// Log is ImportConfig.Log.
	Log     string `json:"log,omitempty"`
	File    int    `json:"file"`
	Row     int64  `json:"row"`
	Records int64  `json:"records"`
	Done    bool   `json:"done"`
}

// Importer reads one snapshot.
type Importer struct {
	cfg      ImportConfig
	producer kafka.RecordProducer
	state    *bootstrap.StateFile
	note     atomic.Value
	done     atomic.Int64
	total    atomic.Int64
	records  atomic.Int64
}

// NewImporter checks the configuration; it does no I/O.
func NewImporter(cfg ImportConfig, producer kafka.RecordProducer) (*Importer, error) {
	if cfg.Folder == "" || cfg.StateFile == "" || producer == nil {
		return nil, errors.New("import: folder, state file and producer are required")
	}
	if len(cfg.Trust.Keys) == 0 && !cfg.Trust.Insecure {
		return nil, errors.New("import: say whose snapshot is believed: --trust KEY, or --insecure for anybody's")
	}
	return &Importer{cfg: cfg, producer: producer, state: bootstrap.NewStateFile(cfg.StateFile)}, nil
}

// Progress returns how far the import is. It may be called at any time. Every fact counts twice:
// once when it is verified, and once when it is written.
func (i *Importer) Progress() bootstrap.Progress {
	p := bootstrap.Progress{Done: i.done.Load(), Total: i.total.Load(), Items: i.done.Load(), Records: i.records.Load()}
	p.Note, _ = i.note.Load().(string)
	return p
}

// Written returns how many records of the snapshot the progress file says are in the log; 0 if
// there is no file, or if it is of another snapshot.
func (i *Importer) Written() (int64, error) {
	_, id, err := open(i.cfg.Folder, i.cfg.Trust)
	if err != nil {
		return 0, fmt.Errorf("import from %s: %w", i.cfg.Folder, err)
	}
	state, err := i.progress(id)
	return state.Records, err
}

// progress returns how far an import of the snapshot with this id is.
func (i *Importer) progress(id [32]byte) (importState, error) {
	state := importState{}
	if _, err := i.state.Load(&state); err != nil {
		return state, err
	}
	if name := hex.EncodeToString(id[:]); state.Manifest != name {
		state = importState{Manifest: name}
	}
	return state, nil
}

// Run verifies the whole snapshot, then writes what no earlier run has written. Errors wrap
// ErrManifest, ErrSignature or ErrContent when the snapshot is at fault; then this run has written
// nothing, unless a file changed after it was verified.
func (i *Importer) Run(ctx context.Context) (*Manifest, error) {
	manifest, err := i.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("import from %s: %w", i.cfg.Folder, err)
	}
	return manifest, nil
}

func (i *Importer) run(ctx context.Context) (*Manifest, error) {
	manifest, id, err := open(i.cfg.Folder, i.cfg.Trust)
	if err != nil {
		return nil, err
	}
	if i.cfg.CheckChain != nil && manifest.GenesisHash != "" {
		if err := i.cfg.CheckChain(ctx, manifest.GenesisHash); err != nil {
			return nil, err
		}
	}
	i.total.Store(2 * manifest.Counts.Facts)
	i.note.Store("verifying")
	v := &verifier{folder: i.cfg.Folder, manifest: manifest, onFact: func() { i.done.Add(1) }}
	if err := v.verify(ctx); err != nil {
		return nil, err
	}
	state, err := i.progress(id)
	if err != nil {
		return nil, err
	}
	if err := i.state.CheckLog(state.Log, i.cfg.Log); err != nil {
		return nil, err
	}
	state.Log = i.cfg.Log
	files := manifest.files(kindFacts)
	if state.File > len(files) || state.Row < 0 {
		return nil, fmt.Errorf("progress in %s is damaged: begin anew with --restart", i.state.Path())
	}
	i.countWritten(files, &state)
	for ; state.File < len(files); state.File, state.Row = state.File+1, 0 {
		file := files[state.File]
		i.note.Store("writing " + file.Name)
		if err := i.writeFile(ctx, manifest, file, &state); err != nil {
			return nil, err
		}
	}
	state.Done = true
	return manifest, i.state.Save(&state)
}

// countWritten counts what an earlier run has written as done.
func (i *Importer) countWritten(files []File, state *importState) {
	for _, file := range files[:state.File] {
		i.done.Add(file.Rows)
	}
	i.done.Add(state.Row)
	i.records.Store(state.Records)
}

// writeFile writes a file's facts from state.Row on, those of one mint together. It saves state
// whenever more is durable.
func (i *Importer) writeFile(ctx context.Context, manifest *Manifest, file File, state *importState) error {
	batch := bootstrap.NewBatch(i.producer, func(records int) {
		i.records.Add(int64(records))
		state.Records += int64(records)
	})
	var group factGroup
	row := state.Row
	send := func() error {
		enrichment := group.take(manifest.Slot)
		if enrichment == nil {
			return nil
		}
		if err := batch.Add(ctx, enrichment); err != nil {
			return err
		}
		if batch.Len() > 0 {
			return nil
		}
		state.Row = row // the batch was written: all rows before this one are durable
		return i.state.Save(state)
	}
	err := readRows(filepath.Join(i.cfg.Folder, file.Name), row, func(r *factRow) error {
		fact, err := r.fact()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrContent, file.Name, err)
		}
		if group.full(&fact) {
			if err := send(); err != nil {
				return err
			}
		}
		group.add(fact)
		row++
		i.done.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	if err := send(); err != nil {
		return err
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	return i.state.Save(&importState{Manifest: state.Manifest, Log: state.Log, File: state.File + 1, Records: state.Records})
}

// factOverhead is about how many bytes a fact takes besides its item and value.
const factOverhead = 32

// factGroup collects the facts of one record.
type factGroup struct {
	mint  pubkey.Key
	facts []*eventspb.Fact
	bytes int
}

// full returns whether fact must begin another record.
func (g *factGroup) full(fact *registry.Fact) bool {
	return len(g.facts) > 0 && (g.mint != fact.Mint || len(g.facts) >= maxRecordFacts || g.bytes+len(fact.Value) > maxRecordBytes)
}

func (g *factGroup) add(fact registry.Fact) {
	g.mint = fact.Mint
	g.facts = append(g.facts, registry.ImportedFact(fact))
	g.bytes += len(fact.Item) + len(fact.Value) + factOverhead
}

// take returns the record of the facts that were collected, and empties the group; nil if there are
// none. slot is the snapshot's; each fact has its own position.
func (g *factGroup) take(slot uint64) *eventspb.Enrichment {
	if len(g.facts) == 0 {
		return nil
	}
	enrichment := &eventspb.Enrichment{Mint: g.mint.Bytes(), Slot: slot, Fact: &eventspb.Enrichment_Facts{Facts: &eventspb.Facts{Facts: g.facts}}}
	*g = factGroup{}
	return enrichment
}

// String returns the root in the form in which people compare it: slot, tokens and hash.
func (r Root) String() string {
	return root.Line(r.Slot, r.Tokens, r.Hash, r.Version)
}
