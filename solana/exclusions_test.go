package solana

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestAnExcludedEndpointIsNotAsked(t *testing.T) {
	wrong, wrongCalls := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"result":8`) })
	right, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"result":7`) })
	x := NewExclusions(prometheus.NewRegistry())
	c, err := NewClient(Config{Endpoints: []string{wrong.URL, right.URL}, firstPause: 1, MaxAttempts: 2}, Deps{Exclusions: x})
	require.NoError(t, err)
	x.Set(wrong.URL, true)
	x.Set(right.URL, false)
	require.Equal(t, 1.0, testutil.ToFloat64(x.gauge.WithLabelValues(Redact(wrong.URL))))
	require.Equal(t, 0.0, testutil.ToFloat64(x.gauge.WithLabelValues(Redact(right.URL))))
	for range 20 {
		slot, err := c.GetSlot(t.Context(), Confirmed)
		require.NoError(t, err)
		require.EqualValues(t, 7, slot)
	}
	x.Set(right.URL, true)
	_, err = c.GetSlot(t.Context(), Confirmed)
	require.ErrorIs(t, err, errExcluded)
	require.True(t, Retryable(err), "it may be taken back")
	err = c.ProgramAccounts(t.Context(), pubkey.Key{1}, ProgramOptions{}, func(pubkey.Key, []byte) error { return nil })
	require.ErrorIs(t, err, errExcluded)
	require.Zero(t, wrongCalls.Load())
	x.Set(wrong.URL, false)
	slot, err := c.GetSlot(t.Context(), Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 8, slot)
}

// TestTheLastEndpointThatIsLeftIsNotAskedWithoutPause: those that are excluded do not count as
// endpoints that may answer at once.
func TestTheLastEndpointThatIsLeftIsNotAskedWithoutPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewExclusions(nil)
		calls := 0
		c, err := NewClient(Config{Endpoints: []string{"http://a", "http://b", "http://c"}, MaxAttempts: 4, firstPause: time.Second}, Deps{Exclusions: x,
			HTTPClient: &http.Client{Transport: transport(func() *http.Response {
				calls++
				return respond(http.StatusServiceUnavailable, http.NoBody)
			})}})
		require.NoError(t, err)
		x.Set("http://a", true)
		x.Set("http://c", true)
		began := time.Now()
		_, err = c.GetSlot(t.Context(), Confirmed)
		require.Error(t, err)
		require.Equal(t, 4, calls)
		require.Greater(t, time.Since(began), time.Second)
	})
}
