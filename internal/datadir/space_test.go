package datadir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/datadir"
)

func TestReserve(t *testing.T) {
	require.Equal(t, uint64(5<<20), datadir.Reserve(100<<20))
	require.Equal(t, uint64(512<<20), datadir.Reserve(1<<40))
	require.Zero(t, datadir.Reserve(0))
}
