package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/usagetest"
)

// Streams of both forms count while they are open, with their addresses and what they sent.
func TestStreamsCountAsUsageOfTheirKey(t *testing.T) {
	meter := usagetest.New(t)
	f := startMetered(t, Config{}, meter.Meter)
	first := f.subscribe(t, filters{"a": {AccountInclude: []string{text(1), text(2)}}})
	f.subscribe(t, filters{"b": {AccountInclude: []string{text(3)}}})
	require.Contains(t, f.call(t, f.dial(t), `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"accountInclude":["`+text(1)+`"]}]}`), `"result":1`)
	f.publish(tx{number: 1, slot: 9, keys: []byte{1}})
	next(t, first)
	require.Eventually(t, func() bool {
		totals := meter.Totals()
		return totals["rpc alice Subscribe"].GetBytes() > 100 && totals["rpc alice transactionSubscribe"].GetBytes() > 100
	}, patience, 10*time.Millisecond)
	totals := meter.Totals()
	subscribed := totals["rpc alice Subscribe"]
	require.Equal(t, []uint64{2, 2, 3}, []uint64{subscribed.GetRequests(), subscribed.GetStreams(), subscribed.GetAddresses()})
	sockets := totals["rpc alice transactionSubscribe"]
	require.Equal(t, []uint64{1, 1, 1}, []uint64{sockets.GetRequests(), sockets.GetStreams(), sockets.GetAddresses()})
}
