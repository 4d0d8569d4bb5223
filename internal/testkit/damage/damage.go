// Package damage damages files as disks, people and crashes do: it flips a bit, cuts a file, writes
// zeros into it, or deletes it.
//
// In: a folder and a source of random numbers. Out: one act of damage, which describes itself in
// words. Guarantees: the same folder and the same seed give the same act, so a test that prints its
// seed can be repeated.
package damage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Kind is what is done to a file.
type Kind string

// The kinds of acts.
const (
	// Flip changes one bit.
	Flip Kind = "flip"
	// Cut removes the file's end.
	Cut Kind = "cut"
	// Delete removes the file.
	Delete Kind = "delete"
	// Zero overwrites up to a page with zeros.
	Zero Kind = "zero"
)

// Act is one act on one file.
type Act struct {
	Kind Kind
	// File is relative to the folder.
	File string
	// Position is the first byte that is changed; for Cut it is the size that is left.
	Position int64
	// Bit is the bit that Flip flips, 0 to 7. Bytes is how many bytes Zero writes.
	Bit   uint8
	Bytes int64
}

// pageBytes is the most that Zero overwrites.
const pageBytes = 4096

// String describes the act, for the log of a test.
func (a Act) String() string {
	switch a.Kind {
	case Flip:
		return fmt.Sprintf("flip bit %d of byte %d of %s", a.Bit, a.Position, a.File)
	case Cut:
		return fmt.Sprintf("cut %s to %d bytes", a.File, a.Position)
	case Zero:
		return fmt.Sprintf("zero %d bytes at %d of %s", a.Bytes, a.Position, a.File)
	case Delete:
		return "delete " + a.File
	}
	return "nothing"
}

// ErrNothing is returned for a folder without a file that could be damaged.
var ErrNothing = errors.New("no file to damage")

// Random chooses an act on a file of the folder for which allowed returns true (nil allows all).
// Half of the acts choose a file in proportion to its size, so that all bytes are equally likely.
// The other half choose among the files with equal chances, so that small files are damaged too.
func Random(rng *rand.Rand, root string, allowed func(file string) bool) (Act, error) {
	type sized struct {
		name string
		size int64
	}
	var files []sized
	total := int64(0)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || allowed != nil && !allowed(name) {
			return err
		}
		files = append(files, sized{name, info.Size()})
		total += info.Size()
		return nil
	})
	if err != nil {
		return Act{}, fmt.Errorf("look for files to damage: %w", err)
	}
	if len(files) == 0 {
		return Act{}, ErrNothing
	}
	slices.SortFunc(files, func(a, b sized) int { return cmp.Compare(a.name, b.name) })
	chosen := files[rng.IntN(len(files))]
	if rng.IntN(2) == 0 && total > 0 {
		at := rng.Int64N(total)
		for _, f := range files {
			if at < f.size {
				chosen = f
				break
			}
			at -= f.size
		}
	}
	kinds := []Kind{Flip, Flip, Cut, Zero, Delete} // flips are twice as likely
	act := Act{Kind: kinds[rng.IntN(len(kinds))], File: chosen.name}
	if chosen.size == 0 {
		act.Kind = Delete
	}
	if act.Kind != Delete {
		act.Position, act.Bit = rng.Int64N(chosen.size), uint8(rng.IntN(8))
	}
	if act.Kind == Zero {
		act.Bytes = min(1+rng.Int64N(pageBytes), chosen.size-act.Position)
	}
	return act, nil
}

// Do damages the file.
func (a Act) Do(root string) error {
	name := filepath.Join(root, a.File)
	if err := a.do(name); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	return nil
}

func (a Act) do(name string) error {
	switch a.Kind {
	case Delete:
		return os.Remove(name)
	case Cut:
		return os.Truncate(name, a.Position)
	case Flip, Zero:
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, max(a.Bytes, 1))
	if a.Kind == Flip {
		if _, err := f.ReadAt(data, a.Position); err != nil {
			return err
		}
		data[0] ^= 1 << a.Bit
	}
	_, err = f.WriteAt(data, a.Position)
	return errors.Join(err, f.Close())
}
