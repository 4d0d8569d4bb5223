package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/client/rest"
)

// The trades of one stream come in their order, after open; what the client does not know is passed
// over. An error of the handler, a refusal, and an answer that is no stream end it.
func TestFollowTradesTellsEachTrade(t *testing.T) {
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		switch mint := r.URL.Query().Get("mint"); mint {
		case "a":
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, "retry: 5000\n\n: alive\n\nevent: open\ndata: {}\n\nevent: trade\nid: 1\ndata: {\"id\":\"1\",\"side\":\"buy\"}\n\n"+
				"event: later\ndata: ?\n\nevent: trade\nid: 2\ndata: {\"id\":\"2\",\"side\":\"sell\"}\n\nevent: end\ndata: {\"reason\":\"age\"}\n\n")
		case "b":
			fmt.Fprint(w, "hello")
		default:
			refuse(w, http.StatusNotFound, 0)
		}
	})
	var got []string
	open := func() { got = append(got, "open") }
	note := func(trade *rest.Trade) error {
		got = append(got, trade.ID+" "+string(trade.Side))
		return nil
	}
	require.NoError(t, c.FollowTrades(t.Context(), "a", open, note))
	require.Equal(t, []string{"open", "1 buy", "2 sell"}, got)
	enough := errors.New("enough")
	require.ErrorIs(t, c.FollowTrades(t.Context(), "a", open, func(*rest.Trade) error { return enough }), enough)
	require.ErrorContains(t, c.FollowTrades(t.Context(), "b", open, note), "no event stream")
	require.True(t, IsNotFound(c.FollowTrades(t.Context(), "c", open, note)))
}

// TestFollowTradesNamesASilentServer: the caller's context has not ended, so it is not blamed.
func TestFollowTradesNamesASilentServer(t *testing.T) {
	for _, sent := range []string{"", "event: open\ndata: {}\n\n"} {
		synctest.Test(t, func(t *testing.T) {
			c, err := New(Config{URL: "http://node.test", HTTP: &http.Client{Transport: &connections{events: []string{sent}}}})
			require.NoError(t, err)
			err = c.FollowTrades(t.Context(), "a", func() {}, func(*rest.Trade) error { return nil })
			require.EqualError(t, err, "the node said nothing for 45s: it stands still, or the network is gone")
			require.NotErrorIs(t, err, context.Canceled)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := New(Config{URL: "http://node.test", HTTP: &http.Client{Transport: &connections{events: []string{""}}}})
	require.NoError(t, err)
	require.ErrorIs(t, c.FollowTrades(ctx, "a", func() {}, func(*rest.Trade) error { return nil }), context.Canceled)
}
