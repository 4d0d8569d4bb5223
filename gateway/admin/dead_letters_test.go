package admin

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// letters has one of a record and one of an input; further replays fail in each way.
type letters struct{}

func (letters) List(_ context.Context, last int64) ([]deadletter.Letter, error) {
	all := []deadletter.Letter{
		{Offset: 3, DeadLetter: &eventspb.DeadLetter{Source: "projector", Reason: "<b>", Topic: "chain.swaps.v1", Partition: 1, Offset: 9, Key: []byte{0xff}}},
		{Offset: 4, DeadLetter: &eventspb.DeadLetter{Source: "ingest", Key: []byte("file")}},
	}
	return all[max(0, 2-last):], nil
}

func (l letters) Replay(ctx context.Context, partition int, offset int64) (*deadletter.Letter, error) {
	switch {
	case partition != 0:
		return nil, deadletter.ErrNoLetter
	case offset == 4:
		return nil, deadletter.ErrNoRecord
	case offset == 5:
		return nil, deadletter.ErrGone
	case offset == 6:
		return nil, errors.New("away")
	}
	all, err := l.List(ctx, 2)
	return &all[0], err
}

func TestDeadLetters(t *testing.T) {
	f := start(t, Config{})
	status, answer := f.do(http.MethodGet, "/v1/dead-letters", "")
	require.Equal(t, http.StatusOK, status)
	list := answer["dead_letters"].([]any)
	require.Equal(t, map[string]any{"topic": "chain.swaps.v1", "partition": 1.0, "offset": 9.0}, list[0].(map[string]any)["record"])
	require.NotContains(t, list[1], "record")
	_, answer = f.do(http.MethodGet, "/v1/dead-letters?limit=1", "")
	require.Len(t, answer["dead_letters"], 1)
	for path, want := range map[string]int{
		"/v1/dead-letters/0/3/replay": http.StatusOK, "/v1/dead-letters/0/4/replay": http.StatusGone, "/v1/dead-letters/0/5/replay": http.StatusGone,
		"/v1/dead-letters/1/3/replay": http.StatusNotFound, "/v1/dead-letters/0/6/replay": http.StatusServiceUnavailable, "/v1/dead-letters/0/-6/replay": http.StatusBadRequest,
	} {
		status, _ = f.do(http.MethodPost, path, "{}")
		require.Equal(t, want, status, path)
	}
	require.Contains(t, f.log.String(), "dead letter replayed")
}
