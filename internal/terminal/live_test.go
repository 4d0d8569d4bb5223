package terminal

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines of the log stand above the live line, which is there again behind them.
func TestTheLiveLineStaysBelow(t *testing.T) {
	var out bytes.Buffer
	live := &Live{w: &out, width: func() int { return 12 }}
	fmt.Fprintln(live, "first")
	live.Show("slot 1")
	fmt.Fprintln(live, "second")
	live.Show("slot 2 and more than fits")
	live.Show("")
	fmt.Fprintln(live, "last")
	require.Equal(t, "first\n"+eraseLine+"slot 1"+eraseLine+"second\nslot 1"+eraseLine+"slot 2 and…"+eraseLine+"last\n", out.String())
}

func TestWithoutATerminalThereIsNoLiveLine(t *testing.T) {
	var out bytes.Buffer
	live := NewLive(&out)
	require.False(t, live.Lives())
	live.Show("slot 1")
	fmt.Fprintln(live, "a line")
	require.Equal(t, "a line\n", out.String())
}
