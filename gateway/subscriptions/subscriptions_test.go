package subscriptions

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func notification(method, result, subscription string) string {
	return `{"jsonrpc":"2.0","method":"` + method + `","params":{"result":` + result + `,"subscription":` + subscription + `}}`
}

// Clients send first and subscribe then: what has landed meanwhile must be told at once, or they
// wait for ever.
func TestASignatureThatLandedBeforeIsToldAtOnce(t *testing.T) {
	u := newUpstream()
	u.statuses[signature(1)] = landedStatus(50, "null", "finalized")
	u.statuses[signature(2)] = landedStatus(51, `{"InstructionError":[0,{"Custom":1}]}`, "confirmed")
	f := start(t, Config{pollInterval: time.Hour}, u)
	c := f.dial(t)
	id := c.subscribe("signatureSubscribe", `["`+signature(1)+`"]`)
	require.JSONEq(t, notification("signatureNotification", `{"context":{"slot":50},"value":{"err":null}}`, id), c.read())
	id = c.subscribe("signatureSubscribe", `["`+signature(2)+`",{"commitment":"confirmed","enableReceivedNotification":true}]`)
	require.JSONEq(t, notification("signatureNotification", `{"context":{"slot":51},"value":"receivedSignature"}`, id), c.read())
	require.JSONEq(t, notification("signatureNotification", `{"context":{"slot":51},"value":{"err":{"InstructionError":[0,{"Custom":1}]}}}`, id), c.read())
	require.Contains(t, c.call("signatureUnsubscribe", "["+id+"]"), "Invalid subscription id.", "it ended with its answer")
	require.Zero(t, f.hub.waiting())
	require.Zero(t, f.hub.open.Taken())
}

// Each commitment waits for its own time.
func TestCommitmentsFromTheUpstream(t *testing.T) {
	u := newUpstream()
	f := start(t, Config{}, u)
	c := f.dial(t)
	ids := map[string]string{}
	for _, commitment := range []string{"processed", "confirmed", "finalized"} {
		ids[commitment] = c.subscribe("signatureSubscribe", `["`+signature(1)+`",{"commitment":"`+commitment+`"}]`)
	}
	for _, commitment := range []string{"processed", "confirmed", "finalized"} {
		u.set(func() { u.statuses[signature(1)] = landedStatus(9, "null", commitment) })
		require.JSONEq(t, notification("signatureNotification", `{"context":{"slot":9},"value":{"err":null}}`, ids[commitment]), c.read())
	}
	asked := u.count("getSignatureStatuses")
	require.Zero(t, f.hub.waiting())
	c.call("ping", "[]")
	require.LessOrEqual(t, u.count("getSignatureStatuses"), asked+1, "nobody waits, so nobody asks")
}

// What ingest sees is told without the upstream; finalized is not known then, and refused.
func TestSignaturesFromIngest(t *testing.T) {
	f := start(t, Config{}, nil)
	for range 2 {
		<-f.broker.opened // always, as nothing else would tell
	}
	c := f.dial(t)
	id := c.subscribe("signatureSubscribe", `["`+signature(1)+`",{"commitment":"confirmed"}]`)
	other := c.subscribe("signatureSubscribe", `["`+signature(2)+`",{"commitment":"processed","enableReceivedNotification":false}]`)
	topic := f.broker.topics[schemas.TopicTransactions]
	topic <- transactionRecord(3, 1, nil)
	topic <- kafka.Record{Value: []byte("garbage"), Headers: ofTransaction}
	topic <- kafka.Record{Value: []byte{10, 2, 10, 0xff}, Headers: ofTransaction}
	topic <- transactionRecord(1, 77, nil)
	topic <- transactionRecord(2, 78, []byte{8, 0, 0, 0, 2, 25, 0, 0, 0, 0x71, 0x17, 0, 0})
	require.JSONEq(t, notification("signatureNotification", `{"context":{"slot":77},"value":{"err":null}}`, id), c.read())
	require.JSONEq(t, notification("signatureNotification", `{"context":{"slot":78},"value":{"err":{"InstructionError":[2,{"Custom":6001}]}}}`, other), c.read())
	for method, params := range map[string]string{"signatureSubscribe": `["` + signature(1) + `"]`, "rootSubscribe": `[]`} {
		require.Contains(t, c.call(method, params), `"code":-32005`, "the default commitment is finalized")
	}
}

// takesFees counts the transactions it gets.
type takesFees struct{ taken chan kafka.Record }

func (takesFees) Wanted() bool          { return true }
func (f takesFees) Take(r kafka.Record) { f.taken <- r }

// The topic is read for estimates of fees too, while nobody waits for a signature.
func TestTransactionsAreReadForFees(t *testing.T) {
	b, estimates := newBroker(), takesFees{make(chan kafka.Record, 1)}
	s, err := New(Config{}, Deps{Offsets: b, OpenTail: b.open, RPC: newUpstream(), Fees: estimates})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.topics[schemas.TopicTransactions] <- transactionRecord(1, 77, nil)
	require.NotEmpty(t, (<-estimates.taken).Value)
	cancel()
	require.NoError(t, <-done)
}

func TestSlotsFromIngestAndRootsFromTheUpstream(t *testing.T) {
	u := newUpstream()
	u.tips["finalized"], u.skipped[71] = 70, true
	f := start(t, Config{}, u)
	f.hub.newSlot(99, 98, fromIngest)
	c := f.dial(t)
	root := c.subscribe("rootSubscribe", "[]")
	require.JSONEq(t, notification("rootNotification", "70", root), c.read())
	u.set(func() { u.tips["finalized"] = 73 })
	require.JSONEq(t, notification("rootNotification", "72", root), c.read(), "71 was skipped")
	require.JSONEq(t, notification("rootNotification", "73", root), c.read())
	slot := c.subscribe("slotSubscribe", "[]")
	topic := f.broker.topics[schemas.TopicSlots]
	topic <- kafka.Record{Key: []byte(schemas.SourceStatusKey), Value: []byte{1}}
	topic <- kafka.Record{Key: []byte("1"), Value: []byte("garbage")}
	topic <- slotRecord(100, 98, eventspb.SlotStatus_SLOT_STATUS_SKIPPED)
	topic <- slotRecord(101, 99, eventspb.SlotStatus_SLOT_STATUS_INGESTED)
	topic <- slotRecord(60, 59, eventspb.SlotStatus_SLOT_STATUS_INGESTED) // a backfill
	topic <- slotRecord(102, 101, eventspb.SlotStatus_SLOT_STATUS_INGESTED)
	require.JSONEq(t, notification("slotNotification", `{"slot":101,"parent":99,"root":73}`, slot), c.read())
	require.JSONEq(t, notification("slotNotification", `{"slot":102,"parent":101,"root":73}`, slot), c.read())
	require.JSONEq(t, `{"jsonrpc":"2.0","result":true,"id":1}`, c.call("slotUnsubscribe", "["+slot+"]"))
	require.Contains(t, c.call("slotUnsubscribe", "["+root+"]"), "Invalid subscription id.", "of another kind")
	require.JSONEq(t, `{"jsonrpc":"2.0","result":true,"id":1}`, c.call("rootUnsubscribe", "["+root+"]"))
}

// While ingest is away or behind, the upstream tells the slots.
func TestSlotsFromTheUpstream(t *testing.T) {
	u := newUpstream()
	u.tips["finalized"], u.tips["confirmed"] = 70, 100
	f := start(t, Config{feedPatience: time.Nanosecond}, u)
	c := f.dial(t)
	slot := c.subscribe("slotSubscribe", "[]")
	require.JSONEq(t, notification("slotNotification", `{"slot":100,"parent":99,"root":70}`, slot), c.read())
	u.set(func() { u.tips["confirmed"], u.skipped[101] = 103, true })
	require.JSONEq(t, notification("slotNotification", `{"slot":102,"parent":100,"root":70}`, slot), c.read())
	require.JSONEq(t, notification("slotNotification", `{"slot":103,"parent":102,"root":70}`, slot), c.read())
	u.set(func() { u.away = true })
	c.call("ping", "[]")
	u.set(func() { u.away, u.tips["confirmed"] = false, 104 })
	require.JSONEq(t, notification("slotNotification", `{"slot":104,"parent":103,"root":70}`, slot), c.read(), "trouble passes")
}

// What ingest reads finalized is a root.
func TestRootsOfAFinalizedSource(t *testing.T) {
	f := start(t, Config{Commitment: "finalized"}, nil)
	c := f.dial(t)
	root := c.subscribe("rootSubscribe", "[]")
	f.broker.topics[schemas.TopicSlots] <- slotRecord(5, 4, eventspb.SlotStatus_SLOT_STATUS_INGESTED)
	require.JSONEq(t, notification("rootNotification", "5", root), c.read())
	_, err := New(Config{Commitment: "processed"}, Deps{Offsets: f.broker, OpenTail: f.broker.open})
	require.ErrorContains(t, err, "confirmed or finalized")
	_, err = New(Config{}, Deps{})
	require.ErrorContains(t, err, "required")
}

func TestWhatIsNotUnderstoodIsAnswered(t *testing.T) {
	f := start(t, Config{}, newUpstream())
	c := f.dial(t)
	for message, want := range map[string]string{
		`x`: `"code":-32700`, `{}`: `"code":-32600`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: "one call a message", `7`: `"code":-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                                                                   `"code":-32600`,
		`{"jsonrpc":"2.0","id":"a","method":"accountSubscribe","params":[]}`:                                                          `"code":-32601`,
		`{"jsonrpc":"2.0","id":"a","method":"getSlot"}`:                                                                               `"code":-32601`,
		`{"jsonrpc":"2.0","id":"a","method":"slotSubscribe","params":{}}`:                                                             `"code":-32602`,
		`{"jsonrpc":"2.0","id":"a","method":"signatureSubscribe"}`:                                                                    `"code":-32602`,
		`{"jsonrpc":"2.0","id":"a","method":"signatureUnsubscribe"}`:                                                                  `"code":-32602`,
		`{"jsonrpc":"2.0","id":"a","method":"slotUnsubscribe","params":[-1]}`:                                                         "Invalid subscription id.",
		`{"jsonrpc":"2.0","id":"a","method":"signatureSubscribe","params":["` + strings.Repeat("1", 64) + `",{"commitment":"sure"}]}`: "commitment must be",
		`{"jsonrpc":"2.0","id":"a","method":"signatureSubscribe","params":["` + strings.Repeat("1", 64) + `",7]}`:                     "the second must be",
		`{"jsonrpc":"2.0","id":"a","method":"signatureSubscribe","params":["` + strings.Repeat("1", 64) + `",{},1]}`:                  "at most 2",
		`{"jsonrpc":"2.0","id":"a","method":"signatureSubscribe","params":["short"]}`:                                                 "Invalid signature provided",
		`{"jsonrpc":"2.0","id":"a","method":"signatureSubscribe","params":["` + strings.Repeat("z", 5000) + `"]}`:                     "Invalid signature provided",
	} {
		c.send(message)
		require.Contains(t, c.read(), want, message)
	}
	c.send(`{"jsonrpc":"2.0","method":"ping"}`) // a heartbeat wants no answer
	require.JSONEq(t, `{"jsonrpc":"2.0","result":"pong","id":1}`, c.call("ping", "[]"))
	require.Zero(t, f.hub.open.Taken())
}

// A client that repeats at once what is refused gets its errors slowly.
func TestRefusalsAreThrottled(t *testing.T) {
	f := start(t, Config{}, newUpstream(), func(to *socket.Timings) { to.RefusalsPerSecond = 1.0 / patience.Seconds() })
	c := f.dial(t)
	for range socket.RefusalsFree {
		require.Contains(t, c.call("accountSubscribe", "[]"), "-32601")
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"accountSubscribe"}`)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"accountSubscribe"}`)
	refused := f.metrics.calls.WithLabelValues("refused")
	require.Eventually(t, func() bool { return testutil.ToFloat64(refused) == socket.RefusalsFree+1 }, patience, time.Millisecond)
	within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := c.Read(within)
	require.Error(t, err, "the answer waits")
	require.EqualValues(t, socket.RefusalsFree+1, testutil.ToFloat64(refused), "and what comes after it is not read")
}

// A client whose calls wait for their turn is alive, though its pong comes behind them.
func TestAThrottledClientIsAlive(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := start(t, Config{}, newUpstream(), func(to *socket.Timings) {
		to.PingInterval, to.WriteTimeout, to.RefusalsPerSecond = 50*time.Millisecond, 5*time.Second, 5
	})
	c := f.dial(t)
	const calls = socket.RefusalsFree + 35 // seven seconds of them wait
	for range calls {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"accountSubscribe"}`)
	}
	for range calls {
		require.Contains(t, c.read(), "-32601")
	}
}

func TestBounds(t *testing.T) {
	f := start(t, Config{maxConnections: 3, maxConnectionsPerClient: 2, maxSubscriptions: 2, maxSubscriptionsTotal: 3}, newUpstream())
	one, two := f.dial(t), f.dial(t)
	dial := func(client string) int {
		conn, resp, err := websocket.Dial(t.Context(), f.url+"/?client="+client, nil)
		if err == nil {
			t.Cleanup(func() { conn.CloseNow() })
			return http.StatusSwitchingProtocols
		}
		return resp.StatusCode
	}
	require.Equal(t, http.StatusTooManyRequests, dial("a"))
	other := f.dialAs(t, "b")
	require.Equal(t, http.StatusServiceUnavailable, dial("c"))
	one.subscribe("slotSubscribe", "[]")
	one.subscribe("slotSubscribe", "[]")
	require.Contains(t, one.call("slotSubscribe", "[]"), "on this connection")
	require.Contains(t, two.call("slotSubscribe", "[]"), "as are free for all others", "a third is for another client")
	other.subscribe("slotSubscribe", "[]")
	require.Contains(t, other.call("slotSubscribe", "[]"), "on this server")
	require.NoError(t, one.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool { return f.hub.open.Taken() == 1 }, patience, time.Millisecond)
	two.subscribe("slotSubscribe", "[]")

	two.send(`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxMessageBytes) + `"}`)
	_, _, err := two.Read(t.Context())
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err))
}

func TestASlowClientIsCutOffWithAReason(t *testing.T) {
	f := start(t, Config{buffer: 4}, newUpstream())
	c := f.dial(t)
	c.subscribe("slotSubscribe", "[]")
	c.subscribe("slotSubscribe", "[]")
	f.hub.mu.Lock() // as much as comes at once, while the client's sender cannot
	for s := range f.hub.sessions {
		for range 100_000 {
			s.queue([]byte(strings.Repeat("x", 100)))
		}
	}
	f.hub.mu.Unlock()
	for {
		_, _, err := c.Read(t.Context())
		if err != nil {
			require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
			require.ErrorContains(t, err, "reads slower")
			break
		}
	}
	require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.lagged))
}

func TestAStopIsSaid(t *testing.T) {
	f := start(t, Config{}, nil)
	c := f.dial(t)
	c.subscribe("slotSubscribe", "[]")
	said := make(chan error, 1)
	go func() {
		_, _, err := c.Read(context.Background())
		said <- err
	}()
	f.stop()
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(<-said))
	_, resp, err := websocket.Dial(t.Context(), f.url, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
}

// FuzzHandle: any message gets one answer that is JSON, or none if it is a notification, and never
// ends the server.
func FuzzHandle(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"accountSubscribe","params":["x",{"encoding":"base64"}]}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"logsUnsubscribe","params":[7]}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"signatureSubscribe","params":["` + signature(1) + `",{"commitment":"confirmed"}]}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","method":"slotUnsubscribe","params":[1]}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"ping"}]`))
	b := newBroker()
	s, err := New(Config{WebSockets: []string{"ws://127.0.0.1:1"}}, Deps{Offsets: b, OpenTail: b.open, RPC: newUpstream()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		c := newSession(s, "", nil)
		require.NoError(t, s.hub.addSession(c))
		defer s.hub.removeSession(c)
		if answer, refused := c.Handle(message); answer != nil {
			require.True(t, refused)
			c.queue(answer)
		}
		require.LessOrEqual(t, len(c.out), 1)
		if len(c.out) == 1 {
			require.Contains(t, string(<-c.out), `{"jsonrpc":"2.0"`)
		}
	})
}
