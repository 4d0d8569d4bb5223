package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireReplayed: swaps of each venue were computed again from the stream, to the unit.
func requireReplayed(t *testing.T, up *instance, venues map[string]int) {
	t.Helper()
	type venueState struct {
		Venue, Status string
		Build         *struct {
			Mismatches int
			Kinds      []struct{ Matches int }
		}
	}
	var list struct{ Venues []venueState }
	until(t, func() bool {
		response, err := http.Get(up.addresses["swap"] + "/api/v2/venues")
		require.NoError(t, err)
		defer response.Body.Close()
		require.NoError(t, json.NewDecoder(response.Body).Decode(&list))
		replayed := 0
		for _, v := range list.Venues {
			if venues[v.Venue] > 0 && v.Build != nil && len(v.Build.Kinds) > 0 {
				replayed++
			}
		}
		return replayed == len(venues)
	}, 200*time.Millisecond, "%+v", list)
	for _, v := range list.Venues {
		if venues[v.Venue] > 0 {
			require.Equal(t, "proved", v.Status, "%+v", v)
			require.Zero(t, v.Build.Mismatches, "%+v", v)
		}
	}
}
