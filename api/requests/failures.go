package requests

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Failures finds out from the dead letters which mints enrichment has given up. No event says so,
// because a failure is no fact about a mint.
type Failures struct {
	// Open opens a reader of topics that begins at their present ends.
	Open func(ctx context.Context, topics []string) (kafka.TailReader, error)
	// Failed is called with each mint that was given up.
	Failed func(mint pubkey.Key)
	Logger *slog.Logger
}

// Run reads until ctx ends. After an error it opens the topic again, from its end on. It misses the
// mints that are given up in between: clients are still told that the request for such a mint is
// queued.
func (f *Failures) Run(ctx context.Context) error {
	open := func() (kafka.TailReader, error) { return f.Open(ctx, []string{schemas.TopicDeadLetters}) }
	kafka.Follow(ctx, open, letters, letterWait, func(records []kafka.Record) {
		for i := range records {
			if mint, ok := givenUp(records[i].Value); ok {
				f.Failed(mint)
			}
		}
	}, func(err error) {
		f.Logger.Warn("dead letters are not read, trying again", "topic", schemas.TopicDeadLetters, "err", err)
	})
	return nil
}

// letters and letterWait bound a fetch: in records, and in the time that it waits for more of them.
const (
	letters    = 100
	letterWait = 20 * time.Millisecond
)

// givenUp returns the mint of a dead letter about an enrichment request; false for any other dead
// letter.
func givenUp(value []byte) (mint pubkey.Key, ok bool) {
	letter, request := &eventspb.DeadLetter{}, &eventspb.EnrichmentRequest{}
	if proto.Unmarshal(value, letter) != nil || letter.GetTopic() != schemas.TopicEnrichmentRequests || proto.Unmarshal(letter.GetValue(), request) != nil {
		return mint, false
	}
	if len(request.GetMint()) != pubkey.Size {
		return mint, false
	}
	return pubkey.Key(request.GetMint()), true
}
