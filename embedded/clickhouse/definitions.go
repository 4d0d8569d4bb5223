package chengine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mintlake/mintlake/internal/durable"
)

// The engine knows its databases and tables by small files, the definitions. It does not start if
// one of them is damaged. So definitionsFile has copies of all definitions, and a start puts a copy
// in the place of a damaged file. If a damaged file has no copy, the whole folder of the engine is
// put aside, and its tables are made anew from the log.
const (
	definitionsFile = "definitions.json"
	asideDir        = "damaged" // has the damaged files
	maxDefinition   = 1 << 20   // bytes of one file; a definition has some KiB

	formatFile = "format_version.txt" // in each table's folder
	formatText = "1"                  // what every version of the engine writes into it
)

// definitions are the copies, by path below engineDir.
type definitions struct {
	dir *dataDir
	// files has the contents by path. It is nil if there are no copies yet.
	files map[string]string
	// stamps has the state in which each file was copied, so that a file is read again only if it
	// changed.
	stamps map[string]stamp
}

type stamp struct {
	size     int64
	modified int64 // Unix nanoseconds
}

// loadDefinitions reads the copies from definitionsFile. A missing file is no error: then there are
// no copies. If the file is damaged, there are none either, and damaged says why.
func loadDefinitions(dir *dataDir) (d *definitions, damaged error) {
	d = &definitions{dir: dir, stamps: map[string]stamp{}}
	text, err := os.ReadFile(filepath.Join(dir.path, definitionsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d.files)
	}
	for path, content := range d.files {
		if err == nil && (!filepath.IsLocal(path) || !isDefinition(path) || !sound(path, []byte(content))) {
			err = fmt.Errorf("%q is no definition", path)
		}
	}
	if err != nil {
		d.files = nil
	}
	return d, err
}

// isDefinition reports whether a file below engineDir is one of those that are copied: the
// definition of a database, table or view, the format of a table's folder, and a mutation.
func isDefinition(path string) bool {
	name := filepath.Base(path)
	depth := strings.Count(path, string(filepath.Separator))
	switch strings.SplitN(path, string(filepath.Separator), 2)[0] {
	case "metadata":
		return depth == 1 && filepath.Ext(name) == ".sql"
	case "store":
		return depth == 3 && (filepath.Ext(name) == ".sql" || name == formatFile || strings.HasPrefix(name, "mutation_") && filepath.Ext(name) == ".txt")
	}
	return false
}

// sound reports whether content looks like a definition. It does not find all damage: the rest is
// found by the engine when it starts.
func sound(path string, content []byte) bool {
	if len(content) == 0 || len(content) > maxDefinition || !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return false
	}
	switch name := filepath.Base(path); {
	case filepath.Ext(name) == ".sql":
		begin, _, _ := bytes.Cut(content, []byte(" "))
		// The definition of a dictionary begins with CREATE.
		return (string(begin) == "ATTACH" || string(begin) == "CREATE") && content[len(content)-1] == '\n'
	case name == formatFile:
		return string(content) == formatText
	default:
		return bytes.HasPrefix(content, []byte("format version: ")) && content[len(content)-1] == '\n'
	}
}

// list returns the paths of everything below engineDir that has the name of a definition, even if
// it is no regular file.
func (d *definitions) list() (paths []string, err error) {
	root := filepath.Join(d.dir.path, engineDir)
	for _, pattern := range []string{"metadata/*.sql", "store/*/*/*.sql", "store/*/*/" + formatFile, "store/*/*/mutation_*.txt"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			paths = append(paths, strings.TrimPrefix(path, root+string(filepath.Separator)))
		}
	}
	return paths, nil
}

// at returns the full path of a definition.
func (d *definitions) at(path string) string { return filepath.Join(d.dir.path, engineDir, path) }

// update copies the definitions that changed since the last call. It may be called only while the
// engine runs or after it has stopped cleanly: then the engine could read the files. The engine
// replaces a file in one step, so each is whole. A file that cannot be read any more keeps its
// copy.
func (d *definitions) update() error {
	paths, err := d.list()
	if err != nil {
		return err
	}
	files := make(map[string]string, len(paths))
	for _, path := range paths {
		info, err := os.Lstat(d.at(path))
		if err != nil {
			continue // dropped meanwhile
		}
		now := stamp{info.Size(), info.ModTime().UnixNano()}
		content, known := d.files[path]
		if !known || d.stamps[path] != now {
			text, err := os.ReadFile(d.at(path))
			if err != nil || !sound(path, text) {
				if known {
					files[path] = content
				}
				continue
			}
			content = string(text)
		}
		files[path], d.stamps[path] = content, now
	}
	if maps.Equal(files, d.files) {
		return nil
	}
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(d.dir.path, definitionsFile), text); err != nil {
		return err
	}
	d.files = files
	return nil
}

// mend puts copies in the place of damaged definitions. mended has their paths. If all is true,
// because the engine did not start, each definition that differs from its copy counts as damaged.
// unknown has the paths of the damaged definitions without a copy.
func (d *definitions) mend(all bool) (mended, unknown []string, err error) {
	// The engine writes the file status at each start, which fails if something else is in its
	// place.
	if info, err := os.Lstat(d.at("status")); err == nil && !info.Mode().IsRegular() {
		if err := d.replace("status", ""); err != nil {
			return nil, nil, err
		}
	}
	paths, err := d.list()
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(d.at(path))
		content, known := d.files[path]
		switch {
		case err == nil && sound(path, text) && (!all || !known || string(text) == content):
		case !known && filepath.Ext(path) == ".sql":
			unknown = append(unknown, path)
		default:
			if !known && filepath.Base(path) == formatFile {
				content = formatText
			}
			if err := d.replace(path, content); err != nil {
				return mended, unknown, err
			}
			mended = append(mended, path)
		}
	}
	for path, content := range d.files {
		if slices.Contains(paths, path) || !d.lost(path, content) {
			continue
		}
		if err := d.replace(path, content); err != nil {
			return mended, unknown, err
		}
		mended = append(mended, path)
	}
	return mended, unknown, nil
}

// lost reports whether a definition that is not there was lost, and not dropped: the table's data
// is still there, and the table is not among those that wait in metadata_dropped for their removal.
func (d *definitions) lost(path, content string) bool {
	if filepath.Base(path) == formatFile {
		// A part's folder has a name like all_1_8_2.
		parts, _ := filepath.Glob(d.at(filepath.Join(filepath.Dir(path), "*_*_*_*")))
		return len(parts) > 0
	}
	_, rest, found := strings.Cut(content, "UUID '")
	id, _, closed := strings.Cut(rest, "'")
	if !found || !closed || len(id) != 36 || filepath.Ext(path) != ".sql" || !filepath.IsLocal(id) {
		return false
	}
	if dropped, _ := filepath.Glob(d.at("metadata_dropped/*" + id + "*")); len(dropped) > 0 {
		return false
	}
	if _, err := os.Stat(filepath.Dir(d.at(path))); err != nil {
		return false // its database was dropped
	}
	info, err := os.Stat(d.at(filepath.Join("store", id[:3], id)))
	return err == nil && info.IsDir()
}

// replace puts aside what is at the path of a definition, and writes content there. If content is
// empty, it writes nothing: a mutation may have no copy.
func (d *definitions) replace(path, content string) error {
	if _, err := os.Lstat(d.at(path)); err == nil {
		aside := filepath.Join(d.dir.path, asideDir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		if err := errors.Join(os.MkdirAll(filepath.Dir(aside), 0o750), os.RemoveAll(aside)); err != nil {
			return err
		}
		if err := os.Rename(d.at(path), aside); err != nil {
			return err
		}
	}
	if content == "" {
		return nil
	}
	return durable.Replace(d.at(path), []byte(content))
}

// beginAnew puts the engine's whole folder aside, and returns where it is now. Folders that were
// put aside earlier stay, too: they may have rows that the log no longer has.
func (d *definitions) beginAnew() (aside string, err error) {
	for i := 1; ; i++ {
		aside = filepath.Join(d.dir.path, asideDir, fmt.Sprintf("%s-%d", engineDir, i))
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	engine := filepath.Join(d.dir.path, engineDir)
	d.files, d.stamps = nil, map[string]stamp{}
	return aside, errors.Join(os.MkdirAll(filepath.Dir(aside), 0o750), os.Rename(engine, aside), os.Mkdir(engine, 0o750), durable.SyncDir(d.dir.path))
}
