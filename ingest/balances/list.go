package balances

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxListed bounds the mints of a list: 32 bytes each in a map.
const maxListed = 1_000_000

// ReadList returns the mints of a file: one a line in base58, with comments behind #.
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
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		mint, err := pubkey.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if mints[mint] = struct{}{}; len(mints) > maxListed {
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
