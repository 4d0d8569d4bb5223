package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// life is a token that was created, named, minted, read and closed, in a log and in a history.
func life() (log *apitest.Log, h *apitest.History, mint string) {
	log, h = apitest.NewLog(), &apitest.History{}
	key := apitest.Mint(1)
	mint = log.Token(1, 10, "ONE", "The One", time.Now())
	h.Event(apitest.Created(key, 10))
	h.Event(apitest.Named(key, 10, "ONE", "The One"))
	minted := apitest.Event(key, 12)
	minted.Instruction = "MintToChecked"
	minted.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 70}}
	h.Event(minted)
	program := apitest.Created(key, 10).GetProgramId()
	h.Read(&eventspb.Enrichment{Mint: key, Slot: 15, Fact: &eventspb.Enrichment_MintAccount{
		MintAccount: &eventspb.MintAccount{ProgramId: program, Decimals: 6, Supply: 70},
	}}, "account_read", "mint_account")
	closed := apitest.Event(key, 20)
	closed.Payload = &eventspb.TokenEvent_CloseMint{CloseMint: &eventspb.CloseMint{}}
	h.Event(closed)
	return log, h, mint
}

func withHistory(h history.Reader) func(*api.Deps) {
	return func(deps *api.Deps) { deps.History = h }
}

func TestHistory(t *testing.T) {
	log, h, mint := life()
	n := startNodeWith(t, log, withHistory(h)).awaitReady()
	r := n.get("/tokens/" + mint + "/history")
	require.Equal(t, 200, r.StatusCode, string(r.body))
	conforms(t, "HistoryResponse", r.body)
	body := r.decode(t)
	require.Equal(t, mint, body["mint"])
	require.EqualValues(t, 50, body["limit"])
	require.Nil(t, body["next"])
	items := body["items"].([]any)
	require.Len(t, items, 5)

	signature := base58.Encode(make([]byte, 64))
	requireJSON(t, `{"slot": 12, "block_time": 1700000012000, "source": "instruction", "kind": "mint_to", "instruction": "MintToChecked", "signature": "`+signature+`",
		"transaction_index": 0, "instruction_index": 0, "inner_instruction_index": null, "batch_index": null, "in_registry": true,
		"changes": [{"field": "last_seen_at", "before": 1700000010000, "after": 1700000012000}, {"field": "supply", "before": "0", "after": "70"}]}`, items[2])
	requireJSON(t, `{"slot": 15, "block_time": null, "source": "account_read", "kind": "mint_account", "instruction": null, "signature": null, "transaction_index": null,
		"instruction_index": null, "inner_instruction_index": null, "batch_index": null, "in_registry": true,
		"changes": [{"field": "mint_authority", "before": "`+mint+`", "after": null}]}`, items[1])
	require.Equal(t, false, items[0].(map[string]any)["in_registry"], "closed")
	first := items[4].(map[string]any)
	require.Contains(t, first["changes"], map[string]any{"field": "decimals", "before": nil, "after": 6.0})
	require.Contains(t, first["changes"], map[string]any{"field": "is_token22", "before": nil, "after": false})

	var paged []any
	next := ""
	for {
		body := n.get("/tokens/" + mint + "/history?limit=2" + next).decode(t)
		paged = append(paged, body["items"].([]any)...)
		if body["next"] == nil {
			break
		}
		next = "&before=" + url.QueryEscape(body["next"].(string))
	}
	require.Equal(t, items, paged)
}

func requireJSON(t *testing.T, want string, got any) {
	t.Helper()
	encoded, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, want, string(encoded))
}

func TestAsOfSlot(t *testing.T) {
	log, h, mint := life()
	fresh := log.Token(2, 30, "TWO", "The Other", time.Now())
	n := startNodeWith(t, log, withHistory(h)).awaitReady()
	at := func(slot string) response { return n.get("/tokens/" + mint + "?as_of_slot=" + slot) }
	require.Equal(t, "mint \""+mint+"\" was not in the registry at slot 9", at("9").refused(t, 404))
	for slot, want := range map[string]string{"10": "0", "11": "0", "12": "70", "19": "70"} {
		r := at(slot)
		conforms(t, "Token", r.body)
		require.Equal(t, want, r.decode(t)["supply"], slot)
		require.NotContains(t, r.decode(t), "provenance")
	}
	require.Equal(t, mint, at("14").decode(t)["mint_authority"])
	require.Nil(t, at("15").decode(t)["mint_authority"], "the read at slot 15 counts")
	at("20").refused(t, 404)
	at("9223372036854775807").refused(t, 404)
	require.Equal(t, 200, n.get("/tokens/"+mint).StatusCode, "the copy in memory has not heard of the end")
	requireNotYet(t, n.get("/tokens/"+fresh+"?as_of_slot=30"))
}

func TestProvenance(t *testing.T) {
	log, h, mint := life()
	n := startNodeWith(t, log, withHistory(h)).awaitReady()
	r := n.get("/tokens/" + mint + "?provenance=true&as_of_slot=19")
	conforms(t, "Token", r.body)
	signature := base58.Encode(make([]byte, 64))
	instruction := func(slot int, name string) string {
		return fmt.Sprintf(`{"source": "instruction", "slot": %d, "signature": %q, "instruction": %s}`, slot, signature, name)
	}
	read := `{"source": "account_read", "slot": 15, "signature": null, "instruction": null}`
	requireJSON(t, `{"symbol": `+instruction(10, "null")+`, "name": `+instruction(10, "null")+`, "metaplex_uri": `+instruction(10, "null")+`,
		"first_seen_at": `+instruction(10, "null")+`, "last_seen_at": `+instruction(12, `"MintToChecked"`)+`,
		"decimals": `+read+`, "is_token22": `+read+`, "supply": `+read+`}`, r.decode(t)["provenance"])

	r = n.get("/tokens/" + mint + "?provenance=true&as_of_slot=14")
	requireJSON(t, instruction(12, `"MintToChecked"`), r.decode(t)["provenance"].(map[string]any)["supply"])
	requireNotYet(t, n.get("/tokens/"+mint+"?provenance=true"))
	require.NotContains(t, n.get("/tokens/"+mint+"?provenance=false").decode(t), "provenance")
}

// requireNotYet: memory holds a mint that ClickHouse says is gone, or has not heard of.
func requireNotYet(t *testing.T, r response) {
	t.Helper()
	require.Contains(t, r.refused(t, 503), "not in ClickHouse yet")
	require.Equal(t, "1", r.Header.Get("Retry-After"))
}

func TestHistoryRefusesBadValues(t *testing.T) {
	log, h, mint := life()
	n := startNodeWith(t, log, withHistory(h)).awaitReady()
	for path, want := range map[string]string{
		"?as_of_slot=-1":                   `as_of_slot is "-1": must be a whole number from 0 to 9223372036854775807`,
		"?as_of_slot=":                     `as_of_slot is ""`,
		"?as_of_slot=1.5":                  `as_of_slot is "1.5"`,
		"?as_of_slot=9223372036854775808":  `as_of_slot is "9223372036854775808"`,
		"?as_of_slot=1&as_of_slot=2":       `as_of_slot is given 2 times`,
		"?provenance=1":                    `provenance is "1": must be true or false`,
		"/history?limit=0":                 `limit is "0": must be a whole number from 1 to 200`,
		"/history?limit=201":               `limit is "201"`,
		"/history?before=":                 `before is "": must be next of an earlier page`,
		"/history?before=%00":              `before is "\x00"`,
		"/history?before=AAAAAAAAAAAAAAAA": `before is "AAAAAAAAAAAAAAAA"`,
		"/history?before=x&before=y":       `before is given 2 times`,
	} {
		require.Contains(t, n.get("/tokens/"+mint+path).refused(t, 400), want)
	}
	for _, unknown := range []string{apitest.Address(apitest.Mint(99)), "x", "%00"} {
		n.get("/tokens/"+unknown+"/history").refused(t, 404)
		n.get("/tokens/"+unknown+"?as_of_slot=5").refused(t, 404)
		n.get("/tokens/"+unknown+"?provenance=true").refused(t, 404)
	}
	require.Equal(t, "GET, HEAD, OPTIONS", n.do("POST", "/tokens/"+mint+"/history", "").Header.Get("Allow"))
}

func TestHistoryWithoutClickHouse(t *testing.T) {
	log, h, mint := life()
	fresh := log.Token(2, 30, "TWO", "The Other", time.Now())
	for name, n := range map[string]*node{
		"away":       startNodeWith(t, log, withHistory(h)).awaitReady(),
		"not set up": startNode(t, log).awaitReady(),
	} {
		h.Fail(fmt.Errorf("%w: connection refused", history.ErrUnavailable))
		for _, path := range []string{"/history", "?as_of_slot=12", "?provenance=true"} {
			r := n.get("/tokens/" + mint + path)
			require.Contains(t, r.refused(t, 503), "ClickHouse does not answer", name)
			require.Equal(t, "5", r.Header.Get("Retry-After"))
			require.NotContains(t, string(r.body), "refused", "inner errors are not told")
		}
		require.Equal(t, 200, n.get("/tokens/"+mint).StatusCode, "lookups need no ClickHouse")
	}
	n := startNodeWith(t, log, withHistory(h)).awaitReady()
	h.Fail(errors.New("no such table"))
	require.Contains(t, n.get("/tokens/"+mint+"/history").refused(t, 500), "not your fault")
	h.Fail(nil)
	require.Equal(t, 200, n.get("/tokens/"+mint+"/history").StatusCode)
	requireNotYet(t, n.get("/tokens/"+fresh+"/history"))
}

func TestHistoryCountsToTheLookups(t *testing.T) {
	log, h, mint := life()
	n := startNodeWith(t, log, withHistory(h), limited, func(c *api.Config) { c.RateLimits.Lookup = 3 }).awaitReady()
	for _, path := range []string{"", "/history", "?as_of_slot=12"} {
		require.Equal(t, 200, n.get("/tokens/"+mint+path).StatusCode)
	}
	n.get("/tokens/"+mint+"/history").refused(t, 429)
}

// FuzzHistory: whatever is asked, the answer is a page or an Error in form.
func FuzzHistory(f *testing.F) {
	log, h, mint := life()
	n := startNodeWith(f, log, withHistory(h)).awaitReady()
	f.Add("10", "", "12")
	f.Add("2", "AAAAAAAAAAwAAAAAAAAAAG1pbnRfdG98", "-1")
	f.Fuzz(func(t *testing.T, limit, before, slot string) {
		if len(limit)+len(before)+len(slot) > 2_000 {
			t.Skip()
		}
		r := n.as(t).get("/tokens/" + mint + "/history?" + url.Values{"limit": {limit}, "before": {before}}.Encode())
		if r.StatusCode == http.StatusOK {
			conforms(t, "HistoryResponse", r.body)
			require.True(t, bytes.Contains(r.body, []byte(mint)))
		} else {
			r.refused(t, 400)
		}
		if r := n.as(t).get("/tokens/" + mint + "?" + url.Values{"as_of_slot": {slot}}.Encode()); r.StatusCode != http.StatusOK {
			require.Contains(t, []int{400, 404}, r.StatusCode)
			r.refused(t, r.StatusCode)
		}
	})
}
