package subscriptions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/coder/websocket"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/solana"
)

const (
	// relayMessageBytes bounds one message of an upstream: an account of 10 MiB has 14 MB in
	// base64.
	relayMessageBytes = 32 << 20
	// maxRelayPause bounds the pause between two rounds through all upstreams.
	maxRelayPause = 30 * time.Second
	// relaySteady is how long a connection that serves must last for the next one to be opened
	// without a pause.
	relaySteady = 10 * time.Second
)

var (
	errRelayRefused = errors.New("the upstream refuses a subscription that another one took")
	errRelaySilent  = errors.New("the upstream does not answer a subscription")
	errRelayIdle    = errors.New("nobody wants it")
	errRelayPanic   = errors.New("internal error")
)

// relay makes the clients' subscriptions at one upstream at a time, over one connection. When the
// connection fails, relay makes all subscriptions again at the next upstream. It makes identical
// subscriptions of clients once.
type relay struct {
	server *Server
	client *http.Client
}

// runRelay keeps a connection to one upstream while clients have relayed subscriptions, until ctx
// ends. When it loses the connection, it goes on to the next upstream. After a round through all
// upstreams in which none served for long, it calls relayAway and pauses.
func (s *Server) runRelay(ctx context.Context) {
	r := &relay{server: s, client: &http.Client{
		// A redirect would send the upstream's key to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = s.cfg.relayPause, maxRelayPause
	failed, lostAt := 0, time.Time{}
	for at := 0; ctx.Err() == nil; {
		if !s.hub.hasRelayed() {
			select {
			case <-ctx.Done():
				return
			case <-s.hub.relayWanted:
			}
			continue
		}
		url := s.cfg.WebSockets[at%len(s.cfg.WebSockets)]
		began := time.Now()
		served, err := r.serve(ctx, url)
		s.hub.relayLost()
		if ctx.Err() != nil || errors.Is(err, errRelayIdle) {
			continue
		}
		at++
		if served || lostAt.IsZero() {
			lostAt = time.Now()
		}
		s.deps.Logger.Warn("subscriptions lost an upstream's WebSocket, going on to the next", "upstream", solana.Redact(url), "err", plain(err))
		if served && time.Since(began) >= relaySteady {
			delays.Reset()
			failed = 0
			continue
		}
		if failed++; failed%len(s.cfg.WebSockets) == 0 {
			s.hub.relayAway(time.Since(lostAt) > s.cfg.relayPatience)
			_ = pause.For(ctx, delays.NextBackOff()) // the loop ends with ctx
		}
	}
}

// plain describes an error without the URL, which may hold a key.
func plain(err error) string {
	if code := websocket.CloseStatus(err); code != -1 {
		return "closed with code " + strconv.Itoa(int(code))
	}
	for _, known := range []error{errRelayRefused, errRelaySilent, errRelayPanic, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "the connection failed"
}

// relayConn is one connection to an upstream.
type relayConn struct {
	*relay
	conn *websocket.Conn
	last uint64 // id of the latest call
	// calls are the subscriptions that wait for the upstream's answer, by the call's id. numbers
	// are the subscriptions that the upstream has, by the number that it gave them. It gives one
	// number to subscriptions of equal meaning, such as one that names the default commitment and
	// one that names none.
	calls   map[uint64]*relayed
	numbers map[uint64][]*relayed
	// leaving are the subscriptions that no client wants any more, but that were not ended at the
	// upstream yet.
	leaving []goneRelayed
	served  bool // the upstream has accepted a subscription
	// reads is a semaphore: at most readsAtOnce accounts are read at one time.
	reads *semaphore.Weighted
}

// readsAtOnce bounds relayConn.reads.
const readsAtOnce = 4

// serve connects to one upstream and uses it until the connection fails or no client needs it.
// served is true if the upstream accepted a subscription.
func (r *relay) serve(ctx context.Context, url string) (served bool, err error) {
	defer panics.Catch(r.server.deps.Logger, r.server.metrics.panics, func() { err = errRelayPanic })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := r.server
	dialing, stop := context.WithTimeout(ctx, s.cfg.relayTimeout)
	conn, _, err := websocket.Dial(dialing, url, &websocket.DialOptions{HTTPClient: r.client, CompressionMode: websocket.CompressionDisabled}) //nolint:bodyclose // the library closes it
	stop()
	if err != nil {
		s.metrics.relays.WithLabelValues("failed").Inc()
		return false, err
	}
	s.metrics.relays.WithLabelValues("connected").Inc()
	defer conn.CloseNow() //nolint:errcheck // nothing is left to do about it
	conn.SetReadLimit(relayMessageBytes)
	c := &relayConn{relay: r, conn: conn, calls: map[uint64]*relayed{}, numbers: map[uint64][]*relayed{}, reads: semaphore.NewWeighted(readsAtOnce)}
	messages, broken := make(chan []byte), make(chan error, 1)
	go func() {
		for {
			_, message, err := conn.Read(ctx)
			if err != nil {
				broken <- err
				return
			}
			select {
			case messages <- message:
			case <-ctx.Done():
				return
			}
		}
	}()
	err = c.loop(ctx, messages, broken)
	return c.served, err
}

// loop handles the upstream's messages and the hub's changes until the connection fails or no
// client needs it.
func (c *relayConn) loop(ctx context.Context, messages <-chan []byte, broken <-chan error) error {
	s := c.server
	check := time.NewTicker(s.cfg.relayTimeout)
	defer check.Stop()
	if err := c.catchUp(ctx); err != nil {
		return err
	}
	// A ping has a goroutine, because it waits for its pong. The reader gets to the pong only when
	// loop has taken the messages before it.
	pinged, pinging := make(chan error, 1), false
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-broken:
		case message := <-messages:
			if err = c.take(ctx, message); err == nil {
				err = c.leave(ctx)
			}
		case <-s.hub.relayWanted:
			err = c.catchUp(ctx)
		case err = <-pinged:
			pinging = false
		case <-check.C:
			switch {
			case !s.hub.hasRelayed():
				return errRelayIdle
			case c.unanswered():
				err = errRelaySilent
			case !pinging:
				pinging = true
				go func() { pinged <- c.within(ctx, c.conn.Ping) }()
			}
		}
		if err != nil {
			return err
		}
	}
}

// within calls do with a context that ends after Config.relayTimeout.
func (c *relayConn) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.server.cfg.relayTimeout)
	defer cancel()
	return do(ctx)
}

// unanswered returns whether a subscription has waited too long for the upstream's answer.
func (c *relayConn) unanswered() bool {
	for _, entry := range c.calls {
		if entry != nil && time.Since(entry.asked) > c.server.cfg.relayTimeout {
			return true
		}
	}
	return false
}

// catchUp makes the new subscriptions of clients at the upstream, and ends those that no client
// wants any more.
func (c *relayConn) catchUp(ctx context.Context) error {
	fresh, gone := c.server.hub.relayChanges()
	c.leaving = append(c.leaving, gone...)
	if err := c.leave(ctx); err != nil {
		return err
	}
	for _, entry := range fresh {
		entry.asked = time.Now()
		if err := c.call(ctx, kindNames[entry.kind]+"Subscribe", entry.params, entry); err != nil {
			return err
		}
	}
	return nil
}

// leave ends the subscriptions at the upstream that no client wants any more, unless another one
// has the same number. It does nothing while the upstream has calls to answer, because one of these
// may get the same number.
func (c *relayConn) leave(ctx context.Context) error {
	if len(c.calls) > 0 {
		return nil
	}
	leaving := c.leaving
	c.leaving = nil
	for _, g := range leaving {
		users := c.numbers[g.number]
		at := slices.Index(users, g.entry)
		if at < 0 {
			continue // the number is of an earlier connection
		}
		if c.numbers[g.number] = slices.Delete(users, at, at+1); len(users) > 1 {
			continue
		}
		delete(c.numbers, g.number)
		if err := c.call(ctx, kindNames[g.entry.kind]+"Unsubscribe", json.RawMessage("["+strconv.FormatUint(g.number, 10)+"]"), nil); err != nil {
			return err
		}
	}
	return nil
}

// call sends a call. entry is the subscription that waits for its answer; nil if none does.
func (c *relayConn) call(ctx context.Context, method string, params json.RawMessage, entry *relayed) error {
	c.last++
	if entry != nil {
		c.calls[c.last] = entry
	}
	text, err := json.Marshal(message.Call{Version: "2.0", ID: json.RawMessage(strconv.FormatUint(c.last, 10)), Method: method, Params: params})
	if err != nil {
		return err
	}
	return c.within(ctx, func(ctx context.Context) error { return c.conn.Write(ctx, websocket.MessageText, text) })
}

// relayMessage is an answer or a notification of an upstream.
type relayMessage struct {
	ID     *uint64         `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *message.Error  `json:"error"`
	Params struct {
		Result       json.RawMessage `json:"result"`
		Subscription uint64          `json:"subscription"`
	} `json:"params"`
}

// take handles a message of the upstream. It ignores a message that it does not understand. Its
// only error is errRelayRefused, which ends the use of this upstream.
func (c *relayConn) take(ctx context.Context, text []byte) error {
	var m relayMessage
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	if m.ID == nil {
		for _, entry := range c.numbers[m.Params.Subscription] {
			if len(m.Params.Result) > 0 {
				// Without order, an upstream that lags would take an account back to an older
				// state.
				ordered := !entry.forks && time.Since(entry.asked) < c.server.cfg.relayLag
				c.server.hub.relayNotify(entry, m.Params.Result, ordered)
			}
		}
		return nil
	}
	entry := c.calls[*m.ID]
	delete(c.calls, *m.ID)
	if entry == nil {
		return nil
	}
	number, err := strconv.ParseUint(string(m.Result), 10, 64)
	if m.Error == nil && err != nil {
		m.Error = refusal(message.CodeInternal, "the upstream's answer is no subscription")
	}
	if m.Error != nil {
		if c.server.hub.relayRefused(entry, m.Error, len(c.server.cfg.WebSockets)) {
			return errRelayRefused
		}
		return nil
	}
	c.served = true
	c.numbers[number] = append(c.numbers[number], entry)
	if again := c.server.hub.relayAccepted(entry, number); again && entry.kind == kindAccount {
		go c.tellAccount(ctx, entry)
	}
	return nil
}

// tellAccount reads an account and notifies its subscribers of what it read, because the account
// may have changed while no upstream was connected.
func (c *relayConn) tellAccount(ctx context.Context, entry *relayed) {
	defer panics.Catch(c.server.deps.Logger, c.server.metrics.panics, nil)
	var params []any
	var now json.RawMessage
	if c.server.deps.Accounts == nil || json.Unmarshal(entry.params, &params) != nil || c.reads.Acquire(ctx, 1) != nil {
		return
	}
	defer c.reads.Release(1)
	if err := c.server.deps.Accounts.Call(ctx, "getAccountInfo", params, &now); err != nil {
		c.server.deps.Logger.Warn("subscriptions cannot read an account after a change of upstream", "err", err)
		return
	}
	var read struct {
		Context json.RawMessage `json:"context"`
		Value   json.RawMessage `json:"value"`
	}
	if json.Unmarshal(now, &read) == nil && string(read.Value) == "null" {
		if !c.server.hub.relayTold(entry) {
			return
		}
		now = emptyAccount(read.Context, params)
	}
	c.server.hub.relayNotify(entry, now, true)
}

// emptyAccount returns the notification of an account that does not exist any more, as a node makes
// it: an account without lamports and data that belongs to the system program (Agave's
// rpc_subscriptions.rs). params are those of the subscription.
func emptyAccount(slot json.RawMessage, params []any) json.RawMessage {
	var data any = ""
	if len(params) > 1 {
		config, _ := params[1].(map[string]any)
		switch encoding := config["encoding"]; encoding {
		case "base58", "base64", "base64+zstd":
			data = []any{"", encoding}
		case "jsonParsed":
			data = []any{"", "base64"}
		}
	}
	// No error: these values can be encoded.
	empty, _ := json.Marshal(map[string]any{"context": slot, "value": map[string]any{
		"lamports": 0, "owner": "11111111111111111111111111111111", "data": data, "executable": false, "rentEpoch": 0, "space": 0,
	}})
	return empty
}
