package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReportIsATableAndJSON(t *testing.T) {
	t.Setenv("BENCH_OUT", t.TempDir())
	r := New("bench-x")
	r.Add(Figure{Name: "search", Value: 30, Unit: "requests/s", Peer: "constant handler", PeerValue: 40, Goal: ">= 0.5", Met: true})
	r.Add(Figure{Name: "batch", Value: 11, Unit: "ms", Goal: "<= 10"})
	require.Equal(t, 1, r.Missed())
	var table strings.Builder
	require.NoError(t, r.WriteTable(&table))
	require.Regexp(t, `search +30\.0 requests/s +constant handler 40\.0 +0\.750 +>= 0\.5: met`, table.String())
	require.Regexp(t, `batch +11\.0 ms +<= 10: MISSED`, table.String())
	require.NoError(t, r.Write())
	text, err := os.ReadFile(filepath.Join(os.Getenv("BENCH_OUT"), "bench-x.json"))
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, *r, back)
	require.InDelta(t, 0.75, back.Figures[0].Ratio, 1e-9)
	require.NotEmpty(t, back.Commit)
	require.Positive(t, back.Machine.Cores)
}
