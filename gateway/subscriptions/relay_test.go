package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/gateway/message"
)

// pubsub is an upstream's WebSocket. It takes each subscription, or refuses it with refuses, and
// numbers them from base; if same is set, all have that number. Before each pong it sends chatty.
type pubsub struct {
	*httptest.Server
	base    uint64
	same    bool
	chatty  string
	mu      sync.Mutex
	conn    *websocket.Conn
	refuses string
	silent  bool
	closes  bool        // after each answer
	seen    chan string // "method params"
}

func newPubsub(t *testing.T, base uint64) *pubsub {
	t.Helper()
	p := &pubsub{base: base, seen: make(chan string, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *pubsub) url() string { return "ws" + strings.TrimPrefix(p.URL, "http") }

func (p *pubsub) serve(w http.ResponseWriter, r *http.Request) {
	var conn *websocket.Conn
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(ctx context.Context, _ []byte) bool {
		for range 3 {
			if p.chatty != "" {
				_ = conn.Write(ctx, websocket.MessageText, []byte(p.chatty))
			}
		}
		return true
	}})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	p.mu.Lock()
	p.conn = conn
	p.mu.Unlock()
	for next := p.base; ; {
		_, text, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		var in message.Call
		_ = json.Unmarshal(text, &in)
		p.mu.Lock()
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","result":%d,"id":%s}`, next, in.ID)
		if p.refuses != "" {
			answer = fmt.Sprintf(`{"jsonrpc":"2.0","error":%s,"id":%s}`, p.refuses, in.ID)
		}
		if !p.silent {
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(answer))
		}
		p.mu.Unlock()
		if strings.HasSuffix(in.Method, "Subscribe") && !p.same {
			next++
		}
		p.seen <- in.Method + " " + string(in.Params)
		if p.closes {
			return
		}
	}
}

// tell sends a frame to the relay.
func (p *pubsub) tell(t *testing.T, frame string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NoError(t, p.conn.Write(context.Background(), websocket.MessageText, []byte(frame)))
}

func (p *pubsub) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.conn.CloseNow()
}

func (p *pubsub) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func relaying(t *testing.T, cfg Config, u *upstream, upstreams ...*pubsub) *fixture {
	t.Helper()
	for _, p := range upstreams {
		cfg.WebSockets = append(cfg.WebSockets, p.url())
	}
	for _, limit := range []*time.Duration{&cfg.relayTimeout, &cfg.relayPatience, &cfg.relayLag} {
		if *limit == 0 {
			*limit = patience
		}
	}
	if cfg.relayPause == 0 {
		cfg.relayPause = 10 * time.Millisecond
	}
	return start(t, cfg, u)
}

func accountAt(slot, lamports int) string {
	return fmt.Sprintf(`{"context":{"slot":%d},"value":{"lamports":%d}}`, slot, lamports)
}

func TestSubscriptionsOfUpstreamsKeepTheClientsNumbers(t *testing.T) {
	a := newPubsub(t, 500)
	f := relaying(t, Config{}, newUpstream(), a)
	one, two := f.dial(t), f.dial(t)
	first := one.subscribe("accountSubscribe", `["x", {"encoding":"base64"}]`)
	require.Equal(t, `accountSubscribe ["x",{"encoding":"base64"}]`, <-a.seen)
	second := two.subscribe("accountSubscribe", `["x",{"encoding":"base64"}]`)
	require.NotEqual(t, first, second)
	logs := two.subscribe("logsSubscribe", `["all"]`)
	require.Equal(t, `logsSubscribe ["all"]`, <-a.seen, "identical subscriptions are one upstream")

	a.tell(t, notification("accountNotification", accountAt(7, 5), "500"))
	require.JSONEq(t, notification("accountNotification", accountAt(7, 5), first), one.read())
	require.JSONEq(t, notification("accountNotification", accountAt(7, 5), second), two.read())
	a.tell(t, notification("logsNotification", `{"value":1}`, "501"))
	require.JSONEq(t, notification("logsNotification", `{"value":1}`, logs), two.read())

	require.Contains(t, one.call("accountUnsubscribe", "["+second+"]"), "Invalid subscription id", "of another client")
	require.Contains(t, one.call("accountUnsubscribe", "["+first+"]"), "true")
	require.NoError(t, two.Close(websocket.StatusNormalClosure, ""))
	left := []string{<-a.seen, <-a.seen}
	require.ElementsMatch(t, []string{"accountUnsubscribe [500]", "logsUnsubscribe [501]"}, left)
	require.False(t, f.hub.hasRelayed())
	require.Zero(t, f.hub.open.Taken())
}

// Nodes give subscriptions of equal meaning one number, however they are written.
func TestSubscriptionsOfOneNumberAreAllTold(t *testing.T) {
	a := newPubsub(t, 500)
	a.same = true
	f := relaying(t, Config{}, newUpstream(), a)
	one, two := f.dial(t), f.dial(t)
	first := one.subscribe("accountSubscribe", `["x"]`)
	second := two.subscribe("accountSubscribe", `["x",{"commitment":"finalized"}]`)
	<-a.seen
	<-a.seen
	a.tell(t, notification("accountNotification", accountAt(7, 5), "500"))
	require.JSONEq(t, notification("accountNotification", accountAt(7, 5), first), one.read())
	require.JSONEq(t, notification("accountNotification", accountAt(7, 5), second), two.read())

	require.Contains(t, one.call("accountUnsubscribe", "["+first+"]"), "true")
	a.tell(t, notification("accountNotification", accountAt(8, 6), "500"))
	require.JSONEq(t, notification("accountNotification", accountAt(8, 6), second), two.read(), "the other still has it")
	require.Empty(t, a.seen)
	require.Contains(t, two.call("accountUnsubscribe", "["+second+"]"), "true")
	require.Equal(t, "accountUnsubscribe [500]", <-a.seen)
}

// A pong comes behind the messages before it, and these do not wait for the pong.
func TestMessagesBeforeAPongDoNotEndTheConnection(t *testing.T) {
	t.Parallel() // it waits most of the time
	a := newPubsub(t, 500)
	a.chatty = notification("logsNotification", `{"value":1}`, "500")
	f := relaying(t, Config{relayTimeout: 3 * time.Second}, newUpstream(), a)
	one := f.dial(t)
	logs := one.subscribe("logsSubscribe", `["all"]`)
	for range 3 * 2 { // two pings
		require.JSONEq(t, notification("logsNotification", `{"value":1}`, logs), one.read())
	}
	require.Len(t, a.seen, 1, "it subscribed once")
}

// When an upstream dies, the next one has the subscriptions, under the clients' numbers; and an
// account that changed meanwhile is told.
func TestADeadUpstreamIsReplaced(t *testing.T) {
	a, b := newPubsub(t, 500), newPubsub(t, 900)
	u := newUpstream()
	u.account = accountAt(20, 9)
	f := relaying(t, Config{}, u, a, b)
	c := f.dial(t)
	account := c.subscribe("accountSubscribe", `["x"]`)
	program := c.subscribe("programSubscribe", `["p"]`)
	require.Equal(t, `accountSubscribe ["x"]`, <-a.seen)
	require.Equal(t, `programSubscribe ["p"]`, <-a.seen)
	a.tell(t, notification("accountNotification", accountAt(10, 5), "500"))
	require.JSONEq(t, notification("accountNotification", accountAt(10, 5), account), c.read())
	a.hangUp()
	require.JSONEq(t, notification("accountNotification", accountAt(20, 9), account), c.read(), "what was missed")
	numbers := map[string]string{}
	for i := range 2 {
		numbers[strings.Fields(<-b.seen)[0]] = fmt.Sprint(900 + i)
	}
	b.tell(t, notification("programNotification", `{"value":3}`, numbers["programSubscribe"]))
	require.JSONEq(t, notification("programNotification", `{"value":3}`, program), c.read())
	// What b tells while it lags is left out.
	b.tell(t, notification("accountNotification", accountAt(19, 1), numbers["accountSubscribe"]))
	b.tell(t, notification("accountNotification", accountAt(21, 8), numbers["accountSubscribe"]))
	require.JSONEq(t, notification("accountNotification", accountAt(21, 8), account), c.read())

	// A read that is older than what was told is left out.
	u.set(func() { u.account = accountAt(15, 1) })
	a.set(func() { a.silent = true })
	b.hangUp()
	<-a.seen
	a.hangUp()
	for i := range 2 {
		numbers[strings.Fields(<-b.seen)[0]] = fmt.Sprint(900 + i)
	}
	b.tell(t, notification("accountNotification", accountAt(30, 7), numbers["accountSubscribe"]))
	require.JSONEq(t, notification("accountNotification", accountAt(30, 7), account), c.read())
}

// TestAnAccountThatIsGoneIsEmpty: clients refuse a notification without an account. Who was told of
// no account yet is told nothing.
func TestAnAccountThatIsGoneIsEmpty(t *testing.T) {
	for params, data := range map[string]string{`["x"]`: `""`, `["x",{"encoding":"base64+zstd"}]`: `["","base64+zstd"]`, `["x",{"encoding":"jsonParsed"}]`: `["","base64"]`} {
		a, b := newPubsub(t, 500), newPubsub(t, 900)
		u := newUpstream()
		u.account = `{"context":{"slot":20},"value":null}`
		c := relaying(t, Config{}, u, a, b).dial(t)
		account := c.subscribe("accountSubscribe", params)
		<-a.seen
		a.tell(t, notification("accountNotification", accountAt(10, 5), "500"))
		require.JSONEq(t, notification("accountNotification", accountAt(10, 5), account), c.read())
		a.hangUp()
		empty := `{"context":{"slot":20},"value":{"lamports":0,"owner":"11111111111111111111111111111111","data":` + data + `,"executable":false,"rentEpoch":0,"space":0}}`
		require.JSONEq(t, notification("accountNotification", empty, account), c.read())
	}
	a, b := newPubsub(t, 500), newPubsub(t, 900)
	u := newUpstream()
	u.account = `{"context":{"slot":20},"value":null}`
	c := relaying(t, Config{}, u, a, b).dial(t)
	account := c.subscribe("accountSubscribe", `["x"]`)
	<-a.seen
	a.hangUp()
	<-b.seen
	b.tell(t, notification("accountNotification", accountAt(30, 7), "900"))
	require.JSONEq(t, notification("accountNotification", accountAt(30, 7), account), c.read(), "the first thing that is told")
}

// Older notifications are passed on where slots may go back: at processed, and if a new upstream
// stays behind.
func TestAnAccountMayGoBack(t *testing.T) {
	for params, lag := range map[string]time.Duration{`["x",{"commitment":"processed"}]`: patience, `["x"]`: time.Nanosecond} {
		a := newPubsub(t, 500)
		c := relaying(t, Config{relayLag: lag}, newUpstream(), a).dial(t)
		account := c.subscribe("accountSubscribe", params)
		for _, slot := range []int{10, 9} {
			a.tell(t, notification("accountNotification", accountAt(slot, 5), "500"))
			require.JSONEq(t, notification("accountNotification", accountAt(slot, 5), account), c.read())
		}
	}
}

// An upstream that closes each connection, as beyond a quota, is not dialed without a pause.
func TestAnUpstreamThatClosesIsGivenTime(t *testing.T) {
	a := newPubsub(t, 500)
	a.closes = true
	c := relaying(t, Config{relayPause: 100 * time.Millisecond}, newUpstream(), a).dial(t)
	began := time.Now()
	c.subscribe("logsSubscribe", `["all"]`)
	for range 5 {
		<-a.seen
	}
	require.GreaterOrEqual(t, time.Since(began), 400*time.Millisecond, "half of 100, 150, 225 and 337 ms at least")
}

func TestASilentUpstreamIsLeft(t *testing.T) {
	a, b := newPubsub(t, 1), newPubsub(t, 1)
	a.silent = true
	c := relaying(t, Config{relayTimeout: 500 * time.Millisecond}, newUpstream(), a, b).dial(t)
	for strings.Contains(c.call("logsSubscribe", `["all"]`), `"error"`) {
		// b was slow, too, and is asked again.
	}
	require.Equal(t, `logsSubscribe ["all"]`, <-b.seen)
}

func TestAnUpstreamsRefusalIsPassedOn(t *testing.T) {
	a := newPubsub(t, 1)
	a.refuses = `{"code":-32602,"message":"Invalid params: bad pubkey"}`
	f := relaying(t, Config{maxRelayed: 1}, newUpstream(), a)
	c := f.dial(t)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params: bad pubkey"},"id":1}`, c.call("accountSubscribe", `["x"]`))
	require.False(t, f.hub.hasRelayed())
	require.Contains(t, c.call("accountSubscribe", `[]`), "-32602")
	a.set(func() { a.refuses = "" })
	c.subscribe("accountSubscribe", `["x"]`)
	c.subscribe("accountSubscribe", `["x"]`)
	require.Contains(t, c.call("accountSubscribe", `["y"]`), "too many account")
	// The upstream comes back and refuses what it took before: the client is told.
	a.set(func() { a.refuses = `{"code":-1,"message":"no more"}` })
	a.hangUp()
	_, _, err := c.Read(t.Context())
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
	require.ErrorContains(t, err, "no upstream serves")
}

// TestAClientLeavesUpstreamsSubscriptionsForOthers: of those that differ. It shares those that
// others have.
func TestAClientLeavesUpstreamsSubscriptionsForOthers(t *testing.T) {
	f := relaying(t, Config{maxRelayed: 3}, newUpstream(), newPubsub(t, 1))
	flood, other := f.dialAs(t, "flood"), f.dialAs(t, "other")
	flood.subscribe("accountSubscribe", `["1"]`)
	flood.subscribe("accountSubscribe", `["2"]`)
	require.Contains(t, flood.call("accountSubscribe", `["3"]`), "as are free for all others")
	other.subscribe("accountSubscribe", `["4"]`)
	flood.subscribe("accountSubscribe", `["4"]`)
	require.Contains(t, other.call("accountSubscribe", `["5"]`), "on this server")
	require.NoError(t, flood.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool { return f.hub.upstream.Taken() == 1 && f.hub.open.Taken() == 1 }, patience, time.Millisecond)
	other.subscribe("accountSubscribe", `["5"]`)
}

func TestNoUpstreamAnswers(t *testing.T) {
	a := newPubsub(t, 1)
	f := relaying(t, Config{relayPatience: time.Nanosecond}, newUpstream(), a)
	c := f.dial(t)
	c.subscribe("accountSubscribe", `["x"]`)
	a.CloseClientConnections()
	a.Close()
	read := make(chan error, 1)
	go func() {
		_, _, err := c.Read(t.Context())
		read <- err
	}()
	var err error
	require.Eventually(t, func() bool {
		a.hangUp() // also a connection that was accepted just before the close
		select {
		case err = <-read:
			return true
		default:
			return false
		}
	}, patience, 10*time.Millisecond)
	require.ErrorContains(t, err, "no upstream serves")
	require.Contains(t, f.dial(t).call("logsSubscribe", `["all"]`), "-32005")

	none := start(t, Config{}, newUpstream())
	require.Contains(t, none.dial(t).call("logsSubscribe", `["all"]`), "--rpc-upstream-ws")
	for _, bad := range []string{"http://x", "ws://", "x"} {
		_, err := New(Config{WebSockets: []string{bad}}, Deps{Offsets: f.broker, OpenTail: f.broker.open})
		require.ErrorContains(t, err, "--rpc-upstream-ws")
	}
}

// Accounts are large: a client is cut off for bytes too, and so that all together stay bounded.
func TestUnreadBytesAreBounded(t *testing.T) {
	for _, cfg := range []Config{{bufferBytes: 1000}, {bufferBytesTotal: 1000}} {
		a := newPubsub(t, 1)
		f := relaying(t, cfg, newUpstream(), a)
		c := f.dial(t)
		c.subscribe("accountSubscribe", `["x"]`)
		a.tell(t, notification("accountNotification", `"`+strings.Repeat("x", 1000)+`"`, "1"))
		for {
			if _, _, err := c.Read(t.Context()); err != nil {
				require.ErrorContains(t, err, "reads slower")
				break
			}
		}
		require.Eventually(t, func() bool { return f.queued.Load() == 0 }, patience, time.Millisecond, "all is given back")
	}
}

// A transfer that none of our programs sees is told by the upstream's statuses alone: by the first
// poll behind the chain's own, at the poll interval that everybody has. A poll is due after it, and
// looked for four times as often.
func TestAPlainTransferIsConfirmedWithinASecond(t *testing.T) {
	u := newUpstream()
	interval := Config{}.withDefaults().pollInterval
	require.LessOrEqual(t, interval+interval/4, time.Second)
	f := start(t, Config{pollInterval: interval}, u)
	c := f.dial(t)
	for n := range byte(3) {
		id := c.subscribe("signatureSubscribe", `["`+signature(n)+`",{"commitment":"confirmed"}]`)
		time.Sleep(time.Duration(n) * 150 * time.Millisecond)
		before := 0
		u.set(func() {
			u.statuses[signature(n)] = landedStatus(50, "null", "confirmed")
			before = u.asked["getSignatureStatuses"]
		})
		require.JSONEq(t, notification("signatureNotification", `{"context":{"slot":50},"value":{"err":null}}`, id), c.read())
		require.Equal(t, before+1, u.count("getSignatureStatuses"), "the next poll tells")
	}
}

// FuzzRelay: whatever an upstream says, the relay goes on, and clients get JSON.
func FuzzRelay(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","result":5,"id":1}`), []byte(notification("accountNotification", accountAt(1, 2), "5")))
	f.Add([]byte(`{"jsonrpc":"2.0","error":{"code":-1,"message":"x"},"id":1}`), []byte(`[]`))
	f.Add([]byte(`{"id":1,"result":"x"}`), []byte(`{"params":{"subscription":-1}}`))
	b := newBroker()
	s, err := New(Config{WebSockets: []string{"ws://127.0.0.1:1"}}, Deps{Offsets: b, OpenTail: b.open})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer, told []byte) {
		c := newSession(s, "a", nil)
		require.NoError(t, s.hub.addSession(c))
		defer s.hub.removeSession(c)
		require.NoError(t, s.hub.subscribeRelayed(&subscription{kind: kindAccount, owner: c}, json.RawMessage(`["x"]`), json.RawMessage("1")))
		fresh, _ := s.hub.relayChanges()
		require.Len(t, fresh, 1)
		r := &relayConn{relay: &relay{server: s}, calls: map[uint64]*relayed{1: fresh[0]}, numbers: map[uint64][]*relayed{}}
		for _, message := range [][]byte{answer, told, answer} {
			_ = r.take(t.Context(), message)
		}
		s.hub.relayLost()
		for len(c.out) > 0 {
			require.True(t, json.Valid(<-c.out))
		}
	})
}
