package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/gateway/socket"
)

func (f *fixture) dial(t *testing.T) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/?apiKey="+f.key, nil)
	require.NoError(t, err)
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { conn.CloseNow() })
	return conn
}

func (f *fixture) call(t *testing.T, conn *websocket.Conn, message string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, conn.Write(ctx, websocket.MessageText, []byte(message)))
	_, reply, err := conn.Read(ctx)
	require.NoError(t, err)
	return string(reply)
}

func TestWebSocket(t *testing.T) {
	f := start(t, Config{maxFilters: 2}, func(to *socket.Timings) { to.PingInterval = 10 * time.Millisecond })
	conn := f.dial(t)
	subscribe := `{"jsonrpc":"2.0","id":"a","method":"transactionSubscribe","params":[{"failed":true,"accountInclude":["` + text(1) + `"]},{"commitment":"confirmed","encoding":"base64"}]}`
	require.JSONEq(t, `{"jsonrpc":"2.0","result":1,"id":"a"}`, f.call(t, conn, subscribe))
	require.JSONEq(t, `{"jsonrpc":"2.0","result":2,"id":2}`, f.call(t, conn, `{"jsonrpc":"2.0","id":2,"method":"transactionSubscribe","params":[{"account_include":["`+text(2)+`"]}]}`))
	require.Contains(t, f.call(t, conn, subscribe), "at most 2 subscriptions")

	f.publish(tx{number: 1, keys: []byte{3}}, tx{number: 2, slot: 8, keys: []byte{1, 2}, failed: true, loaded: []byte{4}, log: "hi"})
	got := map[float64]json.RawMessage{}
	for range 2 {
		_, message, err := conn.Read(t.Context())
		require.NoError(t, err)
		var n struct {
			Method string
			Params struct {
				Subscription float64
				Result       json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(message, &n))
		require.Equal(t, "transactionNotification", n.Method)
		got[n.Params.Subscription] = n.Params.Result
	}
	require.Len(t, got, 2)
	require.JSONEq(t, string(got[1]), string(got[2]))
	var result shown
	require.NoError(t, json.Unmarshal(got[1], &result))
	require.EqualValues(t, 8, result.Slot)
	require.EqualValues(t, 2, result.TransactionIndex)
	require.EqualValues(t, 0, result.Transaction.Version)
	require.Equal(t, []string{"hi"}, result.Transaction.Meta.LogMessages)
	require.Equal(t, map[string]any{"InstructionError": []any{2.0, map[string]any{"Custom": 6001.0}}}, result.Transaction.Meta.Err)
	require.Equal(t, []string{text(4)}, result.Transaction.Meta.Loaded.Writable)

	require.JSONEq(t, `{"jsonrpc":"2.0","result":true,"id":3}`, f.call(t, conn, `{"jsonrpc":"2.0","id":3,"method":"transactionUnsubscribe","params":[1]}`))
	require.JSONEq(t, `{"jsonrpc":"2.0","result":"pong","id":null}`, f.call(t, conn, `{"jsonrpc":"2.0","method":"ping"}`))
	for message, want := range map[string]string{
		`x`: "no JSON-RPC", `{}`: "jsonrpc must be", `{"jsonrpc":"2.0","method":"accountSubscribe","id":1}`: "no such method",
		`{"jsonrpc":"2.0","method":"transactionSubscribe"}`:                                                     "params must be",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[7]}`:                                        "right shape",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[null]}`:                                     "must be an object",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"foo":1}]}`:                                `unknown key \"foo\"; known are vote, failed`,
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"accountIncluded":[]}]}`:                   `unknown key \"accountIncluded\"`,
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"ACCOUNTINCLUDE":[]}]}`:                    `unknown key \"ACCOUNTINCLUDE\"`,
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"tokenAccounts":"all"}]}`:                  `unknown key \"tokenAccounts\"`,
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"vote":"no"}]}`:                            "vote cannot be a string",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"commitmnet":"confirmed"}]}`:            `unknown key \"commitmnet\"`,
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"showRewards":true}]}`:                  "no rewards",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"toSlot":1}]}`:                          `unknown key \"toSlot\"`,
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"accountInclude":["x"]}]}`:                 "base58",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"commitment":"finalized"}]}`:            "any finalized slot",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"commitment":"processed"}]}`:            "processed is not served",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"vote":true}]}`:                            "vote: true is not served",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"encoding":"jsonparsed"}]}`:             "must be one of base64, base58",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"transactionDetails":"all"}]}`:          "must be one of full, signatures",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"maxSupportedTransactionVersion":-1}]}`: "right shape",
		`{"jsonrpc":"2.0","method":"transactionUnsubscribe","params":[9]}`:                                      "no such subscription",
	} {
		require.Contains(t, f.call(t, conn, message), want, message)
	}
	require.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool { return f.hub.count() == 0 }, patience, 5*time.Millisecond)
}

// A client whose calls wait for their turn is alive, though its pong comes behind them.
func TestAThrottledClientIsAlive(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := start(t, Config{}, func(to *socket.Timings) {
		to.PingInterval, to.WriteTimeout, to.RefusalsPerSecond = 50*time.Millisecond, 5*time.Second, 5
	})
	conn := f.dial(t)
	const calls = socket.RefusalsFree + 35 // seven seconds of them wait
	for range calls {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"accountSubscribe"}`)))
	}
	for range calls {
		_, answer, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.Contains(t, string(answer), "-32601")
	}
}

// A client whose wsEndpoint is the stream learns where to look, and repeats its call once a second
// instead of as fast as it can.
func TestSubscriptionsOfTheRPCAddressAreRefusedSlowly(t *testing.T) {
	f := start(t, Config{}, func(to *socket.Timings) { to.RefusalsPerSecond = 1 / patience.Seconds() })
	conn := f.dial(t)
	const message = `{"jsonrpc":"2.0","id":1,"method":"signatureSubscribe","params":["x"]}`
	for n := range socket.RefusalsFree {
		answer := f.call(t, conn, strings.Replace(message, "signature", []string{"signature", "account", "program", "logs"}[n%4], 1))
		require.Contains(t, answer, "-32601")
		require.Contains(t, answer, "RPC address")
	}
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(message)))
	within, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := conn.Read(within)
	require.ErrorIs(t, err, context.DeadlineExceeded, "the answer waits")
}

func TestWebSocketOfOtherPagesIsRefused(t *testing.T) {
	f := start(t, Config{AllowedOrigins: []string{"https://app.example"}})
	for origin, ok := range map[string]bool{"https://app.example": true, "http://app.example": false, "https://evil.example": false} {
		conn, _, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/?apiKey="+f.key, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		require.Equal(t, ok, err == nil, origin)
		if err == nil {
			conn.CloseNow()
		}
	}
}

func TestOrdinaryHTTPAndGarbage(t *testing.T) {
	f := start(t, Config{})
	for path, want := range map[string]int{"/": 200, "/healthz": 200, "/readyz": 200, "/x": 404} {
		resp, err := http.Get("http://" + f.Addr() + path)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode)
		require.True(t, json.Valid(body))
	}
	for _, garbage := range []string{"", "P", "PRI x\r\n\r\n", "\x16\x03\x01\x00", strings.Repeat("x", 1<<16)} {
		conn, err := net.Dial("tcp", f.Addr())
		require.NoError(t, err)
		_, _ = io.WriteString(conn, garbage)
		conn.Close()
	}
	c, ctx := f.client(t)
	_, err := c.GetVersion(ctx, &pb.GetVersionRequest{})
	require.NoError(t, err)
}

// TestASubscriptionsNumberComesBeforeWhatItBrings: clients drop notifications of numbers that they
// do not know.
func TestASubscriptionsNumberComesBeforeWhatItBrings(t *testing.T) {
	f := start(t, Config{})
	socket := f.dial(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
				f.publish(tx{number: n, slot: uint64(n), keys: []byte{1}})
				time.Sleep(200 * time.Microsecond)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	known := map[uint64]bool{}
	for round := range 60 {
		require.NoError(t, socket.Write(f.context(t), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{}]}`)))
		var number uint64
		for number == 0 {
			_, message, err := socket.Read(f.context(t))
			require.NoError(t, err)
			var in struct {
				Result json.RawMessage
				Params struct{ Subscription uint64 }
			}
			require.NoError(t, json.Unmarshal(message, &in))
			if in.Params.Subscription != 0 {
				require.True(t, known[in.Params.Subscription], "round %d: %s", round, message)
			} else if string(in.Result) != "true" {
				require.NoError(t, json.Unmarshal(in.Result, &number), string(message))
				known[number] = true
			}
		}
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"transactionUnsubscribe","params":[%d]}`, number)
		require.NoError(t, socket.Write(f.context(t), websocket.MessageText, []byte(call)))
	}
}

// TestARefusedSubscriptionBringsNothing: a subscription that the server has no room for leaves no
// watch behind, and the others go on.
func TestARefusedSubscriptionBringsNothing(t *testing.T) {
	l := newMemoryLog(0)
	f := startOn(t, l, Config{stallAfter: patience})
	f.hub.addresses.Add(maxAllAddresses - 1) // other clients have these
	conn := f.dial(t)
	require.Contains(t, f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"accountInclude":["`+text(1)+`"]}]}`), `"result":1`)
	require.Contains(t, f.call(t, conn, `{"jsonrpc":"2.0","id":2,"method":"transactionSubscribe","params":[{"accountInclude":["`+text(2)+`"]}]}`), "as many addresses as it may")
	l.slot(100, 99, 0, false)
	l.slot(103, 102, 0, false)
	l.slot(104, 103, 2, false) // its second transaction has the address of subscription 1
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"gapNotification","params":{"result":{"firstSlot":101,"lastSlot":102},"subscription":1}}`,
		`"transactionNotification"`,
	} {
		_, message, err := conn.Read(f.context(t))
		require.NoError(t, err)
		require.Contains(t, string(message), want)
	}
}
