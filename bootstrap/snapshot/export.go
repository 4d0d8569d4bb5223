package snapshot

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ExportConfig is where a snapshot goes, and what its manifest states.
type ExportConfig struct {
	// Folder is made if it does not exist. One that has a snapshot or other Parquet files is
	// refused.
	Folder string
	// Key signs the manifest; nil leaves the snapshot unsigned.
	Key ed25519.PrivateKey
	// GenesisHash names the chain, base58; empty when it is not known.
	GenesisHash string
	// CreatedAt is written into the manifest.
	CreatedAt time.Time
	// fileRows is about how many facts a file has: when it has that many, the next mint begins
	// another file. Default 2,000,000.
	fileRows int64
}

// Exporter writes one snapshot.
type Exporter struct {
	cfg    ExportConfig
	source Source
	total  atomic.Int64
	done   atomic.Int64
}

// NewExporter checks the configuration; it does no I/O.
func NewExporter(cfg ExportConfig, source Source) (*Exporter, error) {
	if cfg.Folder == "" || source == nil {
		return nil, errors.New("export: folder and source are required")
	}
	cfg.fileRows = cmp.Or(max(cfg.fileRows, 0), 2_000_000)
	return &Exporter{cfg: cfg, source: source}, nil
}

// Progress returns how far the export is. It may be called at any time.
func (e *Exporter) Progress() bootstrap.Progress {
	return bootstrap.Progress{Done: e.done.Load(), Total: e.total.Load(), Items: e.done.Load(), Note: "export"}
}

// Run writes the snapshot and returns its manifest. It writes to a work folder inside the
// snapshot's folder. When all files are durable, it moves them to the snapshot's folder, the
// manifest last. After an error it removes what it made; what cannot be removed is named in the
// error.
func (e *Exporter) Run(ctx context.Context) (*Manifest, error) {
	manifest, err := e.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("export to %s: %w", e.cfg.Folder, err)
	}
	return manifest, nil
}

func (e *Exporter) run(ctx context.Context) (_ *Manifest, err error) {
	place, err := openPlace(e.cfg.Folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, place.remove())
		}
	}()
	total, err := e.source.Count(ctx)
	if err != nil {
		return nil, err
	}
	e.total.Store(total)
	w := &writer{cfg: e.cfg, folder: place.work, manifest: &Manifest{
		Format: Format, GenesisHash: e.cfg.GenesisHash, CreatedAt: e.cfg.CreatedAt.UTC().Format(time.RFC3339),
		Schema: map[string][]Column{kindFacts: columns[factRow](), kindTokens: columns[tokenRow]()},
	}}
	defer w.abandon()
	if w.tokens, err = createFile[tokenRow](w.folder, "tokens.parquet"); err != nil {
		return nil, err
	}
	err = e.source.Facts(ctx, func(fact registry.Fact) error {
		e.done.Add(1)
		return w.fact(fact)
	})
	if err != nil {
		return nil, err
	}
	names, err := w.finish()
	if err != nil {
		return nil, err
	}
	if err := place.publish(names); err != nil {
		return nil, err
	}
	e.total.Store(e.done.Load())
	return w.manifest, nil
}

// writer turns a stream of facts into files.
type writer struct {
	cfg      ExportConfig
	folder   string
	manifest *Manifest
	facts    *file[factRow]
	tokens   *file[tokenRow]

	mint     pubkey.Key
	begun    bool
	register registry.Register
	item     string
	state    registry.State
	root     root.Builder
	slot     uint64
}

// fact folds a fact into the state of its mint. It fails if the facts are not sorted, or if one
// comes twice. It does not ask the state for that: the state also refuses facts that no longer
// count, such as a change of supply that a later read of the account covers, and a source may have
// them.
func (w *writer) fact(fact registry.Fact) error {
	if fact.Mint != w.mint || !w.begun {
		if w.begun && pubkey.Compare(fact.Mint, w.mint) < 0 {
			return fmt.Errorf("facts are not sorted: %s comes behind %s", fact.Mint, w.mint)
		}
		if err := w.endMint(); err != nil {
			return err
		}
		w.mint, w.state, w.begun = fact.Mint, registry.State{}, true
		w.manifest.Counts.Mints++
	} else if cmp.Or(cmp.Compare(w.register, fact.Register), strings.Compare(w.item, fact.Item)) >= 0 {
		return fmt.Errorf("facts are not sorted, or one comes twice: %s register %d item %q comes behind register %d item %q",
			fact.Mint, fact.Register, fact.Item, w.register, w.item)
	}
	w.register, w.item = fact.Register, fact.Item
	w.state.Apply(fact)
	return nil
}

// endMint writes the facts of the mint's state, its token if it is a member, and its element of the
// root. It ends a file that is full.
func (w *writer) endMint() error {
	if !w.begun {
		return nil
	}
	w.root.Add(w.mint, &w.state)
	if token, member := w.state.Token(w.mint); member {
		if err := w.tokens.write(tokenRowOf(&token)); err != nil {
			return err
		}
	}
	if w.facts == nil {
		var err error
		name := fmt.Sprintf("facts-%04d.parquet", len(w.manifest.Files))
		if w.facts, err = createFile[factRow](w.folder, name); err != nil {
			return err
		}
	}
	facts := w.state.Facts()
	for i := range facts {
		w.slot = max(w.slot, root.SlotOf(&facts[i]))
		if err := w.facts.write(rowOf(&facts[i])); err != nil {
			return err
		}
	}
	if w.facts.rows >= w.cfg.fileRows {
		return w.endFile()
	}
	return nil
}

// endFile closes the file of facts and adds it to the manifest.
func (w *writer) endFile() error {
	if w.facts == nil {
		return nil
	}
	described, err := w.facts.close(kindFacts)
	w.facts = nil
	if err != nil {
		return err
	}
	w.manifest.Counts.Facts += described.Rows
	w.manifest.Files = append(w.manifest.Files, described)
	return nil
}

// finish ends the files and writes the signature and the manifest. It returns the names of all
// files, the manifest last.
func (w *writer) finish() (names []string, err error) {
	if err := errors.Join(w.endMint(), w.endFile()); err != nil {
		return nil, err
	}
	tokens, err := w.tokens.close(kindTokens)
	w.tokens = nil
	if err != nil {
		return nil, err
	}
	m := w.manifest
	m.Counts.Tokens = tokens.Rows
	m.Files = append(m.Files, tokens)
	m.Slot = w.slot
	found := w.root.Root(w.slot)
	m.Root = Root{Version: 1, Slot: found.Slot, Tokens: found.Tokens, Hash: found.Hash, HashV2: &found.HashV2}
	if w.cfg.Key != nil {
		public, _ := w.cfg.Key.Public().(ed25519.PublicKey)
		m.PublicKey = PublicKeyText(public)
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	raw = append(raw, '\n')
	for _, file := range m.Files {
		names = append(names, file.Name)
	}
	if w.cfg.Key != nil {
		names = append(names, SignatureName)
		if err := writeFile(filepath.Join(w.folder, SignatureName), sign(w.cfg.Key, raw)); err != nil {
			return nil, err
		}
	}
	return append(names, ManifestName), writeFile(filepath.Join(w.folder, ManifestName), raw)
}

// abandon closes files that an error left open. Their content is of no use.
func (w *writer) abandon() {
	if w.facts != nil {
		_ = w.facts.file.Close()
	}
	if w.tokens != nil {
		_ = w.tokens.file.Close()
	}
}
