package snapshot

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
)

// ExportConfig says where a snapshot goes.
type ExportConfig struct {
	// Folder is made when it is missing; one with a manifest is refused.
	Folder string
	// Key signs the manifest; nil leaves the snapshot unsigned.
	Key ed25519.PrivateKey
	// CreatedAt is told in the manifest.
	CreatedAt time.Time
	// FileRows is about how many facts a file holds: the next mint goes to the next file. Default 2,000,000.
	FileRows int64
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
	if cfg.FileRows <= 0 {
		cfg.FileRows = 2_000_000
	}
	return &Exporter{cfg: cfg, source: source}, nil
}

// Progress may be called at any time.
func (e *Exporter) Progress() bootstrap.Progress {
	return bootstrap.Progress{Done: e.done.Load(), Total: e.total.Load(), Items: e.done.Load(), Note: "export"}
}

// Run writes the snapshot and returns its manifest. After an error the folder holds no manifest and is no snapshot.
func (e *Exporter) Run(ctx context.Context) (*Manifest, error) {
	manifest, err := e.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("export to %s: %w", e.cfg.Folder, err)
	}
	return manifest, nil
}

func (e *Exporter) run(ctx context.Context) (*Manifest, error) {
	if err := os.MkdirAll(e.cfg.Folder, 0o755); err != nil { //nolint:gosec // made to be given away
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(e.cfg.Folder, ManifestName)); err == nil {
		return nil, errors.New("the folder holds a snapshot: name another one")
	}
	total, err := e.source.Count(ctx)
	if err != nil {
		return nil, err
	}
	e.total.Store(total)
	w := &writer{cfg: e.cfg, manifest: &Manifest{
		Format: Format, CreatedAt: e.cfg.CreatedAt.UTC().Format(time.RFC3339),
		Schema: map[string][]Column{kindFacts: columns[factRow](), kindTokens: columns[tokenRow]()},
	}}
	if w.tokens, err = createFile[tokenRow](e.cfg.Folder, "tokens.parquet"); err != nil {
		return nil, err
	}
	err = e.source.Facts(ctx, func(fact registry.Fact) error {
		e.done.Add(1)
		return w.fact(fact)
	})
	if err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	e.total.Store(e.done.Load())
	return w.manifest, nil
}

// writer turns a stream of facts into files.
type writer struct {
	cfg      ExportConfig
	manifest *Manifest
	facts    *file[factRow]
	tokens   *file[tokenRow]

	mint  string
	state registry.State
	root  root.Builder
	slot  uint64
}

func (w *writer) fact(fact registry.Fact) error {
	if fact.Mint != w.mint {
		if fact.Mint < w.mint {
			return fmt.Errorf("facts are not sorted: %s behind %s", fact.Mint, w.mint)
		}
		if err := w.endMint(); err != nil {
			return err
		}
		w.mint, w.state = fact.Mint, registry.State{}
		w.manifest.Counts.Mints++
	}
	if !w.state.Apply(fact) {
		return fmt.Errorf("facts are not sorted, or one comes twice: %s register %d", fact.Mint, fact.Register)
	}
	w.slot = max(w.slot, root.SlotOf(&fact))
	if w.facts == nil {
		var err error
		name := fmt.Sprintf("facts-%04d.parquet", len(w.manifest.Files))
		if w.facts, err = createFile[factRow](w.cfg.Folder, name); err != nil {
			return err
		}
	}
	return w.facts.write(rowOf(&fact))
}

// endMint takes the mint's token and element, and ends a file that is full.
func (w *writer) endMint() error {
	if w.mint == "" {
		return nil
	}
	w.root.Add(w.mint, &w.state)
	if token, member := w.state.Token(w.mint); member {
		if err := w.tokens.write(tokenRowOf(&token)); err != nil {
			return err
		}
	}
	if w.facts != nil && w.facts.rows >= w.cfg.FileRows {
		return w.endFile()
	}
	return nil
}

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

// finish ends the files and writes the manifest, the signature before it.
func (w *writer) finish() error {
	if err := errors.Join(w.endMint(), w.endFile()); err != nil {
		return err
	}
	tokens, err := w.tokens.close(kindTokens)
	if err != nil {
		return err
	}
	m := w.manifest
	m.Counts.Tokens = tokens.Rows
	m.Files = append(m.Files, tokens)
	m.Slot = w.slot
	m.Root = Root{Version: root.Version, Slot: w.slot, Tokens: w.root.Tokens(), Hash: w.root.Sum()}
	if w.cfg.Key != nil {
		public, _ := w.cfg.Key.Public().(ed25519.PublicKey)
		m.PublicKey = PublicKeyText(public)
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	raw = append(raw, '\n')
	if w.cfg.Key != nil {
		if err := replaceFile(filepath.Join(w.cfg.Folder, SignatureName), sign(w.cfg.Key, raw)); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(w.cfg.Folder, ManifestName), raw)
}

// abandon closes what is open after an error.
func (w *writer) abandon() error {
	var err error
	if w.facts != nil {
		err = w.facts.file.Close()
	}
	return errors.Join(err, w.tokens.file.Close())
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, raw []byte) error {
	out, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // made to be given away
	if err != nil {
		return err
	}
	_, err = out.Write(raw)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
