package chengine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
)

// TestKeepFree: where less is free than must be, writes are refused with NOT_ENOUGH_SPACE, and
// reads are answered.
func TestKeepFree(t *testing.T) {
	r := start(t, chengine.Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0", KeepFree: 1 << 60})
	require.Equal(t, 200, curl(t, r.Addr(), "", "CREATE TABLE default.t (n UInt32) ENGINE = MergeTree ORDER BY n").status)
	require.Equal(t, 243, codeOf(curl(t, r.Addr(), "", "INSERT INTO default.t VALUES (1)")))
	require.Equal(t, "0\n", curl(t, r.Addr(), "SELECT count() FROM default.t", "").body)
}
