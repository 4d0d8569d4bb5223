package chtest_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func TestStart(t *testing.T) {
	conn, dsn := chtest.Start(t) // an empty database of this test, on the package's engine
	require.NoError(t, conn.Ping(t.Context()))
	require.Contains(t, dsn, "http://")
}
