package swap

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// events opens a stream and hands over its events as name and data.
func (f *fixture) events(t *testing.T, path string) (<-chan [2]string, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+strings.Replace(path, "/quote", "/quote/stream", 1), nil)
	require.NoError(t, err)
	req.Header.Set("X-API-KEY", f.key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream; charset=utf-8", resp.Header.Get("Content-Type"))
	events := make(chan [2]string)
	go func() {
		defer close(events)
		defer func() { _ = resp.Body.Close() }()
		name := ""
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = text
			}
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				select {
				case events <- [2]string{name, text}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return events, cancel
}

func next(t *testing.T, events <-chan [2]string) (string, string) {
	t.Helper()
	select {
	case e, open := <-events:
		require.True(t, open, "the stream ended")
		return e[0], e[1]
	case <-time.After(hang):
		t.Fatal("no event")
	}
	return "", ""
}

// TestAStreamQuotesAnewWhenAPoolChanges, and only then; what cannot be quoted any more is told.
func TestAStreamQuotesAnewWhenAPoolChanges(t *testing.T) {
	c := chain()
	p := c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{coin, taxed}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, c)
	events, leave := f.events(t, query(coin, taxed, "1000000"))
	name, data := next(t, events)
	require.Equal(t, "quote", name)
	conforms(t, "Quote", []byte(data))
	var first, second Response
	require.NoError(t, json.Unmarshal([]byte(data), &first))
	reads := c.Calls("getMultipleAccounts")
	require.Eventually(t, func() bool { return c.Calls("getMultipleAccounts") > reads+20 }, hang, time.Millisecond)
	select {
	case e := <-events:
		t.Fatalf("nothing changed, and there is %v", e)
	default:
	}
	c.Edit(p.Vaults[0], func(data []byte) { binary.LittleEndian.PutUint64(data[64:], 500_000_000) })
	name, data = next(t, events)
	require.Equal(t, "quote", name)
	require.NoError(t, json.Unmarshal([]byte(data), &second))
	require.NotEqual(t, first.AmountOut, second.AmountOut)
	require.Greater(t, second.Slot, first.Slot)

	c.Edit(p.Pool, func(data []byte) { data[329] = 4 })
	name, data = next(t, events)
	require.Equal(t, "error", name)
	conforms(t, "Error", []byte(data))
	require.Contains(t, data, `"code":"no_liquidity"`)
	c.Edit(p.Pool, func(data []byte) { data[329] = 0 })
	name, _ = next(t, events)
	require.Equal(t, "quote", name)

	leave()
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.streams) == 0 }, hang, time.Millisecond)
}

// TestStreamsAreBounded for each client, and the first quote decides the status.
func TestStreamsAreBounded(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	path := query(coin, swaptest.WrappedSOL, "1000000")
	var leave context.CancelFunc
	for range maxClientStreams {
		var events <-chan [2]string
		events, leave = f.events(t, path)
		next(t, events)
	}
	streamed := strings.Replace(path, "/quote", "/quote/stream", 1)
	f.refused(t, http.MethodGet, streamed, "", http.StatusTooManyRequests, "close one first")
	leave()
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.streams) == maxClientStreams-1 }, hang, time.Millisecond)
	events, _ := f.events(t, path)
	next(t, events)

	f.refused(t, http.MethodGet, streamed+"&user_account="+wallet.String(), "", http.StatusBadRequest, "user_account is")
	f.refused(t, http.MethodGet, strings.Replace(query(coin, taxed, "1"), "/quote", "/quote/stream", 1), "", http.StatusNotFound, "no pool trades")
}
