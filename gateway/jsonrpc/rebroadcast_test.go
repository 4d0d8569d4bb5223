package jsonrpc

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// statusesOf answers getSignatureStatuses.
func (c *simulatedChain) statusesOf(params json.RawMessage) string {
	var signatures [][]string
	_ = json.Unmarshal(params, &signatures)
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]string, len(signatures[0]))
	for i, signature := range signatures[0] {
		list[i] = "null"
		if status := c.statuses[signature]; status != "" {
			list[i] = `{"slot":1,"err":null,"confirmationStatus":"` + status + `"}`
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (c *simulatedChain) setStatus(signature, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[signature] = status
}

// rebroadcasting runs the loop in a simulated world.
func rebroadcasting(t *testing.T, cfg Config, upstreams int, run func(t *testing.T, w *world)) {
	t.Helper()
	simulate(t, cfg, upstreams, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			w.rebroadcastAll(ctx)
			close(done)
		}()
		run(t, w)
		cancel()
		<-done
	})
}

// send sends a transaction with the header, and returns the header of the answer.
func (w *world) send(t *testing.T, params string) string {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":`+params+`}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(RebroadcastHeader, "true")
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, req)
	return recorder.Header().Get(RebroadcastHeader)
}

func TestATransactionIsSentAgainUntilItIsConfirmed(t *testing.T) {
	rebroadcasting(t, Config{SendUpstreams: 2}, 3, func(t *testing.T, w *world) {
		params, signature := transaction(1)
		require.Equal(t, "accepted", w.send(t, params))
		time.Sleep(time.Second)
		require.Equal(t, []int{1, 1, 0}, w.callsOf("sendTransaction"))
		time.Sleep(10 * time.Second)
		require.Equal(t, []int{6, 6, 0}, w.callsOf("sendTransaction"), "each two seconds")
		w.setStatus(signature, "processed")
		time.Sleep(4 * time.Second)
		require.Equal(t, []int{6, 6, 0}, w.callsOf("sendTransaction"), "it is in a block")
		w.setStatus(signature, "") // of a fork that died
		time.Sleep(2 * time.Second)
		require.Equal(t, []int{7, 7, 0}, w.callsOf("sendTransaction"))
		w.setStatus(signature, "confirmed")
		time.Sleep(2 * time.Second)
		require.Empty(t, w.rebroadcasts.list())
		time.Sleep(time.Minute)
		require.Equal(t, []int{7, 7, 0}, w.callsOf("sendTransaction"))
		require.EqualValues(t, 1, testutil.ToFloat64(w.rebroadcasts.ended.WithLabelValues("confirmed")))
		require.EqualValues(t, 12, testutil.ToFloat64(w.rebroadcasts.resends))
	})
}

// A blockhash is valid for 150 blocks; where no upstream tells the height, two minutes end it.
func TestATransactionExpires(t *testing.T) {
	for _, m := range []mood{honest, hanging} {
		rebroadcasting(t, Config{}, 1, func(t *testing.T, w *world) {
			params, _ := transaction(1)
			require.Equal(t, "accepted", w.send(t, params))
			w.upstreams["a"].behave(0, phase{0, m})
			time.Sleep(25 * time.Second)
			require.Len(t, w.rebroadcasts.list(), 1)
			time.Sleep(125 * time.Second)
			require.Empty(t, w.rebroadcasts.list())
			require.Empty(t, w.rebroadcasts.keys)
			require.EqualValues(t, 1, testutil.ToFloat64(w.rebroadcasts.ended.WithLabelValues("expired")))
			if m == honest {
				require.Less(t, w.upstreams["a"].calls("sendTransaction"), 18, "some 32 s")
			}
		})
	}
}

// A transaction whose outcome is unknown is the one that needs it most; one that was refused is
// not sent again; nor is one whose client did not ask.
func TestWhatIsSentAgain(t *testing.T) {
	rebroadcasting(t, Config{}, 1, func(t *testing.T, w *world) {
		w.upstreams["a"].behave(0, phase{0, losing})
		params, _ := transaction(1)
		require.Equal(t, "accepted", w.send(t, params))
		w.upstreams["a"].behave(0, phase{0, honest})
		time.Sleep(10 * time.Second)
		require.GreaterOrEqual(t, w.upstreams["a"].calls("sendTransaction"), 3)

		w.upstreams["a"].behave(0, phase{0, closed})
		params, _ = transaction(2)
		require.Equal(t, "none", w.send(t, params), "nobody took it")
		w.upstreams["a"].behave(0, phase{0, honest})
		time.Sleep(10 * time.Second)
		require.Equal(t, "none", w.send(t, `["x"]`))
		params, _ = transaction(3)
		before := len(w.rebroadcasts.list())
		w.call("sendTransaction", params)
		w.call("sendTransaction", params, RebroadcastHeader, "false")
		require.Len(t, w.rebroadcasts.list(), before)
		require.Equal(t, http.StatusBadRequest, w.call("sendTransaction", params, RebroadcastHeader, "often").status)
		w.post(`[{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":`+params+`}]`, RebroadcastHeader, "true")
		require.Len(t, w.rebroadcasts.list(), before+1)
	})
}

func TestRebroadcastsAreBounded(t *testing.T) {
	rebroadcasting(t, Config{}, 1, func(t *testing.T, w *world) {
		for i := range rebroadcastsPerKey {
			params, _ := transaction(1000 + i)
			require.Equal(t, "accepted", w.send(t, params))
			require.Equal(t, "accepted", w.send(t, params), "the same one counts once")
		}
		params, _ := transaction(1)
		require.Equal(t, "full", w.send(t, params))
		for i := range maxRebroadcasts {
			w.rebroadcasts.add(&rebroadcast{signature: utoa(uint64(i)), key: utoa(uint64(i)), task: &task{}, since: time.Now()})
		}
		require.Len(t, w.rebroadcasts.list(), maxRebroadcasts)
		for _, b := range w.rebroadcasts.list() {
			w.rebroadcasts.end(b, "expired")
		}
		require.Empty(t, w.rebroadcasts.keys)
	})
}
