package swap

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	rpcclient "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
	executed "github.com/mintlake/mintlake/testworld/chain"
)

// signedBy signs a transaction of any version with one key.
func signedBy(t testing.TB, text string, key solana.PrivateKey) string {
	t.Helper()
	wire, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	var tx txwire.Transaction
	require.NoError(t, tx.Parse(wire))
	message, err := tx.AppendMessage(nil)
	require.NoError(t, err)
	signature, err := key.Sign(message)
	require.NoError(t, err)
	tx.Signatures[0] = signature[:]
	wire, err = tx.Append(nil)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(wire)
}

// signatureOf returns the signature that signedBy makes.
func signatureOf(t testing.TB, r Response, key solana.PrivateKey) string {
	t.Helper()
	wire, err := base64.StdEncoding.DecodeString(signedBy(t, r.Txn, key))
	require.NoError(t, err)
	var tx txwire.Transaction
	require.NoError(t, tx.Parse(wire))
	return solana.SignatureFromBytes(tx.Signatures[0]).String()
}

// observed returns how many values a histogram has of these labels.
func observed(t testing.TB, histogram *prometheus.HistogramVec, labels ...string) int {
	t.Helper()
	var out dto.Metric
	require.NoError(t, histogram.WithLabelValues(labels...).(prometheus.Histogram).Write(&out))
	return int(out.GetHistogram().GetSampleCount())
}

// run makes slots until the test is over.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.step()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

func sendBody(t testing.TB, r Response, transaction, more string) string {
	t.Helper()
	quote, err := json.Marshal(r)
	require.NoError(t, err)
	return fmt.Sprintf(`{"quote":%s,"transaction":%q%s}`, quote, transaction, more)
}

// TestSentSwapsAreFollowed: landed, what arrived stands beside what was quoted, by balances; what
// no block can take any more is expired; what is not the quote's, or not signed, is not sent.
func TestSentSwapsAreFollowed(t *testing.T) {
	w := newWorld(t)
	f := startOver(t, Config{Hubs: []venue.Key{executed.NativeMint}}, w.rpc)
	user := walletOf(1)
	w.fund(user.PublicKey())
	var mint venue.Key
	for _, one := range w.majors() {
		if status, _ := f.do(t, http.MethodGet, query(executed.NativeMint, one, "1000000000", fieldOnlyDirect, "true"), ""); status == http.StatusOK {
			mint = one
		}
	}
	require.NotZero(t, mint)
	post := func(body string) (int, []byte) { return f.do(t, http.MethodPost, routeSend, body) }

	quote := func(in, out venue.Key, amount, version string) Response {
		return f.quoteOK(t, query(in, out, amount, fieldUser, user.PublicKey().String(), fieldVersion, version))
	}
	r := quote(executed.NativeMint, mint, "1000000000", "0")
	transaction := signedBy(t, r.Txn, user)
	lastValid := fmt.Sprintf(`block_height":%d`, r.LastValidBlockHeight)
	for body, message := range map[string]string{
		`{}`: "transaction is missing", `[]`: "the body must be", `{"transaction":"x"}`: "quote is missing", sendBody(t, r, "x", ""): "must be a transaction in base64",
		sendBody(t, r, r.Txn, ""):                                                               "must be signed by " + user.PublicKey().String(),
		sendBody(t, r, signedBy(t, r.Txn, walletOf(2)), ""):                                     "must be signed by",
		strings.Replace(sendBody(t, r, transaction, ""), lastValid, `block_height":0`, 1):       "its last_valid_block_height",
		sendBody(t, r, transaction, `,"payer":"x"`):                                             "there is no parameter",
		sendBody(t, r, transaction, `,"user_account":"x"`):                                      "user_account is",
		sendBody(t, r, transaction, `,"transaction":"x"`):                                       "transaction is given twice",
		sendBody(t, quote(executed.NativeMint, mint, "5000000", "0"), transaction, ""):          "its message is another one",
		strings.Replace(sendBody(t, r, transaction, ""), r.Route[0].Venue, "nowhere", 1):        "must be a venue that is quoted",
		sendBody(t, r, transaction, fmt.Sprintf(`,"user_account":%q`, walletOf(2).PublicKey())): "must be a signer",
	} {
		status, answer := post(body)
		require.Equal(t, http.StatusBadRequest, status, string(answer))
		require.Contains(t, string(answer), message)
		conforms(t, "Error", answer)
	}

	stop := w.run()
	defer stop()
	bought := uint64(0)
	var again, answered string
	for _, version := range []string{"0", "1"} {
		r := quote(executed.NativeMint, mint, "1000000000", version)
		again = sendBody(t, r, signedBy(t, r.Txn, user), "")
		status, answer := post(again)
		require.Equal(t, http.StatusOK, status, string(answer))
		conforms(t, "Sent", answer)
		var sent Sent
		require.NoError(t, json.Unmarshal(answer, &sent))
		require.Equal(t, sentLanded, sent.Status, string(answer))
		require.GreaterOrEqual(t, number(t, sent.AmountOut), number(t, r.MinAmountOut))
		require.Equal(t, r.AmountOut, sent.Quoted.AmountOut)
		require.Equal(t, "1000000000", sent.AmountIn, "without the fee and the rent")
		require.InDelta(t, (1-float64(number(t, sent.AmountOut))/float64(number(t, r.AmountOut)))*maxSlippage, *sent.SlippageBps, 0.01)
		bought, answered = bought+number(t, sent.AmountOut), sent.AmountOut
	}
	require.Equal(t, bought, w.holds(user.PublicKey(), mint.String()))
	require.EqualValues(t, 2, testutil.ToFloat64(f.metrics.sends.WithLabelValues(r.Route[0].Venue, legsLabel(len(r.Route)), sentLanded)))
	require.Equal(t, 2, observed(t, f.metrics.slippage, r.Route[0].Venue, legsLabel(len(r.Route))))

	// A client whose connection was lost does not know that it landed, and sends it again.
	status, answer := post(again)
	require.Equal(t, http.StatusOK, status, string(answer))
	var sent Sent
	require.NoError(t, json.Unmarshal(answer, &sent))
	require.Equal(t, sentLanded, sent.Status)
	require.Equal(t, answered, sent.AmountOut)
	require.Equal(t, bought, w.holds(user.PublicKey(), mint.String()))

	r = quote(mint, executed.NativeMint, decimal(bought/2), "0")
	events := f.sendEvents(t, sendBody(t, r, signedBy(t, r.Txn, user), ""))
	require.Equal(t, event{"sent", fmt.Appendf(nil, `{"signature":%q}`, signatureOf(t, r, user))}, events[0])
	last := events[len(events)-1]
	require.Equal(t, "result", last.name)
	require.NoError(t, json.Unmarshal(last.data, &sent))
	require.Equal(t, sentLanded, sent.Status, string(last.data))
	require.Equal(t, decimal(bought/2), sent.AmountIn)
	require.GreaterOrEqual(t, number(t, sent.AmountOut), number(t, r.MinAmountOut), "SOL, beside what it cost")

	r = quote(mint, executed.NativeMint, decimal(bought/8), "0")
	r.LastValidBlockHeight = 1
	stop()
	status, answer = post(sendBody(t, r, signedBy(t, r.Txn, user), ""))
	require.Equal(t, http.StatusOK, status, string(answer))
	require.NoError(t, json.Unmarshal(answer, &sent))
	require.Equal(t, sentExpired, sent.Status)
	require.Equal(t, "0", sent.AmountOut)
}

// TestSentSwapsThatMoveNothing: what the node refuses is not followed, and of what fails in its
// block only the fee is paid. Both are told as an answer and as events, and counted.
func TestSentSwapsThatMoveNothing(t *testing.T) {
	l := newLanding(t)
	post := func(body string) (int, []byte) { return l.do(t, http.MethodPost, routeSend, body) }
	sent := func(outcome string, r Response) float64 {
		return testutil.ToFloat64(l.metrics.sends.WithLabelValues(r.Route[0].Venue, legsLabel(len(r.Route)), outcome))
	}
	poor := walletOf(9)
	r := l.quoteOK(t, l.path(executed.NativeMint, l.mint, "1000000000", fieldUser, poor.PublicKey().String()))
	body := sendBody(t, r, signedBy(t, r.Txn, poor), "")
	status, answer := post(body)
	require.Equal(t, http.StatusUnprocessableEntity, status, string(answer))
	require.Contains(t, string(answer), codeRefused)
	conforms(t, "Error", answer)
	all := l.sendEvents(t, body)
	require.Len(t, all, 1)
	require.Equal(t, "error", all[0].name)
	conforms(t, "Error", all[0].data)
	require.EqualValues(t, 2, sent(sentRefused, r))

	r = l.buy(fieldSlippage, "0")
	body = sendBody(t, r, signedBy(t, r.Txn, l.user), "")
	other := l.quoteOK(t, l.path(executed.NativeMint, l.mint, "500000000000", fieldUser, l.friend.PublicKey().String()))
	require.True(t, slices.ContainsFunc(other.Route, func(leg Leg) bool { return leg.Pool == r.Route[0].Pool }))
	l.send(l.friend, other) // it is before the swap in its block
	done := make(chan []event, 1)
	go func() {
		defer close(done)
		done <- l.sendEvents(t, body)
	}()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.queue) == 2
	}, hang, time.Millisecond)
	stop := l.run()
	defer stop()
	all = <-done
	require.Equal(t, "sent", all[0].name)
	require.Equal(t, "result", all[len(all)-1].name)
	var failed Sent
	require.NoError(t, json.Unmarshal(all[len(all)-1].data, &failed))
	require.Equal(t, sentFailed, failed.Status)
	require.NotEqual(t, "null", string(failed.Err))
	require.EqualValues(t, costs(r), failed.Fee)
	require.Equal(t, [2]string{"0", "0"}, [2]string{failed.AmountIn, failed.AmountOut})
	require.Nil(t, failed.SlippageBps)
	require.EqualValues(t, 1, sent(sentFailed, r))
}

// answering is a JSON-RPC server whose answers a test changes.
type answering struct {
	*rpcclient.Client
	change func(method string, params []any, result any, err error) error
}

func (a *answering) Call(ctx context.Context, method string, params []any, result any) error {
	return a.change(method, params, result, a.Client.Call(ctx, method, params, result))
}

// sentWhile buys for 1 SOL with answers that the test changes, and tells what came of it. If over
// is set, the quote says that its blockhash is over.
func sentWhile(t *testing.T, over bool, change func(method string, params []any, result any, err error) error) (int, Sent) {
	t.Helper()
	l := newLanding(t)
	l.fixture = startOver(t, Config{Hubs: []venue.Key{executed.NativeMint}, routing: hang}, &answering{l.rpc, change})
	stop := l.run()
	defer stop()
	r := l.buy()
	if over {
		r.LastValidBlockHeight = 1
	}
	status, answer := l.do(t, http.MethodPost, routeSend, sendBody(t, r, signedBy(t, r.Txn, l.user), ""))
	var sent Sent
	require.NoError(t, json.Unmarshal(answer, &sent))
	if status == http.StatusOK {
		require.Equal(t, decimal(l.holds(l.user.PublicKey(), l.mint.String())), sent.AmountOut)
	}
	return status, sent
}

// TestWhatTheNodeMayHaveSentIsFollowed: a client that is told of a refusal signs another swap.
func TestWhatTheNodeMayHaveSentIsFollowed(t *testing.T) {
	for _, told := range []rpcclient.RPCError{
		{Code: -32002, Message: "Transaction simulation failed: This transaction has already been processed"}, {Code: -32002, Message: "Blockhash not found"},
		{Code: rpcclient.CodeNodeUnhealthy, Message: "Node is behind by 42 slots"}, {Code: -32429, Message: "too many requests"}, {Code: rpcclient.CodeInternal},
	} {
		statuses := 0
		status, sent := sentWhile(t, false, func(method string, params []any, result any, err error) error {
			switch method {
			case "sendTransaction":
				time.Sleep(lookEvery) // it lands
				return &told
			case "getSignatureStatuses":
				if statuses++; statuses == 1 {
					require.Equal(t, told.Message == "Blockhash not found", len(params) == 2, "the history is asked if nothing else tells")
				}
			}
			return err
		})
		require.Equal(t, http.StatusOK, status, told.Message)
		require.Equal(t, sentLanded, sent.Status, told.Message)
	}
}

// TestANodeWithoutHistoryRefusesAtOnce: what it does not know of the last blocks was not sent,
// unless the blockhash may be over.
func TestANodeWithoutHistoryRefusesAtOnce(t *testing.T) {
	for told, want := range map[string]int{"custom program error: 0x1": http.StatusUnprocessableEntity, "Blockhash not found": http.StatusOK} {
		status, _ := sentWhile(t, false, func(method string, params []any, result any, err error) error {
			switch {
			case method == "sendTransaction":
				return &rpcclient.RPCError{Code: -32002, Message: told}
			case method == "getSignatureStatuses" && len(params) == 2:
				return &rpcclient.RPCError{Code: rpcclient.CodeHistoryNotAvailable}
			case method == "getSignatureStatuses" && want != http.StatusOK:
				require.NoError(t, json.Unmarshal([]byte(`{"context":{"slot":1},"value":[null]}`), result))
			}
			return err
		})
		require.Equal(t, want, status, told)
	}
}

// TestASwapIsExpiredOnlyInAViewOfItsLastBlock: an upstream that is behind does not know of a swap
// that landed, and another one tells the height.
func TestASwapIsExpiredOnlyInAViewOfItsLastBlock(t *testing.T) {
	looks := 0
	status, sent := sentWhile(t, true, func(method string, _ []any, result any, err error) error {
		if method == "getSignatureStatuses" {
			if looks++; looks < 4 {
				require.NoError(t, json.Unmarshal([]byte(`{"context":{"slot":1},"value":[null]}`), result))
			}
		}
		return err
	})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, sentLanded, sent.Status)
}

// TestAmountsAboveAnInt64AreTold: a balance has 64 bits without a sign.
func TestAmountsAboveAnInt64AreTold(t *testing.T) {
	user := venue.Key(walletOf(1).PublicKey())
	o := &sendOrder{user: &user}
	for _, c := range []struct{ was, is, grew, shrank uint64 }{
		{10_000_000_000_000_000_000, 9_000_000_000_000_000_000, 0, 1_000_000_000_000_000_000},
		{9_000_000_000_000_000_000, 10_000_000_000_000_000_000, 1_000_000_000_000_000_000, 0},
		{0, math.MaxUint64, math.MaxUint64, 0}, {math.MaxUint64, 0, 0, math.MaxUint64},
	} {
		balances := func(amount uint64) string {
			return fmt.Sprintf(`[{"accountIndex":0,"mint":"coin","owner":%q,"uiTokenAmount":{"amount":"%d"}}]`, user, amount)
		}
		var l landed
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"meta":{"preTokenBalances":%s,"postTokenBalances":%s},"transaction":{"message":{"accountKeys":["a"]}}}`,
			balances(c.was), balances(c.is)), &l))
		moved := l.moved(o, "coin", true)
		require.Equal(t, [2]uint64{c.grew, c.shrank}, [2]uint64{moved.grew(), moved.shrank()})
	}
}

// event is a server-sent event.
type event struct {
	name string
	data []byte
}

// sendEvents posts a swap and reads the events until the last one.
func (f *fixture) sendEvents(t *testing.T, body string) (list []event) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+routeSend, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set(keyHeader, f.key)
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for _, one := range strings.Split(strings.TrimSpace(string(all)), "\n\n") {
		head, data, _ := strings.Cut(one, "\ndata: ")
		list = append(list, event{strings.TrimPrefix(head, "event: "), []byte(data)})
	}
	return list
}

func FuzzParseSend(f *testing.F) {
	f.Add([]byte(`{"transaction":"AQ==","quote":{"txn":"AQ==","route":[{"venue":"raydium_cpmm"}],"amount_in":"1"}}`))
	f.Add([]byte(`{"transaction":null,"quote":{},"user_account":"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &Server{covered: map[string]bool{"raydium_cpmm": true}}
		if o, err := s.parseSend(body); err == nil && (o.user == nil || o.signature == "" || len(o.wire) > txwire.V1.MaxBytes()) {
			t.Fatalf("accepted %s", body)
		}
	})
}
