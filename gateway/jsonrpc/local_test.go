package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// localMethods answers by what the test has set.
type localMethods struct {
	answer func(method string, params json.RawMessage, ask Ask) (json.RawMessage, error)
}

func (localMethods) Methods() []string { return []string{"getAsset", "searchAssets"} }

func (l localMethods) Answer(_ context.Context, method string, params json.RawMessage, ask Ask) (json.RawMessage, error) {
	return l.answer(method, params, ask)
}

func assetCall(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"getAsset","params":{"id":"x"}}`, id)
}

// What is answered here needs no upstream, and what is not goes on as ever.
func TestLocalMethodsNeedNoUpstream(t *testing.T) {
	long := `"` + strings.Repeat("x", 3*peekBytes) + `"`
	key, store := oneKey(t)
	f := startLocal(t, Config{}, store, localMethods{func(method string, params json.RawMessage, ask Ask) (json.RawMessage, error) {
		require.Nil(t, ask)
		require.JSONEq(t, `{"id":"x"}`, string(params))
		return json.RawMessage(long), nil
	}})
	f.key = key
	for range 2 {
		status, body := f.post(t, assetCall(7))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, `{"jsonrpc":"2.0","result":`+long+`,"id":7}`, body)
	}
	require.True(t, f.localBytes.TryAcquire(localBytes), "all is given back")
	status, body := f.post(t, assetCall(7))
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	f.localBytes.Release(localBytes)
	status, body = f.post(t, getSlot(1))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "--rpc-upstream")
	status, body = f.post(t, "["+assetCall(1)+","+getSlot(2)+`,{"jsonrpc":"2.0","method":"getAsset"}]`)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `[{"jsonrpc":"2.0","result":`+long+`,"id":1},
		{"jsonrpc":"2.0","error":{"code":-32005,"message":"no JSON-RPC server is configured: start Mintlake with --rpc-upstream URL"},"id":2}]`, body)
	status, _ = f.post(t, `{"jsonrpc":"2.0","method":"getAsset"}`)
	require.Equal(t, http.StatusNoContent, status)
}

func TestLocalMethodsMayAskUpstream(t *testing.T) {
	n := newNode(t, func(w http.ResponseWriter, body string) {
		switch {
		case isPoll(body):
			says(slot7)(w, body)
		case strings.Contains(body, "getAsset"):
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":7,"result":"of the upstream"}`)
		case strings.Contains(body, "long"):
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 2*peekBytes)+`"}`)
		case strings.Contains(body, "endless"):
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", askBytes)+`"}`)
		default:
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[1]}}`)
		}
	})
	key, store := oneKey(t)
	f := startLocal(t, Config{Upstreams: []string{n.URL}, ShareReads: true}, store, localMethods{func(method string, _ json.RawMessage, ask Ask) (json.RawMessage, error) {
		if method == "getAsset" {
			return nil, ErrElsewhere
		}
		result, _, err := ask(t.Context(), "getLong", json.RawMessage(`["long"]`))
		require.NoError(t, err)
		require.Len(t, result, 2*peekBytes+2)
		_, _, err = ask(t.Context(), "getLong", json.RawMessage(`["endless"]`))
		require.Error(t, err)
		_, failure, err := ask(t.Context(), "getMore", nil)
		require.NoError(t, err)
		return nil, failure
	}})
	f.key = key
	status, body := f.post(t, assetCall(7))
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":7,"result":"of the upstream"}`, body)
	status, body = f.post(t, `{"jsonrpc":"2.0","id":3,"method":"searchAssets"}`)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no","data":[1]}}`, body)
	f.local["getAsset"] = localMethods{func(string, json.RawMessage, Ask) (json.RawMessage, error) { return nil, InvalidParams("%s", "x") }}
	_, body = f.post(t, assetCall(7))
	require.Equal(t, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params: x"},"id":7}`, body)
	n.Close()
	f.local["getAsset"] = localMethods{func(_ string, _ json.RawMessage, ask Ask) (json.RawMessage, error) {
		_, _, err := ask(t.Context(), "getMore", nil)
		return nil, errors.Join(errors.New("while asking"), err)
	}}
	status, _ = f.post(t, assetCall(7))
	require.Equal(t, http.StatusBadGateway, status)
}

// TestASessionGetsNoSlotOfALocal: what is answered here may be of an earlier slot than what the
// session has seen of an upstream.
func TestASessionGetsNoSlotOfALocal(t *testing.T) {
	n := newNode(t, func(w http.ResponseWriter, body string) {
		if strings.Contains(body, "getTokenSupply") {
			says(`{"jsonrpc":"2.0","result":{"context":{"slot":1000},"value":1},"id":1}`)(w, body)
		} else {
			says(`{"jsonrpc":"2.0","result":1000,"id":1}`)(w, body)
		}
	})
	key, store := oneKey(t)
	f := startLocal(t, Config{Upstreams: []string{n.URL}}, store, localMethods{})
	f.key = key
	here := localMethods{func(string, json.RawMessage, Ask) (json.RawMessage, error) {
		return json.RawMessage(`{"context":{"slot":500},"value":1}`), nil
	}}
	f.local["getTokenSupply"], f.local["getAsset"] = here, here
	supply := `{"jsonrpc":"2.0","id":1,"method":"getTokenSupply","params":["x",{"commitment":"confirmed"}]}`
	mine := []string{SessionHeader, "mine"}
	_, body, _ := f.respond(t, `{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"commitment":"confirmed"}]}`, mine...)
	require.Contains(t, body, "1000")
	_, body, _ = f.respond(t, supply, mine...)
	require.Contains(t, body, `"slot":1000`)
	_, body, _ = f.respond(t, "["+supply+"]", mine...)
	require.Contains(t, body, `"slot":1000`)
	_, body, _ = f.respond(t, supply)
	require.Contains(t, body, `"slot":500`, "without a session")
	_, body, _ = f.respond(t, assetCall(1), mine...)
	require.Contains(t, body, `"slot":500`, "an asset belongs to no slot")
}
