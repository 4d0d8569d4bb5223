package kafka

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/internal/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/meter"
)

// CopyGroups copies the consumer groups' commits of a data folder, on which a broker may run, to
// the data folder to. Call it before anything is copied that the commits speak of, and CopyLog
// after that: then the copy's readers read again what they may have seen, and skip nothing.
func CopyGroups(path, to string) error {
	if _, err := os.Stat(filepath.Join(path, markerName)); err != nil {
		return fmt.Errorf("embedded kafka: %s holds no log: %w", path, err)
	}
	if pending, err := segments.ReadPending(path); err != nil || pending != nil {
		return &StartError{Reason: ErrRepairPending, Where: path, Cause: err, Do: repairCommand(path)}
	}
	return segments.CopyGroups(path, to)
}

// CopyLog copies the records of a data folder, on which a broker may run, the topic first before
// the others. The copy is checked as a broker's start checks it, and is ready for a broker.
func CopyLog(ctx context.Context, path, to, first string, told meter.Meter) error {
	if err := segments.Copy(ctx, path, to, first, told); err != nil {
		return err
	}
	report, err := segments.Check(to, told)
	if err != nil {
		return fmt.Errorf("embedded kafka: check the copy: %w", err)
	}
	if err := refuseDamage(path, report); err != nil {
		return err
	}
	if err := report.Prepare(to, clusterID); err != nil {
		return fmt.Errorf("embedded kafka: %w", err)
	}
	// Whoever only reads locks the file and does not make it.
	if err := os.WriteFile(filepath.Join(to, lockName), nil, 0o600); err != nil {
		return fmt.Errorf("embedded kafka: %w", err)
	}
	return writeMarker(to)
}
