package panics_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/panics"
)

func TestCatch(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	count := prometheus.NewCounter(prometheus.CounterOpts{Name: "panics_total", Help: "Panics."})
	work := func(index int) (result string) {
		defer panics.Catch(log, count, func() { result = "failed" })
		return []string{"done"}[index]
	}
	require.Equal(t, "done", work(0))
	require.Empty(t, out.String())
	require.Equal(t, "failed", work(1))
	require.EqualValues(t, 1, testutil.ToFloat64(count))
	require.Contains(t, out.String(), "index out of range")
	require.Contains(t, out.String(), "panics_test.go", "the stack is that of the panic")
}
