package swap

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

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
	for body, message := range map[string]string{
		`{}`: "transaction is missing", `[]`: "the body must be", `{"transaction":"x"}`: "quote is missing", sendBody(t, r, "x", ""): "must be a transaction in base64",
		sendBody(t, r, r.Txn, ""):                                                               "must be signed by " + user.PublicKey().String(),
		sendBody(t, r, signedBy(t, r.Txn, walletOf(2)), ""):                                     "must be signed by",
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
	for _, version := range []string{"0", "1"} {
		r := quote(executed.NativeMint, mint, "1000000000", version)
		status, answer := post(sendBody(t, r, signedBy(t, r.Txn, user), ""))
		require.Equal(t, http.StatusOK, status, string(answer))
		conforms(t, "Sent", answer)
		var sent Sent
		require.NoError(t, json.Unmarshal(answer, &sent))
		require.Equal(t, sentLanded, sent.Status, string(answer))
		require.GreaterOrEqual(t, number(t, sent.AmountOut), number(t, r.MinAmountOut))
		require.Equal(t, r.AmountOut, sent.Quoted.AmountOut)
		require.Equal(t, "1000000000", sent.AmountIn, "without the fee and the rent")
		require.InDelta(t, (1-float64(number(t, sent.AmountOut))/float64(number(t, r.AmountOut)))*maxSlippage, *sent.SlippageBps, 0.01)
		bought += number(t, sent.AmountOut)
	}
	require.Equal(t, bought, w.holds(user.PublicKey(), mint.String()))
	require.EqualValues(t, 2, testutil.ToFloat64(f.metrics.sends.WithLabelValues(r.Route[0].Venue, legsLabel(len(r.Route)), sentLanded)))

	r = quote(mint, executed.NativeMint, decimal(bought/2), "0")
	name, data := f.lastEvent(t, sendBody(t, r, signedBy(t, r.Txn, user), ""))
	require.Equal(t, "result", name)
	var sent Sent
	require.NoError(t, json.Unmarshal(data, &sent))
	require.Equal(t, sentLanded, sent.Status, string(data))
	require.Equal(t, decimal(bought/2), sent.AmountIn)
	require.GreaterOrEqual(t, number(t, sent.AmountOut), number(t, r.MinAmountOut), "SOL, beside what it cost")

	r = quote(mint, executed.NativeMint, decimal(bought/8), "0")
	r.LastValidBlockHeight = 1
	stop()
	status, answer := post(sendBody(t, r, signedBy(t, r.Txn, user), ""))
	require.Equal(t, http.StatusOK, status, string(answer))
	require.NoError(t, json.Unmarshal(answer, &sent))
	require.Equal(t, sentExpired, sent.Status)
	require.Equal(t, "0", sent.AmountOut)
}

// lastEvent posts a swap and reads the events until the last one.
func (f *fixture) lastEvent(t *testing.T, body string) (name string, data []byte) {
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
	events := strings.Split(strings.TrimSpace(string(all)), "\n\n")
	require.True(t, strings.HasPrefix(events[0], "event: sent\n"), events[0])
	head, content, _ := bytes.Cut([]byte(events[len(events)-1]), []byte("\ndata: "))
	return strings.TrimPrefix(string(head), "event: "), content
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
