package parts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mintlake/mintlake/internal/durable"
)

// manifest has the parts that the last look found, by table. Its file is small: a table has some
// dozens of parts.
type manifest struct {
	Tables map[string]*tableManifest `json:"tables"`
}

type tableManifest struct {
	// Folder is the table's folder. If it differs, the table was dropped and made again, so its old
	// parts are not lost. Only the last element counts, which is the table's UUID: a data folder
	// may be moved, or copied to another disk.
	Folder string `json:"folder"`
	Parts  []part `json:"parts"`
	// Lost are the parts that are gone. They stay here until Forget, or until they are back.
	Lost []part `json:"lost,omitempty"`
}

// loadManifest reads a manifest. A manifest that does not exist yet is empty. A damaged manifest is
// put aside: m is empty, and damaged says what was wrong. Parts that were lost before are then not
// known.
func loadManifest(path string) (m *manifest, damaged, err error) {
	m = &manifest{}
	text, damaged := os.ReadFile(path)
	if errors.Is(damaged, fs.ErrNotExist) {
		damaged = nil
	} else if damaged == nil {
		damaged = json.Unmarshal(text, m)
	}
	if damaged != nil {
		m = &manifest{} // half of it may have been read
		if err := durable.PutAside(path); err != nil {
			return nil, damaged, fmt.Errorf("the manifest of ClickHouse's parts %s cannot be read: %w, nor be put aside: %w: check its permissions", path, damaged, err)
		}
	}
	if m.Tables == nil {
		m.Tables = map[string]*tableManifest{}
	}
	return m, damaged, nil
}

// save replaces the file in one step, without a sync. After a power cut there may be an older
// manifest. It names older parts, but the newer parts that they were merged into cover them.
func (m *manifest) save(path string) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = durable.ReplaceUnsynced(path, text)
	}
	if err != nil {
		return fmt.Errorf("write the manifest of ClickHouse's parts: %w", err)
	}
	return nil
}

// compare updates the manifest to the present tables and active parts. It returns all lost parts,
// those of earlier looks too. changed says whether the manifest has changed.
func (m *manifest) compare(tables []table, active []part) (lost []Damage, changed bool) {
	now := map[string][]part{}
	for _, p := range active {
		now[p.Table] = append(now[p.Table], p)
	}
	kept := map[string]*tableManifest{}
	for _, t := range tables {
		was := m.Tables[t.Name]
		if was == nil || filepath.Base(was.Folder) != filepath.Base(t.Folder) {
			was, changed = &tableManifest{Folder: t.Folder}, true
		}
		next := &tableManifest{Folder: t.Folder, Parts: now[t.Name], Lost: was.Lost}
		for _, p := range was.Parts {
			if !slices.ContainsFunc(next.Parts, func(there part) bool { return there.covers(&p) }) {
				next.Lost = append(next.Lost, p)
			}
		}
		// A part that somebody has put back is not lost any more.
		next.Lost = slices.DeleteFunc(slices.Clone(next.Lost), func(p part) bool {
			return slices.ContainsFunc(next.Parts, func(there part) bool { return there.covers(&p) })
		})
		for _, p := range next.Lost {
			lost = append(lost, Damage{Table: t.Name, Part: p.Name, Kind: Lost, Rows: &p.Rows})
		}
		changed = changed || !slices.EqualFunc(was.Parts, next.Parts, func(a, b part) bool { return a.Name == b.Name }) || len(was.Lost) != len(next.Lost)
		kept[t.Name] = next
	}
	changed = changed || len(kept) != len(m.Tables)
	m.Tables = kept
	return lost, changed
}

// Forget removes the parts and the lost parts of these tables from the manifest. Call it when the
// rows of lost and broken parts are there again: the next look starts from what it finds. No Watch
// may use the file meanwhile.
func Forget(path string, tables []string) error {
	m, _, err := loadManifest(path) // a damaged one has forgotten everything
	if err != nil {
		return err
	}
	for _, name := range tables {
		if t := m.Tables[name]; t != nil {
			t.Parts, t.Lost = nil, nil
		}
	}
	return m.save(path)
}
