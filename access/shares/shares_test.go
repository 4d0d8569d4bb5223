package shares

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFloodLeavesRoomForOthers: whatever some clients ask for, another one finds a place.
func TestAFloodLeavesRoomForOthers(t *testing.T) {
	all, own := errors.New("all"), errors.New("own")
	c := New(Dynamic(512, all, own))
	flood := func(client string) (taken int) {
		for c.Take(client) == nil {
			taken++
		}
		return taken
	}
	require.Equal(t, 256, flood("one"), "half of all for one alone")
	require.Equal(t, 128, flood("two"))
	for i := range 5 {
		require.NotZero(t, flood(strconv.Itoa(i)))
	}
	require.ErrorIs(t, c.Take("one"), own)
	for i := 0; c.Taken() < 512; i++ {
		require.NoError(t, c.Take("many "+strconv.Itoa(i)))
	}
	require.ErrorIs(t, c.Take("another"), all)
	for range 256 {
		c.Give("one")
	}
	require.Positive(t, flood("one"))
	for client, n := range c.of {
		for range n {
			c.Give(client)
		}
	}
	require.Empty(t, c.of)
	require.Zero(t, c.Taken())
}
