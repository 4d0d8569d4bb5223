package root

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
)

// list is a log in memory.
type list []kafka.Record

func (l list) Records(context.Context, []string) (int64, error) { return int64(len(l)), nil }

func (l list) Read(_ context.Context, _ []string, visit func(*kafka.Record)) error {
	for i := range l {
		visit(&l[i])
	}
	return nil
}

// TestASpilledLogHasTheSameRoot: in any number of parts, with records that cannot be read, and with
// retractions.
func TestASpilledLogHasTheSameRoot(t *testing.T) {
	log := list{{Topic: schemas.TopicTokenEvents, Value: []byte("\xff no event")}}
	add := func(topic string, m proto.Message) {
		value, err := proto.Marshal(m)
		require.NoError(t, err)
		log = append(log, kafka.Record{Topic: topic, Value: value})
	}
	for seed := range 20 {
		for _, m := range registrytest.Messages(40).Example(seed) {
			if m.Event != nil {
				add(schemas.TopicTokenEvents, m.Event)
			} else {
				add(schemas.TopicEnrichments, m.Enrichment)
			}
		}
	}
	for _, slot := range []uint64{3, root.EverySlot} {
		q := Query{AtSlot: slot, Log: log, Logger: slog.New(slog.DiscardHandler), Out: io.Discard, Folder: t.TempDir()}
		want, err := q.replay(t.Context())
		require.NoError(t, err)
		require.Positive(t, want.Tokens)
		for _, parts := range []int{1, 2, 7, 64} {
			got, err := q.replayParts(t.Context(), nil, parts)
			require.NoError(t, err)
			require.Equal(t, want, got, "%d parts", parts)
		}
	}
}
