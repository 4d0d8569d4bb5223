package kafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestABatchIsBoundedInBytes: a batch of large records ends before it has its number of them, and
// the next one goes on where it ended.
func TestABatchIsBoundedInBytes(t *testing.T) {
	const records, size = 100, 1 << 20
	in := &intake{ch: make(chan delivery), current: func(int64) bool { return true }, ended: make(chan struct{}), why: func() error { return ErrClosed }}
	go func() {
		defer close(in.ended)
		for offset := int64(0); offset < records; offset += 2 { // a fetch has two
			value := make([]byte, size)
			in.ch <- delivery{records: []Record{{Offset: offset, Value: value}, {Offset: offset + 1, Value: value}}}
		}
	}()
	for next := int64(0); next < records; {
		batch, err := in.collect(t.Context(), 20_000, time.Minute)
		require.NoError(t, err)
		require.LessOrEqual(t, len(batch), maxBatchBytes/size)
		require.Equal(t, len(batch) == maxBatchBytes/size, Full(batch, 20_000))
		require.True(t, Full(batch, len(batch)))
		for i := range batch {
			require.Equal(t, next, batch[i].Offset)
			next++
		}
	}
	_, err := in.collect(t.Context(), 20_000, time.Minute)
	require.ErrorIs(t, err, ErrClosed)
}
