package pause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTurn(t *testing.T) {
	var endless Turn
	endless.Next()
	require.Zero(t, endless.began)

	turn := NewTurn(time.Millisecond)
	began := turn.began
	turn.Next()
	require.True(t, turn.began.Equal(began) || time.Since(began) >= time.Millisecond, "it is not over")
	time.Sleep(time.Millisecond)
	turn.Next()
	require.True(t, turn.began.After(began))
}
