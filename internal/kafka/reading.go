package kafka

import (
	"context"
	"errors"
	"time"
)

// Covers reports whether positions have reached the end of every partition.
func Covers(positions, ends map[TopicPartition]int64) bool {
	for partition, end := range ends {
		if positions[partition] < end {
			return false
		}
	}
	return true
}

// Bounds returns for each partition of topics the offset of its first record (starts), and the
// offset that the next record gets (ends).
func Bounds(ctx context.Context, offsets Offsets, topics ...string) (starts, ends map[TopicPartition]int64, err error) {
	if starts, err = offsets.StartOffsets(ctx, topics); err == nil {
		ends, err = offsets.EndOffsets(ctx, topics)
	}
	return starts, ends, err
}

// gatherWait is how long ReadTo waits for more records after the first of a batch.
const gatherWait = 10 * time.Millisecond

// ReadTo visits records in batches of at most limit records, until all records before ends are
// visited. at has the offsets where tail begins. ReadTo moves them past each batch that was
// visited. The last batches may also have records from ends on.
func ReadTo(ctx context.Context, tail TailReader, at, ends map[TopicPartition]int64, limit int, visit func([]Record) error) error {
	for !Covers(at, ends) {
		records, err := tail.FetchBatch(ctx, limit, gatherWait)
		if err != nil {
			return err
		}
		if err := visit(records); err != nil {
			return err
		}
		for i := range records {
			at[records[i].TopicPartition()] = records[i].Offset + 1
		}
	}
	return nil
}

// FetchWithin is TailReader.FetchBatch, except that it returns neither records nor an error if no
// record comes within quiet.
func FetchWithin(ctx context.Context, tail TailReader, limit int, wait, quiet time.Duration) ([]Record, error) {
	within, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	records, err := tail.FetchBatch(within, limit, wait)
	if err != nil && ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded) {
		return nil, nil
	}
	return records, err
}

// Follow visits records in batches of at most limit records, until ctx ends. If reading fails, it
// calls lost with the error, pauses, and opens a new tail. The pause doubles with each failure in a
// row, from 50 ms to 1 s.
func Follow(ctx context.Context, open func() (TailReader, error), limit int, wait time.Duration, visit func([]Record), lost func(error)) {
	var delays backoff
	read := func() error {
		tail, err := open()
		if err != nil {
			return err
		}
		defer tail.Close()
		for {
			records, err := tail.FetchBatch(ctx, limit, wait)
			if err != nil {
				return err
			}
			delays.reset()
			visit(records)
		}
	}
	for {
		err := read()
		if ctx.Err() != nil {
			return
		}
		if lost(err); !delays.wait(ctx) {
			return
		}
	}
}
