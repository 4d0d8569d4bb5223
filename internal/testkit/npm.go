package testkit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// NodePackages installs the packages of a folder of tools with npm, as its package-lock.json says,
// unless they are there. Test binaries that run at the same time install them once.
func NodePackages(folder string) error {
	lock, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", folder, err)
	}
	// npm writes this file when all packages are there.
	if _, err := os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json")); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "../retry.sh", "npm", "ci")
	npm.Dir = folder
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w: %s", folder, err, out)
	}
	return nil
}
