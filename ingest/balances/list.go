package balances

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxListed bounds the mints of a list: 32 bytes each in a map.
const maxListed = 1_000_000

// ReadList returns the mints of a file: one a line in base58, with comments behind #. The error
// wraps fs.ErrNotExist if there is no such file.
func ReadList(name string) (map[pubkey.Key]struct{}, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("balances.mints: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	mints, err := parseList(file)
	if err != nil {
		return nil, fmt.Errorf("balances.mints: %s: %w", name, err)
	}
	return mints, nil
}

func parseList(from io.Reader) (map[pubkey.Key]struct{}, error) {
	mints := map[pubkey.Key]struct{}{}
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		mint, err := mintOfLine(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if mint == nil {
			continue
		}
		if mints[*mint] = struct{}{}; len(mints) > maxListed {
			return nil, fmt.Errorf("line %d: more than %d mints; use balances.mode all", number, maxListed)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if len(mints) == 0 {
		return nil, fmt.Errorf("has no mint")
	}
	return mints, nil
}

// Grown is what GrowList did: the mints of the file, and how many of them are new or gone.
type Grown struct{ Mints, New, Gone int }

// GrowList adds mints to a file for ReadList. The file may not exist yet. Its comments stay. If
// drop is true, GrowList removes the lines of all other mints. It replaces the file only if the set
// of mints changes, because after a change every mint is incomplete until its accounts are read
// again.
func GrowList(name string, mints []pubkey.Key, drop bool) (Grown, error) {
	old, err := ReadList(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Grown{}, err
	}
	wanted := map[pubkey.Key]struct{}{}
	if !drop {
		maps.Copy(wanted, old)
	}
	for _, mint := range mints {
		wanted[mint] = struct{}{}
	}
	grown := Grown{Mints: len(wanted)}
	for mint := range wanted {
		if _, ok := old[mint]; !ok {
			grown.New++
		}
	}
	grown.Gone = len(old) + grown.New - len(wanted)
	switch {
	case len(wanted) == 0:
		return Grown{}, errors.New("no mint: ingest needs one at least")
	case len(wanted) > maxListed:
		return Grown{}, fmt.Errorf("%d mints: at most %d may be listed", len(wanted), maxListed)
	case grown.New == 0 && grown.Gone == 0:
		return grown, nil
	}
	text, err := listText(name, wanted)
	if err != nil {
		return Grown{}, err
	}
	if err := durable.Replace(name, []byte(text)); err != nil {
		return Grown{}, fmt.Errorf("write %s: %w", name, err)
	}
	return grown, nil
}

// listText returns the new text of a file: its lines without a mint or with a wanted mint, and then
// a line for each wanted mint that the file does not have.
func listText(name string, wanted map[pubkey.Key]struct{}) (string, error) {
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	var text strings.Builder
	missing := maps.Clone(wanted)
	for line := range strings.Lines(string(before)) {
		mint, err := mintOfLine(line)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err) // it was changed since ReadList
		}
		if mint != nil {
			if _, ok := wanted[*mint]; !ok {
				continue
			}
			delete(missing, *mint)
		}
		text.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, mint := range slices.SortedFunc(maps.Keys(missing), pubkey.Compare) {
		text.WriteString(mint.String() + "\n")
	}
	return text.String(), nil
}

// mintOfLine returns the mint of a line; nil if it has none.
func mintOfLine(line string) (*pubkey.Key, error) {
	text, _, _ := strings.Cut(line, "#")
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	mint, err := pubkey.Parse(text)
	return &mint, err
}
