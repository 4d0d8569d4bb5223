package counters_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/counters"
)

func TestPresetMakesEveryCombination(t *testing.T) {
	vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "x_total", Help: "Counts."}, []string{"a", "b"})
	counters.Preset(vector, []string{"1", "2"}, []string{"p", "q", "r"})
	require.Equal(t, 6, testutil.CollectAndCount(vector))
	require.Zero(t, testutil.ToFloat64(vector.WithLabelValues("2", "r")))
	require.Equal(t, 6, testutil.CollectAndCount(vector), "2, r was there")
	require.Panics(t, func() { counters.Preset(vector, []string{"1"}) })
}
