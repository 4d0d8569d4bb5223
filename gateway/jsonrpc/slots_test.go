package jsonrpc

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A slot that no chain can have reached is believed of nobody, not of the only upstream either.
func TestASlotOfNoChainIsNotBelieved(t *testing.T) {
	p, err := newPool(Config{Upstreams: []string{"http://127.0.0.1:1"}, probeInterval: time.Hour, MaxLagSlots: 25}, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	u := p.upstreams[0]
	said := func(slot uint64) {
		require.NoError(t, u.learnPoll([]polled{{ID: json.RawMessage(pollSlot + processed.String() + `"`), Result: fmt.Append(nil, slot)}}, time.Now()))
	}
	said(470_000_000)
	for _, slot := range []uint64{math.MaxUint64 - 1, 1 << 53, 1e10} {
		require.False(t, p.believes(u, processed, slot))
		said(slot)
		require.EqualValues(t, 470_000_000, p.highest(processed))
	}
	require.True(t, p.believes(u, processed, 470_000_001))
}
