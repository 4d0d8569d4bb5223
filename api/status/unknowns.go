package status

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

const (
	// maxUnknowns bounds the unknowns in the document.
	maxUnknowns = 100
	// unknownsRead bounds how many of the last records of each partition are read at the start. A
	// process writes a record when it meets something new, and six an hour about what it meets
	// often.
	unknownsRead = 100_000
	// unknownsBatch and unknownsWait bound a fetch: in records, and in the time that it waits for
	// more of them.
	unknownsBatch = 1000
	unknownsWait  = 20 * time.Millisecond
)

// OpenTail reads topics from start on.
type OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)

// sideTopics returns the topics that are read only for the document: about what processes do not
// know, which validator's snapshot filled the log, and how far the walk over missing documents is.
func sideTopics() []string { return []string{schemas.TopicUnknowns, schemas.TopicIdentity} }

// ReadUnknowns reads registry.unknowns.v1, and of chain.identity.v1 the records about snapshots and
// about the walk over missing documents. It reads until ctx ends; then it returns nil. After an
// error it goes on where it was.
func (c *Collector) ReadUnknowns(ctx context.Context, open OpenTail) error {
	var next map[kafka.TopicPartition]int64 // where to go on
	kafka.Follow(ctx, func() (kafka.TailReader, error) {
		if next == nil {
			ends, err := c.offsets.EndOffsets(ctx, sideTopics())
			if err != nil {
				return nil, fmt.Errorf("read end offsets: %w", err)
			}
			for tp, end := range ends {
				ends[tp] = max(0, end-unknownsRead) // a tail skips expired offsets
			}
			next = ends
		}
		return open(sideTopics(), maps.Clone(next))
	}, unknownsBatch, unknownsWait, func(records []kafka.Record) {
		for i := range records {
			if records[i].Topic == schemas.TopicIdentity {
				c.snapshot.add(&records[i])
				c.documents.add(&records[i])
			} else {
				c.unknowns.Add(records[i].Value)
			}
			next[records[i].TopicPartition()] = records[i].Offset + 1
		}
	}, func(err error) {
		c.logger.Warn("unknowns are not read, trying again", "topic", schemas.TopicUnknowns, "err", err)
	})
	return nil
}
