package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/internal/datadir"
	"github.com/mintlake/mintlake/operate/backup"
)

// dataPath returns the path of name in the data folder, and claims the folder first. Every command
// that writes there must call it, so that none writes into a folder that is not Mintlake's, or into
// one whose restore was interrupted.
func (c *Config) dataPath(name string) (string, error) {
	if err := datadir.Claim(c.DataDir); err != nil {
		return "", err
	}
	if name != backup.RestoreFolder {
		if _, err := os.Stat(filepath.Join(c.DataDir, backup.RestoreFolder)); err == nil {
			return "", fmt.Errorf("a restore into %s was interrupted: run mintlake restore again, or name another folder with --data-dir", c.DataDir)
		}
	}
	return filepath.Join(c.DataDir, name), nil
}
