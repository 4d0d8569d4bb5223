package jsonrpc

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// buggy is a transport that panics at all but polls and getSlot while it is on.
type buggy struct{ on atomic.Bool }

func (b *buggy) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if b.on.Load() && !isPoll(string(body)) && !bytes.Contains(body, []byte("getSlot")) {
		panic("a bug")
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(r)
}

const (
	internalError  = `{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"},"id":1}`
	getBalanceCall = `{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["x"]}`
)

// TestAPanicIsTheCallsOwn: one in the goroutine of an attempt ends that call. The answer does not
// tell a call as failed that may have been made.
func TestAPanicIsTheCallsOwn(t *testing.T) {
	n := newNode(t, says(slot7))
	key, store := oneKey(t)
	transport := &buggy{}
	f := startThrough(t, Config{Upstreams: []string{n.URL, n.URL + "/second"}, SendUpstreams: 2, HedgeShare: 1}, store, transport)
	f.key = key
	for range hedgeSamples { // from now on reads may be hedged
		_, body := f.post(t, getBalanceCall)
		require.Equal(t, slot7, body)
	}
	transport.on.Store(true)
	status, body := f.post(t, getBalanceCall)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Equal(t, internalError, body)
	// Of this method no samples are known.
	status, body = f.post(t, `{"jsonrpc":"2.0","id":1,"method":"getBlockTime","params":[5]}`)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Equal(t, internalError, body)
	params, _ := transaction(1)
	for _, method := range []string{"sendTransaction", "requestAirdrop"} {
		status, body = f.post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
		require.Equal(t, http.StatusGatewayTimeout, status)
		require.Contains(t, body, "-32504")
	}
	status, body = f.post(t, "["+getBalanceCall+","+getSlot(1)+"]")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "["+internalError+","+slot7+"]", body)
	require.EqualValues(t, 2+2+2+1+2, testutil.ToFloat64(f.metrics.panics), "attempts")
	require.Contains(t, f.log.String(), "a bug")
	require.Contains(t, f.log.String(), "panics_test.go")
	require.Equal(t, 2, f.pool.wellCount(), "a panic says nothing of the upstream")
}

// TestAPanicBeforeAnyAttempt: in a batch, too, it is that of one call.
func TestAPanicBeforeAnyAttempt(t *testing.T) {
	n := newNode(t, says(slot7))
	key, store := oneKey(t)
	f := startGateway(t, Config{Upstreams: []string{n.URL}}, Deps{Keys: store, Local: []Local{localMethods{
		func(string, json.RawMessage, Ask) (json.RawMessage, error) { panic("a bug") }}}})
	f.key = key
	status, body := f.post(t, "["+assetCall(1)+","+getSlot(1)+"]")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "["+internalError+","+slot7+"]", body)
	status, body = f.post(t, assetCall(1))
	require.Equal(t, http.StatusInternalServerError, status)
	require.Equal(t, internalError, body)
	require.EqualValues(t, 2, testutil.ToFloat64(f.metrics.panics))
}
