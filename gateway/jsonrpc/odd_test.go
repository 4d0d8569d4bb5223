package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// oddAnswers are answers to a call of id 5 that say nothing of the call. With notNodes an error of
// the server's own is passed on if no upstream has another answer.
func oddAnswers() (odd map[string]string, notNodes map[string]bool) {
	odd, notNodes = map[string]string{}, map[string]bool{}
	for _, id := range []string{"4", "6", `"5"`, `"x"`, "5.5", "-5", "true", "[5]", "{}", "50", `""`} {
		odd["a result of id "+id] = `{"jsonrpc":"2.0","result":8,"id":` + id + `}`
		odd["an error of id "+id] = `{"jsonrpc":"2.0","error":{"code":-32602,"message":"m"},"id":` + id + `}`
		odd["id first "+id] = `{"id":` + id + `,"jsonrpc":"2.0","result":8}`
		odd["a long result of id "+id] = `{"id":` + id + `,"jsonrpc":"2.0","result":"` + strings.Repeat("x", 2*peekBytes) + `"}`
	}
	for _, text := range []string{`"rate limited"`, "true", "7", "[]", `["x"]`, "{}", `{"message":"m"}`, `{"code":"-32602","message":"m"}`, `{"code":1.5}`, `{"code":null}`} {
		odd["an error of "+text] = `{"jsonrpc":"2.0","error":` + text + `,"id":5}`
	}
	for _, code := range []int{-32029, -32097, -32099, -32050, -33000, -1, 0, 1, 12, 999, 1015, 400, 403, 404, 429, 500, 502, 503, 599, -32429, -32500} {
		name := fmt.Sprintf("code %d", code)
		odd[name] = fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":"m","data":[1]},"id":5}`, code)
		notNodes[name] = true
	}
	return odd, notNodes
}

// TestAReadIsAskedAgainAfterAnOddAnswer, at the next upstream. What clients can provoke does not
// make an upstream look ill.
func TestAReadIsAskedAgainAfterAnOddAnswer(t *testing.T) {
	odd, notNodes := oddAnswers()
	for name, text := range odd {
		for _, hedged := range []float64{0, 1} {
			first := newNode(t, func(w http.ResponseWriter, body string) {
				if isPoll(body) {
					says(slot7)(w, body)
					return
				}
				fmt.Fprint(w, text)
			})
			second := newNode(t, says(slot7))
			f := start(t, Config{Upstreams: []string{first.URL, second.URL}, HedgeShare: hedged, ShareReads: true})
			for range 3 {
				status, body := f.post(t, getSlot(5))
				require.Equal(t, http.StatusOK, status, name)
				require.Equal(t, `{"jsonrpc":"2.0","result":7,"id":5}`, body, name)
				_, body = f.post(t, "["+getSlot(5)+"]")
				require.Equal(t, `[{"jsonrpc":"2.0","result":7,"id":5}]`, body, name)
			}
			if code := gjson.Get(text, "error.code"); notNodes[name] && code.Int() != 429 && code.Int() != -32429 {
				require.Equal(t, 6, first.calls(), name)
				require.False(t, f.pool.upstreams[0].broken(), name)
			}
			first.Close()
			second.Close()
		}
	}
}

// TestOddAnswersOfTheOnlyUpstream: its own error is passed on, and what is no answer to the call is
// an error of ours.
func TestOddAnswersOfTheOnlyUpstream(t *testing.T) {
	odd, notNodes := oddAnswers()
	for name, text := range odd {
		only := newNode(t, func(w http.ResponseWriter, _ string) { fmt.Fprint(w, text) })
		f := start(t, Config{Upstreams: []string{only.URL}})
		status, body := f.post(t, getSlot(5))
		require.True(t, json.Valid([]byte(body)), name)
		if notNodes[name] {
			require.Equal(t, http.StatusOK, status, name)
			require.JSONEq(t, text, body, name)
		} else {
			require.Equal(t, http.StatusBadGateway, status, name)
			require.Contains(t, body, "-32005", name)
		}
		only.Close()
	}
}

// TestCallsThatAreNoReadsAreNotAskedAgain: what an upstream says of a transaction is passed on.
func TestCallsThatAreNoReadsAreNotAskedAgain(t *testing.T) {
	for _, failure := range []string{`"rate limited"`, `{"code":-32097,"message":"m"}`, `{"code":403,"message":"m"}`} {
		first := newNode(t, says(`{"jsonrpc":"2.0","error":`+failure+`,"id":1}`))
		second := newNode(t, says(slot7))
		f := start(t, Config{Upstreams: []string{first.URL, second.URL}})
		_, body := f.post(t, `{"jsonrpc":"2.0","id":5,"method":"requestAirdrop","params":["x",1]}`)
		require.JSONEq(t, `{"jsonrpc":"2.0","error":`+failure+`,"id":5}`, body)
		require.Zero(t, second.calls())
	}
}

// TestIdsThatAreWrittenInAnotherWay are the call's all the same.
func TestIdsThatAreWrittenInAnotherWay(t *testing.T) {
	for _, c := range []struct {
		sent, got string
		foreign   bool
	}{
		{"5", "5", false}, {"5", "5.0", false}, {"5", "5e0", false}, {"5", "null", false}, {"5", "", false}, {"", "7", false}, {"null", "null", false},
		{`"x"`, `"\u0078"`, false}, {`"x"`, `"x"`, false}, {"12345678901234567890", "12345678901234567000", false}, {"1", "2", true}, {"1", `"1"`, true},
		{`"1"`, "1", true}, {`"x"`, `"y"`, true}, {"null", "1", true}, {`""`, `"x"`, true}, {"1", "true", true}, {"1", "[1]", true}, {"0", "false", true},
	} {
		require.Equal(t, c.foreign, foreignID(json.RawMessage(c.got), json.RawMessage(c.sent)), "%s for %s", c.got, c.sent)
	}
}

// TestTheEndOfALongAnswer: the id behind the result of another call breaks the answer off, and the
// answer is not kept for others.
func TestTheEndOfALongAnswer(t *testing.T) {
	long := strings.Repeat("x", 3*peekBytes)
	var end string
	n := newNode(t, func(w http.ResponseWriter, body string) {
		if isPoll(body) {
			says(slot7)(w, body)
			return
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","result":{"x":"`+long+`"}`+end)
	})
	f := start(t, Config{Upstreams: []string{n.URL}, CacheBytes: 64 << 20})
	call := `{"jsonrpc":"2.0","id":5,"method":"getBlock","params":[1,{"commitment":"finalized"}]}`
	for text, good := range map[string]bool{
		`,"id":5}`: true, `,"id": 5 }` + "\n": true, `,"id":null}`: true, `}`: true, `,"id":5.0}`: true, `,"x":{"id":7}}`: true, `,"x":"\"id\":7}"}`: true,
		`,"id":4}`: false, `,"id":"5"}`: false, `,"id":55} `: false, `,"id":"}"}`: false, `,"id":5`: false, `,"id":`: false,
		strings.Repeat(" ", 2*tailBytes) + `,"id":4}`: false, `,"id":4}` + strings.Repeat("\n", tailBytes/2): false,
	} {
		end = text
		before := n.calls()
		for range 2 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(call))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-API-KEY", f.key)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			_, err = bytes.NewBuffer(nil).ReadFrom(resp.Body)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, good, err == nil, "%q", text)
		}
		if !good {
			require.Equal(t, 2, n.calls()-before, "%q is not kept", text)
		}
		f.cache.lru.Purge()
	}
}

func rest(r io.Reader) *checkedRest {
	return &checkedRest{ReadCloser: io.NopCloser(r), id: json.RawMessage("5")}
}

// TestTheTailOfReads: however the bytes come.
func TestTheTailOfReads(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 1000) + `,"id":4}`, `"id":4}`} {
		for _, wrap := range []func(r *bytes.Reader) *checkedRest{
			func(r *bytes.Reader) *checkedRest { return rest(iotest.OneByteReader(r)) },
			func(r *bytes.Reader) *checkedRest { return rest(iotest.HalfReader(r)) },
			func(r *bytes.Reader) *checkedRest { return rest(iotest.DataErrReader(r)) },
			func(r *bytes.Reader) *checkedRest { return rest(r) },
		} {
			_, err := bytes.NewBuffer(nil).ReadFrom(wrap(bytes.NewReader([]byte(text))))
			require.ErrorContains(t, err, "another call's")
		}
	}
}
