package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"slices"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/solana"
)

// recordFile is the file in Config.Dir that has builds and proofs.
const recordFile = "trust.json"

// document is the content of recordFile. A venue's builds are by the hashes of their executables.
type document struct {
	Format int                            `json:"format"`
	Venues map[string]map[string]*verdict `json:"venues"`
}

const documentFormat = 1

// load reads what an earlier run recorded. A damaged record is put aside and made anew. The build
// that is deployed now then does not count as the first one, so each build that is not known must
// prove itself.
func (t *Trust) load() error {
	if t.cfg.Dir == "" {
		return nil
	}
	path := filepath.Join(t.cfg.Dir, recordFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var d document
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err == nil && d.Format > documentFormat {
		return fmt.Errorf("%s has format %d, this version reads %d", path, d.Format, documentFormat)
	}
	if err == nil && d.Format != documentFormat {
		err = fmt.Errorf("it has format %d, this version reads %d", d.Format, documentFormat)
	}
	if err == nil {
		err = t.book.load(d)
	}
	if err == nil {
		return nil
	}
	t.deps.Logger.Error("the record of trust in venues is damaged and made anew: builds that are not known must prove themselves by swaps", "file", path, "aside", path+durable.Aside, "err", err)
	t.book.distrust()
	if err := durable.PutAside(path); err != nil {
		return fmt.Errorf("put the damaged %s aside: %w: check its permissions", path, err)
	}
	return nil
}

// distrust forgets all builds, and lets no build count as the first one.
func (b *book) distrust() {
	for _, r := range b.records {
		r.builds, r.early = map[string]*verdict{}, true
	}
}

// load takes in what an earlier run has recorded. Venues that this version does not have are left
// out.
func (b *book) load(d document) error {
	for name, builds := range d.Venues {
		r := b.records[name]
		if r == nil {
			continue
		}
		for id, v := range builds {
			if v == nil || slices.Contains(slices.Collect(maps.Values(v.Proofs)), nil) {
				return fmt.Errorf("%s: a build of %s, or a proof of it, has nothing", recordFile, name)
			}
			r.builds[id] = v
			for _, p := range v.Programs {
				// A known executable need not be read again.
				if sums := b.sums[p.Program]; sums != nil && p.Slot > 0 && p.SHA256 != "" {
					address, _ := solana.ProgramDataAddress(p.Program) // newPrograms found it
					sums[mark{Loader: solana.LoaderUpgradeable, Slot: p.Slot, Code: address, At: solana.ProgramDataCode}] = p.SHA256
				}
			}
		}
	}
	return nil
}

// save writes recordFile if something changed since it was last written.
func (t *Trust) save() {
	t.mu.Lock()
	dirty := t.dirty
	t.dirty = false
	t.mu.Unlock()
	if t.cfg.Dir == "" || !dirty {
		return
	}
	if err := t.write(); err != nil {
		t.setDirty()
		t.metrics.unrecorded.Inc()
		if t.failures++; bits.OnesCount(t.failures) == 1 { // sampled
			t.deps.Logger.Warn("trust in venues was not recorded", "failures", t.failures, "err", err)
		}
	}
}

func (t *Trust) write() error {
	raw, err := t.book.document()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.cfg.Dir, 0o750); err != nil {
		return err
	}
	return durable.Replace(filepath.Join(t.cfg.Dir, recordFile), raw)
}

// document returns the content of recordFile.
func (b *book) document() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := document{documentFormat, map[string]map[string]*verdict{}}
	for name, r := range b.records {
		d.Venues[name] = r.builds // encoded under the lock
	}
	return json.MarshalIndent(d, "", " ")
}
