package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/client/rest"
)

func clientOf(t *testing.T, handle http.HandlerFunc, configure ...func(*Config)) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	cfg := Config{URL: server.URL + "/", SwapURL: server.URL}
	for _, c := range configure {
		c(&cfg)
	}
	c, err := New(cfg)
	require.NoError(t, err)
	return c
}

func refuse(w http.ResponseWriter, status, seconds int) {
	w.Header().Set("Retry-After", fmt.Sprint(seconds))
	w.Header().Set("X-Request-ID", "r1")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"statusCode":%d,"error":"x","message":"slower"}`, status)
}

func TestARefusedRequestIsMadeAgainWhenItMay(t *testing.T) {
	var asked atomic.Int32
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		var body rest.BatchRequest
		if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Mints) != 1 {
			w.WriteHeader(http.StatusBadRequest) // the body must come with each try
			return
		}
		if asked.Add(1) == 1 {
			refuse(w, http.StatusTooManyRequests, 1)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[],"unknown":["x"]}`)
	})
	began := time.Now()
	found, err := c.Batch(t.Context(), rest.BatchRequest{Mints: []string{"x"}})
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, found.Unknown)
	require.GreaterOrEqual(t, time.Since(began), time.Second, "Retry-After is honoured")
	require.EqualValues(t, 2, asked.Load())
}

func TestAWaitThatIsTooLongIsAnError(t *testing.T) {
	for name, maxWait := range map[string]time.Duration{"never": -1, "not so long": 5 * time.Second} {
		c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusServiceUnavailable, 30) }, func(cfg *Config) { cfg.MaxWait = maxWait })
		_, err := c.Search(t.Context(), nil)
		var refused *Error
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, Error{Status: 503, Message: "slower", RetryAfter: 30 * time.Second, RequestID: "r1"}, *refused)
	}
}

func TestErrorsAreTheAPIs(t *testing.T) {
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status" {
			fmt.Fprint(w, "<html>")
			return
		}
		refuse(w, http.StatusNotFound, 0)
	})
	_, err := c.Token(t.Context(), "x", nil)
	require.True(t, IsNotFound(err))
	require.ErrorContains(t, err, "slower")
	_, err = c.Status(t.Context())
	require.ErrorContains(t, err, "no token API of Mintlake")
	for _, bad := range []string{"", "localhost:8080", "ftp://x", "http://"} {
		_, err = New(Config{URL: bad})
		require.ErrorContains(t, err, "http(s)://host:port", bad)
	}
}

// A stream that is cut off goes on behind the last cursor; a reset forgets it, and is told again
// when no other came; a refusal waits.
func TestFollowMissesNothing(t *testing.T) {
	var connection atomic.Int32
	cursors := make(chan string, 10)
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		cursors <- r.URL.Query().Get("cursor") + r.Header.Get("Last-Event-ID")
		send := func(text string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, text)
		}
		switch connection.Add(1) {
		case 1:
			send("retry: 1\n\nevent: new\ndata: {\"mint\":\"a\",\ndata: \"symbol\":\"A\"}\n\nid: one\n\nevent: new\ndata: {\"mint\":\"b\"}\n\nevent: new\ndata: {\"mi")
		case 2:
			refuse(w, http.StatusTooManyRequests, 1)
		case 3:
			send(": alive\n\nevent: changed\ndata: {\"mint\":\"b\"}\n\nevent: later\ndata: ?\n\nevent: end\ndata: {\"reason\":\"age\"}\n\n")
		case 4:
			send("event: reset\ndata: {\"reason\":\"cursor_too_old\",\"message\":\"read anew\"}\n\n")
		default:
			send("event: removed\ndata: {\"mint\":\"a\"}\n\n")
		}
	})
	enough := errors.New("enough")
	var got []string
	err := c.Follow(t.Context(), nil, func(e Event) error {
		got = append(got, e.Kind+" "+e.Token.Mint+e.Token.Symbol+e.Cursor+e.Reason)
		if e.Kind == EventRemoved {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, []string{"new aA", "cursor one", "new b", "changed b", "reset cursor_too_old", "reset cursor_too_old", "removed a"}, got)
	for _, want := range []string{"", "one", "one", "one", ""} {
		require.Equal(t, want, <-cursors)
	}
}

// connections are what a node sends on one connection after the other, over a transport without a
// network. A connection stays open until the client ends it.
type connections struct {
	asked  []string // the cursor of each, from wherever it came
	events []string // what it sends; "" does not even answer
}

func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked = append(c.asked, r.URL.Query().Get("cursor")+r.Header.Get("Last-Event-ID"))
	events := c.events[len(c.asked)-1]
	if events == "" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, feed := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = feed.CloseWithError(r.Context().Err()) })
	go func() {
		for event := range strings.SplitAfterSeq(events, "\n\n") {
			_, _ = io.WriteString(feed, event)
			if strings.HasPrefix(event, "event: end") {
				_ = feed.Close()
			}
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
}

// follow returns the events up to the first of kind removed. handle is called before an event is
// noted; it may be nil.
func (c *connections) follow(t *testing.T, params *rest.StreamTokensParams, handle func(Event)) (got []string) {
	t.Helper()
	mintlake, err := New(Config{URL: "http://node.test", HTTP: &http.Client{Transport: c}})
	require.NoError(t, err)
	enough := errors.New("enough")
	require.ErrorIs(t, mintlake.Follow(t.Context(), params, func(e Event) error {
		if handle != nil {
			handle(e)
		}
		got = append(got, e.Kind+" "+e.Token.Mint+e.Cursor+e.Reason)
		if e.Kind == EventRemoved {
			return enough
		}
		return nil
	}), enough)
	return got
}

const (
	lostEvent = "event: reset\ndata: {\"reason\":\"cursor_too_old\",\"message\":\"read anew\"}\n\n"
	endEvent  = "event: end\ndata: {\"reason\":\"age\"}\n\n"
	lastEvent = "event: removed\ndata: {\"mint\":\"z\"}\n\n"
)

// TestFollowWaitsForItsHandler: who reads the whole registry at a reset takes hours, and the
// connection is not given up meanwhile.
func TestFollowWaitsForItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &connections{events: []string{lostEvent + "id: two\n\n" + lastEvent}}
		got := c.follow(t, nil, func(e Event) {
			if e.Kind == EventReset {
				time.Sleep(3 * time.Hour)
			}
		})
		require.Equal(t, []string{"reset cursor_too_old", "cursor two", "removed z"}, got)
		require.Len(t, c.asked, 1)
	})
}

// TestAResetWithoutAPlaceIsToldAgain: what changed between two connections is lost when the first
// has told a reset and no cursor.
func TestAResetWithoutAPlaceIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &connections{events: []string{
			lostEvent + endEvent,
			"event: new\ndata: {\"mint\":\"a\"}\n\n" + endEvent,
			"id: two\n\n" + endEvent,
			strings.Replace(lostEvent, "\n", "\nid: three\n", 1) + endEvent,
			lastEvent,
		}}
		start := "one"
		got := c.follow(t, &rest.StreamTokensParams{LastEventID: &start}, nil)
		require.Equal(t, []string{
			"reset cursor_too_old", "reset cursor_too_old", "new a", "reset cursor_too_old", "cursor two",
			"reset cursor_too_old", "cursor three", "removed z",
		}, got)
		require.Equal(t, []string{"one", "", "", "two", "three"}, c.asked)
	})
}

// TestFollowLeavesASilentServer: one that takes a connection and does not answer, or that answers
// and then says nothing.
func TestFollowLeavesASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &connections{events: []string{"", "id: two\n\n", lastEvent}}
		began := time.Now()
		require.Equal(t, []string{"cursor two", "removed z"}, c.follow(t, nil, nil))
		require.Equal(t, []string{"", "", "two"}, c.asked)
		require.Less(t, time.Since(began), 3*quietLimit)
	})
}

// TestFollowKeepsItsStart: what to go on from is not lost with a first connection that fails.
func TestFollowKeepsItsStart(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		if len(asked) == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	c, err := New(Config{URL: server.URL})
	require.NoError(t, err)
	start := "a-cursor"
	require.Error(t, c.Follow(t.Context(), &rest.StreamTokensParams{LastEventID: &start}, nil))
	require.Equal(t, []string{start, start}, asked)
}

func TestFollowEndsWhereTryingAgainIsOfNoUse(t *testing.T) {
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusBadRequest, 0) })
	var refused *Error
	require.ErrorAs(t, c.Follow(t.Context(), nil, nil), &refused)
	c = clientOf(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	require.ErrorContains(t, c.Follow(t.Context(), nil, nil), "no event stream")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Follow(ctx, nil, nil), context.Canceled)
}

func FuzzFeed(f *testing.F) {
	f.Add("event: new\ndata: {\"mint\":\"a\"}\n\nid: x\n\n")
	f.Fuzz(func(_ *testing.T, text string) {
		f := &follower{handle: func(Event) error { return nil }, alive: func() {}}
		_ = readEvents(strings.NewReader(text), func() {}, func(time.Duration) {}, f.dispatch)
	})
}
