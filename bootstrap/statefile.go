package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mintlake/mintlake/internal/durable"
)

// StateFile is a small JSON file that survives a kill: Load finds the whole state that was saved
// last.
type StateFile struct{ path string }

// NewStateFile names a file; its folder must exist by the time of Save.
func NewStateFile(path string) *StateFile { return &StateFile{path: path} }

// Path returns the path of the file.
func (f *StateFile) Path() string { return f.path }

// Load reads the state into into and reports whether there was one.
func (f *StateFile) Load(into any) (found bool, err error) {
	raw, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read progress: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("progress in %s is damaged: %w: begin anew with --restart", f.path, err)
	}
	return true, nil
}

// CheckLog returns an error if the state is of another log. saved is the log that the state names,
// and log the one that is written to, both by the cluster id of their Kafka. An empty id is not
// known, since earlier versions noted none, and is no error.
func (f *StateFile) CheckLog(saved, log string) error {
	if saved == "" || log == "" || saved == log {
		return nil
	}
	return fmt.Errorf("progress in %s is of the Kafka cluster %q, and this one is %q: begin anew with --restart", f.path, saved, log)
}

// Save replaces the state. When it returns nil the new state is on disk, whatever happens next.
func (f *StateFile) Save(state any) error {
	raw, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode progress: %w", err)
	}
	if err := durable.Replace(f.path, raw); err != nil {
		return fmt.Errorf("save progress: %w", err)
	}
	return nil
}

// Remove forgets the state.
func (f *StateFile) Remove() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove progress: %w", err)
	}
	return nil
}
