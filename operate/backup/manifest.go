// Package backup copies the data of one machine to a folder, and makes a data folder of the copy.
//
// In: a data folder, in use or not. Out: a folder with BACKUP.json, the list of its files.
// Guarantees: a copy never says more than its log has; the list is written last and in one step, so
// a folder without it is no finished backup; Read finds each file that is missing, changed or not
// listed; an interrupted restore is run again as it was.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/meter"
)

// Name is the file name of the list.
const Name = "BACKUP.json"

// format is the number of a backup's layout. It grows when the layout changes.
const format = 1

// maxManifest bounds the list: a million files of two hundred bytes each, for the name and the
// hash.
const maxManifest = 200 << 20

// Manifest is the list of a backup's files.
type Manifest struct {
	Format    int       `json:"format"`
	CreatedAt time.Time `json:"created_at"`
	// Version is the version of mintlake that wrote the backup.
	Version string `json:"version"`
	// Tables says whether the backup has ClickHouse's tables, besides the log.
	Tables bool   `json:"tables"`
	Files  []File `json:"files"`
}

// File is one file. Name is its path within the folder, with slashes.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Write adds all files of the folder to m, syncs them to disk, and then writes m into the folder.
func (m *Manifest) Write(ctx context.Context, folder string, progress meter.Meter) error {
	m.Format = format
	count, end := progress.Begin("list the files", meter.Bytes, meter.Size(folder))
	defer end()
	err := walk(ctx, folder, func(name string) error {
		file, err := describe(filepath.Join(folder, filepath.FromSlash(name)), true, count)
		if err != nil {
			return err
		}
		file.Name = name
		m.Files = append(m.Files, file)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the backup: %w", err)
	}
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("list the backup: %w", err)
	}
	if err := durable.Replace(filepath.Join(folder, Name), raw); err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	return nil
}

// Size returns how many bytes the files have whose names begin with prefix.
func (m *Manifest) Size(prefix string) (size int64) {
	for _, file := range m.Files {
		if strings.HasPrefix(file.Name, prefix) {
			size += file.Size
		}
	}
	return size
}

// Read reads the folder's list and compares every file with it. It returns an error if any file
// differs.
func Read(ctx context.Context, folder string, progress meter.Meter) (*Manifest, error) {
	m, err := load(folder)
	if err != nil {
		return nil, err
	}
	listed := make(map[string]File, len(m.Files))
	for _, file := range m.Files {
		listed[file.Name] = file
	}
	count, end := progress.Begin("compare the backup with its list", meter.Bytes, m.Size(""))
	defer end()
	err = walk(ctx, folder, func(name string) error {
		want, ok := listed[name]
		if !ok {
			return fmt.Errorf("%s is not in %s: somebody put it there", name, Name)
		}
		delete(listed, name)
		got, err := describe(filepath.Join(folder, filepath.FromSlash(name)), false, count)
		if err != nil {
			return err
		}
		if got.Size != want.Size || got.SHA256 != want.SHA256 {
			return fmt.Errorf("%s is not what was written (%d bytes, SHA-256 %s; it should be %d bytes, %s): take another backup", name, got.Size, got.SHA256, want.Size, want.SHA256)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("backup %s: %w", folder, err)
	}
	for name := range listed {
		return nil, fmt.Errorf("backup %s: %s is missing: take another backup", folder, name)
	}
	return m, nil
}

// load reads the list and checks its format.
func load(folder string) (*Manifest, error) {
	f, err := os.Open(filepath.Join(folder, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no finished backup: it has no %s; name a folder that `mintlake backup` wrote", folder, Name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the backup's list: %w", err)
	}
	defer func() { _ = f.Close() }()
	m := new(Manifest)
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(m); err != nil {
		return nil, fmt.Errorf("backup %s: %s cannot be read: %w", folder, Name, err)
	}
	if m.Format != format {
		return nil, fmt.Errorf("backup %s has format %d, this version reads %d: restore it with mintlake %s", folder, m.Format, format, m.Version)
	}
	return m, nil
}

// walk visits all files of the folder, in the order of their names, except the list and what a
// killed Write left of it. It returns an error for anything that is not a regular file or a folder.
func walk(ctx context.Context, folder string, visit func(name string) error) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir(), name == Name, strings.HasPrefix(name, Name+"."):
			return nil // a name that begins with Name+"." is a list that a killed Write left
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is no plain file", path)
		}
		return visit(filepath.ToSlash(name))
	})
}

// describe returns the size and hash of a file, without its name. With sync it also syncs the file.
func describe(path string, sync bool, count func(int64)) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	size, err := io.Copy(meter.Writer{Writer: hash, Count: count}, f)
	if err == nil && sync {
		err = f.Sync()
	}
	if err != nil {
		return File{}, err
	}
	return File{Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

// CopyFile copies a file with its modification time and syncs it. The file to must not exist yet;
// missing folders above it are created.
func CopyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime())); err != nil {
		return errors.Join(err, os.Remove(to)) // so that another attempt can create it
	}
	return nil
}
