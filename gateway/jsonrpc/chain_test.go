package jsonrpc

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAnUpstreamOfAnotherChainIsNotAsked, while it is that: neither for reads nor for transactions,
// also if it is the only one.
func TestAnUpstreamOfAnotherChainIsNotAsked(t *testing.T) {
	first := newNode(t, says(`{"jsonrpc":"2.0","result":8,"id":1}`))
	second := newNode(t, says(slot7))
	var out sync.Map
	key, store := oneKey(t)
	f := startGateway(t, Config{Upstreams: []string{first.URL, second.URL}, SendUpstreams: 2, HedgeShare: 1}, Deps{Keys: store,
		OtherChain: func(url string) bool { _, yes := out.Load(url); return yes }})
	f.key = key
	_, body := f.post(t, getSlot(1))
	require.Contains(t, body, "8")
	before := first.calls()

	out.Store(first.URL, true)
	for range 2 * hedgeSamples {
		_, body = f.post(t, getSlot(1))
		require.Contains(t, body, "7")
	}
	f.post(t, `{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":["AA=="]}`)
	f.post(t, `{"jsonrpc":"2.0","id":1,"method":"requestAirdrop","params":["x",1]}`)
	require.Equal(t, before, first.calls())
	require.Equal(t, otherChain, f.pool.judge(time.Now())[0])

	out.Store(second.URL, true)
	calls := second.calls()
	for _, method := range []string{"getSlot", "sendTransaction", "requestAirdrop"} {
		status, body := f.post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":[]}`)
		require.Equal(t, http.StatusBadGateway, status)
		require.Contains(t, body, "-32005")
	}
	require.Equal(t, calls, second.calls())

	out.Delete(first.URL)
	_, body = f.post(t, getSlot(1))
	require.Contains(t, body, "8")
}
