package solana

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// finalCodes are the only JSON-RPC codes after which a read is not made again at the same endpoint.
var finalCodes = map[int]bool{
	-32001: true, -32007: true, -32009: true, -32010: true, -32011: true, -32015: true, -32600: true, -32601: true, -32602: true,
	301: true, 308: true, 400: true, 401: true, 403: true, 404: true, 405: true, 410: true, 413: true, 415: true,
	-32400: true, -32401: true, -32403: true, -32404: true, -32405: true, -32410: true, -32413: true, -32415: true,
}

// reads are typed reads of the client.
var reads = map[string]func(t *testing.T, c *Client) error{
	"getSlot": func(t *testing.T, c *Client) error {
		_, err := c.GetSlot(t.Context(), Confirmed)
		return err
	},
	"getBlock": func(t *testing.T, c *Client) error {
		_, err := c.GetBlock(t.Context(), 5, BlockOptions{})
		return err
	},
	"getBlocks": func(t *testing.T, c *Client) error {
		_, err := c.GetBlocks(t.Context(), 5, 6, Confirmed)
		return err
	},
	"getGenesisHash": func(t *testing.T, c *Client) error {
		_, err := c.GetGenesisHash(t.Context())
		return err
	},
	"getMultipleAccounts": func(t *testing.T, c *Client) error {
		_, _, err := c.GetMultipleAccounts(t.Context(), make([]pubkey.Key, 1), AccountOptions{})
		return err
	},
}

// answers are what an honest server says to each of reads.
var answers = map[string]string{
	"getSlot": `"result":7`, "getBlock": `"result":{"blockhash":"x"}`, "getBlocks": `"result":[5]`, "getGenesisHash": `"result":"11111111111111111111111111111111"`,
	"getMultipleAccounts": `"result":{"context":{"slot":1},"value":[null]}`,
}

// TestRetryableIsTheDefault: of all codes a server may give, those on the list are final, and
// whatever else it says is asked again.
func TestRetryableIsTheDefault(t *testing.T) {
	codes := []int{0, 1, -1, 12, 100, 200, 999, 1015, -32029, -32097, -32099, -33000, 1 << 31, -1 << 31, 1<<53 + 1}
	for code := -32800; code <= -31900; code++ {
		codes = append(codes, code)
	}
	for code := 300; code < 600; code++ {
		codes = append(codes, code)
	}
	for _, code := range codes {
		require.Equal(t, !finalCodes[code], Retryable(fmt.Errorf("x: %w", &RPCError{Code: code})), code)
	}
	for status := 100; status < 600; status++ {
		final := finalCodes[status]
		require.Equal(t, !final, Retryable(&HTTPError{Status: status}), status)
	}
}

// oddAnswers are answers of a server that has something wrong with it for a moment.
func oddAnswers() map[string]func(w http.ResponseWriter) {
	odd := map[string]func(w http.ResponseWriter){}
	body := func(name string, status int, text string) {
		odd[fmt.Sprintf("%s with %d", name, status)] = func(w http.ResponseWriter) {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, text)
		}
	}
	for _, code := range []int{-32000, -32002, -32005, -32012, -32014, -32016, -32029, -32097, -32099, -32429, -32500, -32603, -32700, 0, 12, 429, 503, 1015} {
		for _, status := range []int{200, 400, 503, 520} {
			body(fmt.Sprintf("code %d", code), status, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"m"}}`, code))
		}
	}
	for _, code := range []int{-32007, -32009, -32015, -32601, -32602} { // the status counts first
		for _, status := range []int{429, 503, 302} {
			body(fmt.Sprintf("code %d", code), status, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"m"}}`, code))
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "spaces": " \n", "html": "<html><title>Just a moment...</title>", "a text": "upstream connect error", "an array": "[]", "null": "null",
		"a number": "7", "no members": "{}", "a result of null": `{"jsonrpc":"2.0","id":1,"result":null}`, "an error of null": `{"jsonrpc":"2.0","id":1,"error":null}`,
		"an error that is a text": `{"jsonrpc":"2.0","id":1,"error":"rate limited"}`, "a code that is a text": `{"error":{"code":"-32007","message":"m"}}`,
		"an error without a code": `{"error":{"message":"m"}}`, "a code with a fraction": `{"error":{"code":-32007.5,"message":"m"}}`, "an error of true": `{"error":true}`,
		"result and error": `{"result":7,"error":{"code":-32000,"message":"m"}}`, "another result": `{"result":"seven"}`, "a result of objects": `{"result":[{}]}`,
		"cut off": `{"jsonrpc":"2.0","id":1,"result":7`, "two answers": `{"result":7}{"result":8}`, "a result of true": `{"result":true}`, "below zero": `{"result":-7}`,
		"too large": `{"result":18446744073709551616}`, "a fraction": `{"result":7.5}`,
	} {
		for _, status := range []int{200, 202, 500} {
			body(name, status, text)
		}
	}
	odd["hang up"] = func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	return odd
}

// TestAnOddAnswerIsAskedAgain at the same endpoint, or at once at another one.
func TestAnOddAnswerIsAskedAgain(t *testing.T) {
	odd := oddAnswers()
	var now atomic.Pointer[string]
	first, calls := server(t, func(w http.ResponseWriter, method string, call int) {
		if call%2 == 1 {
			odd[*now.Load()](w)
			return
		}
		reply(w, answers[method])
	})
	always, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { odd[*now.Load()](w) })
	good, _ := server(t, func(w http.ResponseWriter, method string, _ int) { reply(w, answers[method]) })
	for name := range odd {
		now.Store(&name)
		for method, ask := range reads {
			before := calls.Load()
			require.NoError(t, ask(t, client(t, Config{Endpoints: []string{first.URL}})), "%s, %s", name, method)
			require.EqualValues(t, 2, calls.Load()-before, "%s, %s", name, method)
			if method == "getSlot" || method == "getBlock" {
				two := client(t, Config{Endpoints: []string{always.URL, good.URL}, MaxAttempts: 1})
				require.NoError(t, ask(t, two), "%s, %s", name, method)
			}
		}
	}
}

// TestAnotherEndpointIsAskedForWhatIsFinal at the first: only what the chain has in a slot is the
// same everywhere.
func TestAnotherEndpointIsAskedForWhatIsFinal(t *testing.T) {
	for code := range finalCodes {
		refuses, _ := server(t, func(w http.ResponseWriter, _ string, _ int) {
			reply(w, fmt.Sprintf(`"error":{"code":%d,"message":"m"}`, code))
		})
		good, calls := server(t, func(w http.ResponseWriter, method string, _ int) { reply(w, answers[method]) })
		_, err := client(t, Config{Endpoints: []string{refuses.URL, good.URL}}).GetBlock(t.Context(), 5, BlockOptions{})
		switch code {
		case CodeSlotSkipped, CodeLongTermStorageSlotSkipped, CodeUnsupportedVersion:
			require.Error(t, err, code)
			require.Zero(t, calls.Load(), code)
		default:
			require.NoError(t, err, code)
		}
		refuses.Close()
		good.Close()
	}
}

// TestTheErrorOfARefusedStatusIsShown, although only the status counts.
func TestTheErrorOfARefusedStatusIsShown(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, _ string, _ int) {
		w.WriteHeader(http.StatusServiceUnavailable)
		reply(w, `"error":{"code":-32012,"message":"scan aborted"}`)
	})
	_, err := client(t, Config{Endpoints: []string{s.URL}, MaxAttempts: 1}).GetSlot(t.Context(), Confirmed)
	require.EqualError(t, err, "getSlot: "+"http status 503 Service Unavailable: rpc error -32012: scan aborted")
}
