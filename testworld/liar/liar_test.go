package liar

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const account = `{"owner":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","lamports":1,"data":["` +
	`AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==","base64"],"executable":false}`

var honest = map[string]string{
	"getSlot":             `400000000`,
	"getBlocks":           `[399999998,399999999,400000000]`,
	"getBlock":            `{"parentSlot":399999999,"blockTime":1795000000,"transactions":[]}`,
	"getMultipleAccounts": `{"context":{"slot":400000000},"value":[` + account + `,null,` + account + `,` + account + `]}`,
	"getGenesisHash":      `"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"`,
}

func serve(t *testing.T, behaviour Behaviour) (*Liar, func(method string) string) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct{ Method string }
		_ = json.NewDecoder(r.Body).Decode(&question)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, honest[question.Method])
	}))
	t.Cleanup(node.Close)
	l := New(node.URL, behaviour)
	proxy := httptest.NewServer(l)
	t.Cleanup(proxy.Close)
	return l, func(method string) string {
		response, err := http.Post(proxy.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":[]}`))
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.True(t, json.Valid(body))
		return string(body)
	}
}

func TestLiesAreDecidedByTheSeed(t *testing.T) {
	l, ask := serve(t, Behaviour{Seed: 1, Share: 0.5})
	_, again := serve(t, Behaviour{Seed: 1, Share: 0.5})
	_, other := serve(t, Behaviour{Seed: 2, Share: 0.5})
	differ, same := 0, 0
	for range 60 {
		for _, method := range []string{"getSlot", "getBlocks", "getBlock", "getMultipleAccounts"} {
			said := ask(method)
			require.Equal(t, said, again(method))
			if said == other(method) {
				same++
			} else {
				differ++
			}
		}
	}
	require.Positive(t, same)
	require.Positive(t, differ)
	require.Positive(t, l.Lies())
	require.Contains(t, ask("getGenesisHash"), honest["getGenesisHash"], "no lie is known")
}

func TestEveryKindChangesTheAnswer(t *testing.T) {
	for kind, method := range map[string]string{Slots: "getMultipleAccounts", Parents: "getBlock", Times: "getBlock", Owners: "getMultipleAccounts",
		Amounts: "getMultipleAccounts", Others: "getMultipleAccounts"} {
		l, ask := serve(t, Behaviour{Seed: 7, Share: 1, Only: []string{kind}})
		changed := 0
		for range 20 {
			if !strings.Contains(ask(method), honest[method]) {
				changed++
			}
		}
		require.Greater(t, changed, 10, kind)
		l.Stop()
		require.Contains(t, ask(method), honest[method], "%s: it has stopped", kind)
	}
}
