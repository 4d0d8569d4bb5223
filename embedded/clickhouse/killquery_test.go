package chengine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

// TestKillQuery: KILL QUERY ends a query by the id that system.processes tells, as the runbook of
// MintlakeClickHouseAway says. The id that its client gave it is not known.
func TestKillQuery(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	over := make(chan answer, 1)
	go func() {
		over <- curl(t, addr, "SELECT 'endless', max(number) FROM system.numbers", "", "query_id", "of-the-client")
	}()
	var id string
	require.Eventually(t, func() bool {
		id = strings.TrimSpace(curl(t, addr, "SELECT query_id FROM system.processes WHERE query LIKE 'SELECT ''endless''%'", "").body)
		return id != ""
	}, time.Minute, time.Millisecond)
	require.NotEqual(t, "of-the-client", id)
	a := curl(t, addr, "", "KILL QUERY WHERE query_id = 'of-the-client'")
	require.Equal(t, answer{200, "", a.header}, a)
	a = curl(t, addr, "", "KILL QUERY WHERE query_id = '"+id+"'")
	require.Equal(t, 200, a.status, a.body)
	require.Equal(t, 394, codeOf(<-over))
}
