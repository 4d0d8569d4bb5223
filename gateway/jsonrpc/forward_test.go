package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/message"
)

func TestForwardsACallAndNothingElse(t *testing.T) {
	n := newNode(t, says(slot7))
	f := start(t, Config{Upstreams: []string{n.URL + "/path?apiKey=OURS"}})
	status, body := f.post(t, ` {"extra":1,"params":[ {"a":9007199254740993} ],"method":"getSlot","id":"x","jsonrpc":"2.0"}`,
		"Cookie", "c=1", "Authorization", "Bearer secret", "X-Forwarded-For", "1.2.3.4")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{"jsonrpc":"2.0","result":7,"id":"x"}`, body)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"x","method":"getSlot","params":[{"a":9007199254740993}]}`, n.bodies[0])
	require.Contains(t, n.bodies[0], "9007199254740993", "numbers are not touched")
	require.Equal(t, "/path?apiKey=OURS", n.seen[0].URL.String())
	for name := range n.seen[0].Header {
		require.Contains(t, []string{"Content-Type", "Content-Length", "User-Agent", "Accept-Encoding"}, name)
	}
}

// TestAnUpstreamsUserAndPasswordAreSent: some providers have their key there.
func TestAnUpstreamsUserAndPasswordAreSent(t *testing.T) {
	n := newNode(t, says(slot7))
	f := start(t, Config{Upstreams: []string{strings.Replace(n.URL, "://", "://us%65r:pass@", 1)}})
	status, _ := f.post(t, getSlot(1))
	require.Equal(t, http.StatusOK, status)
	user, password, _ := n.seen[0].BasicAuth()
	require.Equal(t, []string{"user", "pass"}, []string{user, password})
}

// TestTheSlotOfALongAnswer is read from the answer's beginning, unless that ends within the slot.
func TestTheSlotOfALongAnswer(t *testing.T) {
	for padding, want := range map[int]answerSlot{10: {slot: 1234567, hasSlot: true}, peekBytes - 44: {}} {
		body := `{"result":{"value":"` + strings.Repeat("a", padding) + `","context":{"slot":1234567}},"more":"` + strings.Repeat("a", peekBytes) + `"}`
		got := &answer{rest: io.NopCloser(strings.NewReader(body))}
		require.NoError(t, got.peek(&http.Response{StatusCode: http.StatusOK, ContentLength: -1}, oneAnswer, table["getBalance"]))
		require.Len(t, got.head, peekBytes)
		require.Equal(t, want, got.at, "%s", got.head[len(got.head)-30:])
	}
}

func TestBatchIsAnsweredInOrder(t *testing.T) {
	n := newNode(t, func(w http.ResponseWriter, body string) {
		var c message.Call
		if json.Unmarshal([]byte(body), &c) != nil {
			fmt.Fprint(w, slot7) // a poll
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","result":%q,"id":%s}`, c.Method, c.ID)
	})
	f := start(t, Config{Upstreams: []string{n.URL}})
	status, body := f.post(t, `[`+getSlot(1)+`,{"jsonrpc":"1.0","id":2,"method":"a"},`+getSlot(3)+`,5]`)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `[{"jsonrpc":"2.0","result":"getSlot","id":1},
		{"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc must be \"2.0\""},"id":2},{"jsonrpc":"2.0","result":"getSlot","id":3},
		{"jsonrpc":"2.0","error":{"code":-32600,"message":"a call must be an object"},"id":null}]`, body)
	_, body = f.post(t, `[1]`)
	require.JSONEq(t, `[{"jsonrpc":"2.0","error":{"code":-32600,"message":"a call must be an object"},"id":null}]`, body)
	require.Equal(t, 2, n.calls())
}

func TestLargeAnswersFlowThrough(t *testing.T) {
	proceed := make(chan struct{})
	n := newNode(t, func(w http.ResponseWriter, body string) {
		if isPoll(body) {
			fmt.Fprint(w, slot7)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":"%s`, strings.Repeat("a", 1<<20))
		w.(http.Flusher).Flush()
		<-proceed
		fmt.Fprint(w, `"}`)
	})
	f := start(t, Config{Upstreams: []string{n.URL}})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(getSlot(1)))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-KEY", f.key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadFull(resp.Body, make([]byte, 1<<19))
	require.NoError(t, err, "the first half comes while the second is still to be made")
	close(proceed)
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(rest), `a"}`))

	f = start(t, Config{Upstreams: []string{n.URL}, maxAnswerBytes: 100 << 10})
	req, _ = http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(getSlot(1)))
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {f.key}}
	resp, err = http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.Error(t, err, "an answer that is cut off must not look whole")
}

func TestClientThatLeavesEndsTheCall(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if isPoll(string(body)) {
			fmt.Fprint(w, slot7)
			return
		}
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(upstream.Close)
	f := start(t, Config{Upstreams: []string{upstream.URL}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-begun; cancel() }()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/?apiKey="+f.key, strings.NewReader(getSlot(1)))
	req.Header.Set("Content-Type", "application/json")
	_, err := http.DefaultClient.Do(req)
	require.Error(t, err)
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the upstream still works for nobody")
	}
}

// hangingNode takes calls and answers none before the test's end; every call that it has is told.
func hangingNode(t *testing.T) (*node, <-chan struct{}) {
	t.Helper()
	taken, release := make(chan struct{}, 100), make(chan struct{})
	n := newNode(t, func(w http.ResponseWriter, body string) {
		if isPoll(body) {
			fmt.Fprint(w, slot7)
			return
		}
		taken <- struct{}{}
		<-release
	})
	t.Cleanup(func() { close(release) })
	return n, taken
}

func TestTimeoutIsBounded(t *testing.T) {
	n, _ := hangingNode(t)
	f := start(t, Config{Upstreams: []string{n.URL}, timeout: 200 * time.Millisecond})
	status, _ := f.post(t, getSlot(1))
	require.Equal(t, http.StatusGatewayTimeout, status)
	status, body := f.post(t, "["+getSlot(1)+","+getSlot(2)+"]")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 2, strings.Count(body, "no upstream answered within 200ms"), body)
}

func TestConcurrencyIsBounded(t *testing.T) {
	n, taken := hangingNode(t)
	f := start(t, Config{Upstreams: []string{n.URL}, maxConcurrent: 1})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/?apiKey="+f.key, strings.NewReader(getSlot(1)))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	left := make(chan struct{})
	go func() {
		defer close(left)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-taken
	for range 3 {
		status, _ := f.post(t, getSlot(1))
		require.Equal(t, http.StatusServiceUnavailable, status, "one is in flight")
	}
	require.Equal(t, 1, n.calls())
	leave()
	<-left
}

// TestAKeyLeavesPlacesForOthers: what one key has in flight is bounded by what is free beside it.
func TestAKeyLeavesPlacesForOthers(t *testing.T) {
	n, taken := hangingNode(t)
	var entries []keys.Entry
	secrets := map[string]string{}
	for _, name := range []string{"flood", "other"} {
		secret, hash := keys.Generate(keys.RPC)
		entries, secrets[name] = append(entries, keys.Entry{ID: name, Product: keys.RPC, Hash: hash}), secret
	}
	store, err := keys.NewStatic(entries...)
	require.NoError(t, err)
	f := startWith(t, Config{Upstreams: []string{n.URL}, maxConcurrent: 4}, store)
	ctx, leave := context.WithCancel(t.Context())
	var begun sync.WaitGroup
	begin := func(name string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/?apiKey="+secrets[name], strings.NewReader(getSlot(1)))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		begun.Go(func() {
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		})
		<-taken
	}
	begin("flood")
	begin("flood")
	f.key = secrets["flood"]
	status, body := f.post(t, getSlot(7))
	require.Equal(t, http.StatusTooManyRequests, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32429,"message":"you have too many requests in flight: wait for their answers"},"id":7}`, body)
	begin("other")
	leave()
	begun.Wait()
	require.Eventually(t, func() bool { return f.calls.Taken() == 0 }, time.Minute, time.Millisecond)
}

func TestNotificationsGetNoContent(t *testing.T) {
	n := newNode(t, says(""))
	f := start(t, Config{Upstreams: []string{n.URL}})
	status, body := f.post(t, `{"jsonrpc":"2.0","method":"getSlot"}`)
	require.Equal(t, http.StatusNoContent, status)
	require.Empty(t, body)
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"getSlot"}`, n.bodies[0])
}
