package kafka

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/meter"
)

// CopyGroups copies the committed offsets of all consumer groups from the data folder path to the
// data folder to. A broker may be running on path. Call CopyGroups first, then copy what the
// offsets refer to, and call CopyLog last: then readers of the copy read some records again, and
// skip none.
func CopyGroups(path, to string) error {
	if _, err := os.Stat(filepath.Join(path, markerName)); err != nil {
		return fmt.Errorf("embedded kafka: %s holds no log: %w", path, err)
	}
	if pending, err := segments.ReadPending(path); err != nil || pending != nil {
		return &StartError{Reason: ErrRepairPending, Where: path, Cause: err, Do: repairCommand(path)}
	}
	return segments.CopyGroups(path, to)
}

// CopyLog copies the records of the data folder path to the data folder to. It begins with the
// topic whose name is first. A broker may be running on path. The copy is checked as at a broker's
// start, and is ready for a broker.
func CopyLog(ctx context.Context, path, to, first string, progress meter.Meter) error {
	if err := segments.Copy(ctx, path, to, first, progress); err != nil {
		return err
	}
	report, err := segments.Check(to, progress)
	if err != nil {
		return fmt.Errorf("embedded kafka: check the copy: %w", err)
	}
	if err := refuseDamage(path, report); err != nil {
		return err
	}
	if err := report.Prepare(to); err != nil {
		return fmt.Errorf("embedded kafka: %w", err)
	}
	// Readers lock this file, but do not create it: see inspect.
	if err := os.WriteFile(filepath.Join(to, lockName), nil, 0o600); err != nil {
		return fmt.Errorf("embedded kafka: %w", err)
	}
	return writeMarker(to)
}
