package segments

import (
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/internal/durable"
)

// keepEnd writes the only segment of a partition whose records have all expired, and returns its
// file. The segment has one batch without records, at the last offset that was used, end - 1.
//
// kfake finds the end of a partition by its batches alone. Without this batch it would use the
// offsets from 0 on again after a restart, and readers would skip the new records up to the offsets
// that they have committed. The partition starts behind the batch, so nobody reads it.
func keepEnd(broker string, k key, end int64) (file, error) {
	name := k.path(broker, end-1, dataSuffix)
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return file{}, err
	}
	batch := newBatch(end-1, 0, 0, 0, nil)
	if err := durable.Replace(name, batch); err != nil {
		return file{}, err
	}
	return file{base: end - 1, size: int64(len(batch))}, nil
}
