package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/api/status"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// event is one of a stream. An id alone is one too.
type event struct{ name, data, id string }

// client reads a stream.
type client struct {
	t      testing.TB
	lines  *bufio.Scanner
	close  func()
	lastID string
}

func (n *node) stream(query string, headers ...string) *client {
	n.t.Helper()
	return n.streamOf("/tokens/stream"+query, headers...)
}

func (n *node) streamOf(path string, headers ...string) *client {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	n.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Addr()+path, nil)
	require.NoError(n.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(n.t, err)
	require.Equal(n.t, 200, answer.StatusCode)
	require.Equal(n.t, "text/event-stream; charset=utf-8", answer.Header.Get("Content-Type"))
	require.Equal(n.t, "*", answer.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(n.t, "no-store", answer.Header.Get("Cache-Control"))
	n.t.Cleanup(func() { _ = answer.Body.Close() })
	return &client{t: n.t, lines: bufio.NewScanner(answer.Body), close: cancel}
}

// next is the next event with a name or an id; false at the end.
func (c *client) next() (event, bool) {
	var e event
	for c.lines.Scan() {
		name, value, _ := strings.Cut(c.lines.Text(), ": ")
		switch name {
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "id":
			e.id, c.lastID = value, value
		case "":
			if e != (event{}) {
				return e, true
			}
		}
	}
	return e, false
}

// await skips to an event of a name, or of any, and for rows a symbol.
func (c *client) await(name, symbol string) event {
	c.t.Helper()
	for {
		e, more := c.next()
		require.True(c.t, more, "the stream ended before %s %s", name, symbol)
		var row struct{ Symbol string }
		if e.data != "" {
			require.NoError(c.t, json.Unmarshal([]byte(e.data), &row))
		}
		if (e.name == name || name == "") && row.Symbol == symbol {
			return e
		}
	}
}

// awaitID reads on until the stream has given an id.
func (c *client) awaitID() string {
	c.t.Helper()
	for {
		e, more := c.next()
		require.True(c.t, more)
		if e.id != "" {
			return e.id
		}
	}
}

func TestStream(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	c := n.stream("")
	require.NotEmpty(t, c.awaitID(), "a place at once, though nothing has changed")
	fresh := log.Token(9, 50, "FRESH", "Fresh", time.Now())
	e := c.await("new", "FRESH")
	conforms(t, "Token", []byte(e.data))
	require.Contains(t, e.data, fresh)
	log.Message(schemas.TopicTokenEvents, a[0], apitest.Named(apitest.Mint(1), 51, "RENAMED", "Renamed"), time.Now())
	c.await("changed", "RENAMED")
	closed := apitest.Event(apitest.Mint(2), 52)
	closed.Payload = &eventspb.TokenEvent_CloseMint{CloseMint: &eventspb.CloseMint{}}
	log.Message(schemas.TopicTokenEvents, a[1], closed, time.Now())
	require.JSONEq(t, `{"mint":"`+a[1]+`"}`, c.await("removed", "").data)

	n.stop()
	end := c.await("end", "")
	require.Contains(t, end.data, `"shutdown"`)
	_, more := c.next()
	require.False(t, more)
}

func TestStreamIsNotALookup(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	r := n.do(http.MethodHead, "/tokens/stream", "")
	require.Equal(t, 200, r.StatusCode)
	require.Contains(t, r.Header.Get("Content-Type"), "text/event-stream")
	require.Contains(t, n.get("/tokens/streams").refused(t, 404), "not in the registry")
	require.Contains(t, n.get("/tokens/stream?cursor=a.b").refused(t, 400), `cursor is "a.b": must be an id of this stream's events, or absent`)
	require.Contains(t, n.do("GET", "/tokens/stream", "", "Last-Event-ID", "a.b").refused(t, 400), "cursor is")
	require.Contains(t, n.do("GET", "/tokens/stream?cursor=a.b", "", "Last-Event-ID", "abc").refused(t, 400), "cursor is")
	reset := n.stream("?cursor=abc").await("reset", "")
	require.Contains(t, reset.data, "cursor_unknown")
	require.NotEmpty(t, reset.id, "the place of what follows, in the same event")
}

func TestStreamFiltersAndShapes(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	c := n.stream("?program=token-2022&ext=transfer_hook&not_ext=pausable&fields=symbol,evidence&created_after=5")
	c.awaitID()
	log.Token(20, 50, "PLAIN", "Plain", time.Now())
	for i, kinds := range map[int][]string{21: {"transfer_hook"}, 22: {"transfer_hook", "pausable"}, 23: {"pausable"}} {
		for _, kind := range kinds {
			extended(log, i, 49, kind)
		}
	}
	for _, i := range []int{22, 23, 21} {
		created := apitest.Created(apitest.Mint(i), 50)
		created.ProgramId = apitest.Token2022()
		log.Message(schemas.TopicTokenEvents, address(i), created, time.Now())
		log.Message(schemas.TopicTokenEvents, address(i), apitest.Named(apitest.Mint(i), 50, "T"+address(i)[:4], "Extended"), time.Now())
	}
	for {
		e, more := c.next()
		require.True(t, more)
		if e.name == "" {
			continue
		}
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(e.data), &row))
		require.Len(t, row, 2, e.data)
		if row["symbol"] != "" {
			require.Equal(t, "T"+address(21)[:4], row["symbol"], "only this one passes")
			require.Contains(t, row["evidence"].(map[string]any)["signals"], "transfer_hook")
			return
		}
	}
}

// TestStreamGoesOnElsewhere: an id of one node leads on at another, and at one that has started
// since.
func TestStreamGoesOnElsewhere(t *testing.T) {
	log, a := threeTokens()
	first := startNode(t, log).awaitReady()
	c := first.stream("")
	c.awaitID()
	log.Token(30, 50, "THIRTY", "Thirty", time.Now())
	c.await("new", "THIRTY")
	id := c.awaitID()
	c.close()

	second := startNode(t, log).awaitReady()
	first.stop()
	log.Token(31, 51, "AWAY", "While away", time.Now())
	c = second.stream("", "Last-Event-ID", id)
	require.Contains(t, c.await("", "AWAY").data, address(31))
	id = c.awaitID()

	log.Token(32, 52, "GONE", "Nobody reads", time.Now())
	second.stop()
	third := startNode(t, log).awaitReady()
	c = third.stream("?cursor=" + id + "&fields=symbol,mint")
	var told []string
	for gone := `{"mint":"` + address(32) + `","symbol":"GONE"}`; !slices.Contains(told, gone); {
		e, more := c.next()
		require.True(t, more)
		told = append(told, e.data)
	}
	// What the id came with may be told twice: a place is noted between a change and the offset
	// behind it, too.
	again := `{"mint":"` + address(31) + `","symbol":"AWAY"}`
	require.Empty(t, slices.DeleteFunc(told[:len(told)-1], func(row string) bool { return row == again }), "read from the topics, and nothing else")
	require.NotEmpty(t, c.awaitID())
	log.Message(schemas.TopicTokenEvents, a[0], apitest.Named(apitest.Mint(1), 60, "LIVE", "Live"), time.Now())
	c.await("changed", "LIVE")
}

// TestStreamKnowsTheTokensOfACheckpoint: a node that starts from a checkpoint tells their changes
// and their removal, as one that has read everything anew.
func TestStreamKnowsTheTokensOfACheckpoint(t *testing.T) {
	log, a := threeTokens()
	folder := t.TempDir()
	start := func() *node {
		return startNodeWith(t, log, func(deps *api.Deps) { deps.CheckpointFolder = folder }).awaitReady()
	}
	n := start()
	require.Eventually(t, func() bool { return n.checkpoint().WrittenAtMS != nil }, hang, 10*time.Millisecond)
	n.stop()
	n = start()
	require.True(t, n.checkpoint().Loaded)
	c := n.stream("")
	c.awaitID()
	minted := apitest.Event(apitest.Mint(1), 51)
	minted.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 1}}
	log.Message(schemas.TopicTokenEvents, a[0], minted, time.Now())
	require.Equal(t, "changed", c.await("", "USDC").name)
	closed := apitest.Event(apitest.Mint(2), 52)
	closed.Payload = &eventspb.TokenEvent_CloseMint{CloseMint: &eventspb.CloseMint{}}
	log.Message(schemas.TopicTokenEvents, a[1], closed, time.Now())
	require.Eventually(t, func() bool { return n.get("/tokens/"+a[1]).StatusCode == http.StatusNotFound }, hang, time.Millisecond)
	log.Token(9, 53, "AFTER", "After", time.Now())
	removed := false
	for {
		e, more := c.next()
		require.True(t, more)
		removed = removed || e.name == "removed" && e.data == `{"mint":"`+a[1]+`"}`
		if strings.Contains(e.data, `"AFTER"`) {
			break
		}
	}
	require.True(t, removed)
}

// checkpoint returns what the node tells of its checkpoint.
func (n *node) checkpoint() status.Checkpoint {
	n.t.Helper()
	var body struct{ Checkpoint status.Checkpoint }
	require.NoError(n.t, json.Unmarshal(n.get("/status").body, &body))
	return body.Checkpoint
}

func TestStreamsAreLimited(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, func(cfg *api.Config) {
		cfg.Streams.Max, cfg.Streams.PerClient, cfg.TrustedProxies = 3, 2, []string{"127.0.0.1"}
	}).awaitReady()
	one := n.stream("")
	n.stream("")
	r := n.do("GET", "/tokens/stream", "")
	r.refused(t, 429)
	require.Equal(t, "10", r.Header.Get("Retry-After"))
	n.stream("", "X-Forwarded-For", "10.0.0.1")
	n.do("GET", "/tokens/stream", "", "X-Forwarded-For", "10.0.0.2").refused(t, 503)
	require.Equal(t, 200, n.get("/tokens").StatusCode, "all else goes on")
	one.close()
	// The node notices when it next has something to say.
	require.Eventually(t, func() bool {
		log.Token(40, 50, "X", time.Now().String(), time.Now())
		answer, err := http.Get("http://" + n.Addr() + "/tokens/stream")
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode == http.StatusOK
	}, hang, 20*time.Millisecond)
}

// TestOldStreamIsReset: what cannot be told is told so, and the stream goes on from now.
func TestOldStreamIsReset(t *testing.T) {
	log, _ := threeTokens()
	first := startNode(t, log).awaitReady()
	id := first.stream("").awaitID()
	first.stop()
	for i := range 20 {
		log.Token(50+i, 50, "X", "X", time.Now())
	}
	n := startNode(t, log, func(cfg *api.Config) { cfg.Streams.MaxReplay = 10 }).awaitReady()
	c := n.stream("?cursor=" + id)
	reset := c.await("reset", "")
	require.Contains(t, reset.data, "cursor_too_old")
	require.NotEmpty(t, reset.id)
	log.Token(99, 60, "NOW", "Now", time.Now())
	c.await("new", "NOW")
	c.close()

	// A client that was cut off right behind the reset has its place, and gets no second one.
	c = n.stream("?cursor=" + reset.id)
	for {
		e, more := c.next()
		require.True(t, more)
		require.NotEqual(t, "reset", e.name)
		if strings.Contains(e.data, `"NOW"`) {
			return
		}
	}
}

// TestStreamOutlivesTheWriteTimeout: the time to write a response is for each piece of a stream,
// not for the whole.
func TestStreamOutlivesTheWriteTimeout(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, func(cfg *api.Config) { cfg.WriteTimeout = 2 * time.Second }).awaitReady()
	c := n.stream("")
	c.awaitID()
	time.Sleep(3 * time.Second)
	log.Token(60, 60, "LATE", "Late", time.Now())
	c.await("new", "LATE")
}
