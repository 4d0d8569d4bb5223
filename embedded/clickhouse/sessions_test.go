package chengine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

// in returns the URL parameters of a session, and more.
func in(session string, more ...string) []string {
	return append([]string{"session_id", session}, more...)
}

func TestSessionKeepsSettingsAndDatabase(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	mine, other := in(t.Name()), in(t.Name()+"2")
	for _, statement := range []string{"SET max_block_size = 777, join_use_nulls = 1", "SET final", "USE system"} {
		require.Equal(t, 200, curl(t, addr, "", statement, mine...).status, statement)
	}
	state := "SELECT getSetting('max_block_size') = 777, getSetting('join_use_nulls'), getSetting('final'), currentDatabase()"
	for range 20 { // on whichever connection
		require.Equal(t, "1\ttrue\ttrue\tsystem\n", curl(t, addr, "", state, mine...).body)
		require.Equal(t, "0\tfalse\tfalse\tdefault\n", curl(t, addr, "", state, other...).body)
		require.Equal(t, "0\tfalse\tfalse\tdefault\n", curl(t, addr, "", state).body)
	}
	// What the URL says is for one request.
	require.Equal(t, "0\ttrue\ttrue\tdefault\n", curl(t, addr, "", state, in(t.Name(), "max_block_size", "5", "database", "default")...).body)
	require.Equal(t, 200, curl(t, addr, "", "SET max_block_size = DEFAULT", mine...).status)
	require.Equal(t, "0\ttrue\ttrue\tsystem\n", curl(t, addr, "", state, mine...).body)
	require.Equal(t, 115, codeOf(curl(t, addr, "", "SET no_such_setting = 1", mine...)))
	require.Equal(t, 48, codeOf(curl(t, addr, "", "SET param_a = 1", mine...)))
	require.Equal(t, 36, codeOf(curl(t, addr, "", fmt.Sprintf("SET format_csv_null_representation = '%070000d'", 0), mine...)), "settings are bounded")
}

func TestSessionKeepsTemporaryTables(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	mine := in(t.Name())
	for _, statement := range []string{"CREATE TEMPORARY TABLE tt (a Int8, s String)", "INSERT INTO tt VALUES (1, 'x')", "INSERT INTO tt FORMAT TSV\n2\ty\n"} {
		a := curl(t, addr, "", statement, mine...)
		require.Equal(t, 200, a.status, a.body)
	}
	require.Equal(t, "3\n", curl(t, addr, "SELECT sum(a) FROM tt", "", mine...).body)
	for range 10 {
		require.Equal(t, 60, codeOf(curl(t, addr, "SELECT sum(a) FROM tt", "")))
		require.Equal(t, 60, codeOf(curl(t, addr, "SELECT sum(a) FROM tt", "", in("another")...)))
	}
	require.Equal(t, "3\n", curl(t, addr, "SELECT sum(a) FROM tt", "", in(t.Name(), "close_session", "1")...).body)
	require.Equal(t, 372, codeOf(curl(t, addr, "SELECT 1", "", in(t.Name(), "session_check", "1")...)))
	require.Equal(t, 60, codeOf(curl(t, addr, "SELECT sum(a) FROM tt", "", mine...)), "a new session has not the old one's tables")
	// Without a session the table ends with the request.
	for range 20 {
		require.Equal(t, 200, curl(t, addr, "", "CREATE /* */ TEMPORARY TABLE gone (a Int8)").status)
		require.Equal(t, 60, codeOf(curl(t, addr, "SELECT * FROM gone", "")))
	}
	require.Equal(t, "0\n", curl(t, addr, "SELECT count() FROM system.tables WHERE is_temporary", "").body)
}

func TestSessionsAreLockedAndEnd(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	mine := in(t.Name())
	require.Equal(t, 200, curl(t, addr, "SELECT 1", "", mine...).status)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// the other request may come first
		for curl(t, addr, "SELECT sleep(2)", "", mine...).status != 200 {
		}
	}()
	require.Eventually(t, func() bool { return codeOf(curl(t, addr, "SELECT 1", "", mine...)) == 373 }, time.Minute, time.Millisecond)
	<-done
	require.Equal(t, 200, curl(t, addr, "SELECT 1", "", mine...).status)

	require.Equal(t, 374, codeOf(curl(t, addr, "SELECT 1", "", in("x", "session_timeout", "3601")...)))
	require.Equal(t, 374, codeOf(curl(t, addr, "SELECT 1", "", in("x", "session_timeout", "-1")...)))
	require.Equal(t, 372, codeOf(curl(t, addr, "SELECT 1", "", in("nobody's", "session_check", "1")...)))
	require.Equal(t, 200, curl(t, addr, "", "CREATE TEMPORARY TABLE short (a Int8)", in("short", "session_timeout", "1")...).status)
	require.Eventually(t, func() bool {
		return codeOf(curl(t, addr, "SELECT 1", "", in("short", "session_check", "1", "session_timeout", "0")...)) == 372
	}, time.Minute, 1500*time.Millisecond)
}

// TestSessionsLeaveRoom: sessions with temporary tables are bounded, and however many there are,
// everybody else is served.
func TestSessionsLeaveRoom(t *testing.T) {
	r := start(t, chengine.Config{}.WithConnections(1))
	refused := 0
	for i := range 20 {
		a := curl(t, r.Addr(), "", "CREATE TEMPORARY TABLE tt (a Int8)", in(fmt.Sprint(i))...)
		if a.status != 200 {
			require.Equal(t, 202, codeOf(a), a.body)
			refused++
		}
		require.Equal(t, "1\n", curl(t, r.Addr(), "SELECT 1", "").body)
	}
	require.Equal(t, 4, refused)
	require.Equal(t, 200, curl(t, r.Addr(), "SELECT 1", "", in("0", "close_session", "1")...).status)
	require.Equal(t, 200, curl(t, r.Addr(), "", "CREATE TEMPORARY TABLE tt (a Int8)", in("19")...).status)
	for i := range 1100 {
		if a := curl(t, r.Addr(), "SELECT 1", "", in(fmt.Sprint("light", i), "session_timeout", "600")...); a.status != 200 {
			require.Equal(t, 700, codeOf(a))
			require.Greater(t, i, 900)
			return
		}
	}
	t.Fatal("sessions are not bounded")
}
