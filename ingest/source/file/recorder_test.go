package file

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

func TestRecorderIsReadBackAlsoWhenKilled(t *testing.T) {
	c := sourcetest.NewChain(1000, 10)
	var out bytes.Buffer
	r, err := NewRecorder(&out)
	require.NoError(t, err)
	for i, b := range c {
		require.NoError(t, r.Write(update(t, b.Update())))
		if i == 7 {
			require.NoError(t, r.Flush())
		}
	}
	killed := bytes.Clone(out.Bytes())
	require.NoError(t, r.Close())

	sink := &sourcetest.Sink{}
	s := open(t, Config{Paths: []string{"x"}})
	require.NoError(t, s.recording(t.Context(), &out, s.player(sink, &pacer{})))
	sourcetest.RequireChain(t, c, sink.Blocks())

	sink = &sourcetest.Sink{}
	require.Error(t, s.recording(t.Context(), bytes.NewReader(killed), s.player(sink, &pacer{})), "it says that it is cut short")
	sourcetest.RequireChain(t, c[:8], sink.Blocks())
}
