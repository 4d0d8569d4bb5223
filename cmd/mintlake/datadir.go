package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/internal/datadir"
)

// dataPath is name in the data folder, which it claims first: every command that writes there asks
// here, so that none of them writes into somebody else's folder.
func (c *Config) dataPath(name string) (string, error) {
	if err := datadir.Claim(c.DataDir); err != nil {
		return "", err
	}
	if name != restoreFolder {
		if _, err := os.Stat(filepath.Join(c.DataDir, restoreFolder)); err == nil {
			return "", fmt.Errorf("a restore into %s was interrupted: run mintlake restore again, or name another folder with --data-dir", c.DataDir)
		}
	}
	return filepath.Join(c.DataDir, name), nil
}
