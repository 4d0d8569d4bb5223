package api_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func address(i int) string { return apitest.Address(apitest.Mint(i)) }

// batch asks for mints and returns the body.
func (n *node) batch(mints []string, more string) map[string]any {
	r := n.do(http.MethodPost, "/tokens/batch", `{"mints":["`+strings.Join(mints, `","`)+`"]`+more+`}`)
	require.Equal(n.t, 200, r.StatusCode, string(r.body))
	conforms(n.t, "BatchResponse", r.body)
	return r.decode(n.t)
}

// states are the states of a body, each as "state" or "state reason".
func states(t *testing.T, body map[string]any, mints ...string) []string {
	t.Helper()
	var states []string
	list := body["states"].([]any)
	require.Len(t, list, len(mints))
	for i, entry := range list {
		state := entry.(map[string]any)
		require.Equal(t, mints[i], state["mint"], "in the order asked")
		text := state["state"].(string)
		if reason, ok := state["reason"]; ok {
			text += " " + reason.(string)
		}
		if text == "ready" || text == "not_a_mint no_address" {
			require.Nil(t, state["retry_after_ms"])
		} else {
			require.GreaterOrEqual(t, state["retry_after_ms"], 1000.0)
		}
		states = append(states, text)
	}
	return states
}

func notAMint(log *apitest.Log, i int) {
	log.Message(schemas.TopicEnrichments, address(i), &eventspb.Enrichment{
		Mint: apitest.Mint(i), Fact: &eventspb.Enrichment_NotAMint{NotAMint: &eventspb.NotAMint{Reason: "no account"}},
	}, time.Now())
}

// givenUp is what enrichment writes when it gives a request up.
func givenUp(log *apitest.Log, i int) {
	request, err := proto.Marshal(&eventspb.EnrichmentRequest{Mint: apitest.Mint(i)})
	if err != nil {
		panic(err)
	}
	log.Message(schemas.TopicDeadLetters, "enrich", &eventspb.DeadLetter{Source: "enrich", Reason: "rpc: down", Topic: schemas.TopicEnrichmentRequests, Value: request}, time.Now())
}

// TestBatchAndImageBringABrokenDocumentForward: a token that has a URI and nothing of a document is
// asked for again. One that has its document is not, nor one without a URI.
func TestBatchAndImageBringABrokenDocumentForward(t *testing.T) {
	log := apitest.NewLog()
	broken, shown := log.Token(1, 10, "A", "Broken", time.Now()), log.Token(2, 10, "B", "Pictured", time.Now())
	whole := logo(log, 3, "https://example.org/a.png")
	bare := address(4)
	log.Message(schemas.TopicTokenEvents, bare, apitest.Created(apitest.Mint(4), 10), time.Now())
	n := startNode(t, log).awaitReady()
	for range 3 {
		n.batch([]string{broken, whole, bare}, "")
		n.get("/img/" + shown)
		n.get("/img/" + whole)
	}
	require.Eventually(t, func() bool { return len(log.Records(schemas.TopicEnrichmentRequests)) == 2 }, hang, time.Millisecond)
	for _, record := range log.Records(schemas.TopicEnrichmentRequests) {
		require.Contains(t, []string{broken, shown}, string(record.Key))
	}
}

// TestABatchOfLongStrings: neither 500 texts that fill a request, nor 500 tokens that say as much
// as documents may, make an answer fail, or one that is longer than what is known.
func TestABatchOfLongStrings(t *testing.T) {
	log := apitest.NewLog()
	var known []string
	long := strings.Repeat("\u2028<", 1000)
	for i := range 500 {
		known = append(known, log.Token(i, 10, "SYM", "Name", time.Now()))
		extensions := map[string]string{}
		for k := range 32 {
			extensions[fmt.Sprint(k, long[:56])] = long[:1000]
		}
		log.Message(schemas.TopicEnrichments, known[i], &eventspb.Enrichment{Mint: apitest.Mint(i), Slot: 10, Fact: &eventspb.Enrichment_Offchain{
			Offchain: &eventspb.OffchainMetadata{Uri: []byte("https://example.org/x.json"), Description: long[:4000], Extensions: extensions},
		}}, time.Now())
	}
	n := startNode(t, log).awaitReady()
	body := n.batch(known, `,"states":true`)
	require.Len(t, mints(body), 500)
	token := body["items"].([]any)[499].(map[string]any)
	require.Equal(t, long[:4000], token["description"])

	for name, text := range map[string]string{
		"long": strings.Repeat("x", 240), "quotes": strings.Repeat(`\"`, 120), "escapes": strings.Repeat(`\u0000`, 40), "markup": strings.Repeat("<script>", 30), "base58": strings.Repeat("1", 240),
		"surrogates": strings.Repeat(`\ud800`, 40), "emoji": strings.Repeat("\U0001F30A", 60),
	} {
		var list []string
		for i := range 500 {
			list = append(list, fmt.Sprint(text[:len(text)-12], i))
		}
		r := n.do(http.MethodPost, "/tokens/batch", `{"mints":["`+strings.Join(list, `","`)+`"],"states":true}`)
		require.Equal(t, 200, r.StatusCode, "%s: %s", name, r.body)
		require.Less(t, len(r.body), 2<<20, name)
		require.Len(t, r.decode(t)["unknown"], 500, name)
	}
	require.Contains(t, []int{400, 413}, n.do(http.MethodPost, "/tokens/batch", `{"mints":["`+strings.Repeat("x", 10<<20)+`"]}`).StatusCode)
	require.Contains(t, []int{400, 413}, n.do(http.MethodPost, "/tokens/batch", `{"mints":["x"`+strings.Repeat(" ", 10<<20)+`]}`).StatusCode)
	require.Equal(t, 200, n.get("/status").StatusCode)
}

func TestBatchStates(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log, func(cfg *api.Config) { cfg.Enrichment.PerClient = 3 }).awaitReady()
	require.NotContains(t, n.batch(a, ""), "states")
	require.NotContains(t, n.batch(a, `,"states":false`), "states")

	asked := []string{address(90), "bad", a[1], address(91), address(92), address(93), a[0]}
	body := n.batch(append(asked, address(90), "bad"), `,"states":true`)
	require.Equal(t, []string{"queued", "not_a_mint no_address", "ready", "queued", "queued", "failed client_limit", "ready"}, states(t, body, asked...))
	require.Equal(t, []string{a[1], a[0]}, mints(body))

	notAMint(log, 90)
	givenUp(log, 91)
	require.Eventually(t, func() bool {
		got := states(t, n.batch(asked, `,"states":true`), asked...)
		return got[0] == "not_a_mint no_mint_there" && got[3] == "failed given_up" && got[4] == "queued"
	}, hang, 5*time.Millisecond)

	n.clock.Store(int64(time.Hour))
	require.Equal(t, []string{"queued", "queued"}, states(t, n.batch([]string{address(90), address(91)}, `,"states":true`), address(90), address(91)), "asked again in time")
}

func TestBatchRefusesBadOptions(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	for options, want := range map[string]string{
		`"states":1`:       `states is 1: must be true or false`,
		`"states":null`:    `states is null: must be true or false`,
		`"wait_ms":-1`:     `wait_ms is -1: must be a whole number from 0 to 5000`,
		`"wait_ms":5001`:   `wait_ms is 5001`,
		`"wait_ms":1.5`:    `wait_ms is 1.5`,
		`"wait_ms":"2000"`: `wait_ms is "2000"`,
		`"wait_ms":null`:   `wait_ms is null`,
	} {
		require.Contains(t, n.do("POST", "/tokens/batch", `{"mints":["`+a[0]+`"],`+options+`}`).refused(t, 400), want)
	}
}

// asleep returns how many goroutines sleep in a select of the function.
func asleep(function string) (count int) {
	stacks := make([]byte, 1<<20)
	for n := runtime.Stack(stacks, true); ; n = runtime.Stack(stacks, true) {
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		head, frames, _ := strings.Cut(stack, "\n")
		if strings.Contains(head, "[select") && strings.HasPrefix(frames, function+"(") {
			count++
		}
	}
	return count
}

// TestBatchWaits: the answer comes with the news that settle the last of the mints, each kind in
// its way. Only news can end these waits, and they come when the request sleeps: a wake-up that is
// lost leaves the answer out.
func TestBatchWaits(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	n.SetMaxWait(10 * hang)
	wait := fmt.Sprintf(`,"states":true,"wait_ms":%d`, (10 * hang).Milliseconds())
	token := func(mint int) { log.Token(mint, uint64(mint), "EIGHTY", "Eighty", time.Now()) }
	const queue = "github.com/mintlake/mintlake/api/requests.(*Queue).Wait"
	asked := 0
	for _, c := range []struct {
		news   []func(mint int)
		states []string
	}{
		{[]func(int){token}, []string{"ready"}},
		{[]func(int){func(mint int) { notAMint(log, mint) }}, []string{"not_a_mint no_mint_there"}},
		{[]func(int){func(mint int) { givenUp(log, mint) }}, []string{"failed given_up"}},
		{[]func(int){token, func(mint int) { notAMint(log, mint) }, func(mint int) { givenUp(log, mint) }}, []string{"ready", "not_a_mint no_mint_there", "failed given_up"}},
	} {
		mintsAsked, unknown, members := []string{a[0]}, []any{}, []string{a[0]}
		first := 80 + asked
		for i, state := range c.states {
			mintsAsked = append(mintsAsked, address(first+i))
			if state == "ready" {
				members = append(members, address(first+i))
			} else {
				unknown = append(unknown, address(first+i))
			}
		}
		mintsAsked, unknown = append(mintsAsked, "bad"), append(unknown, "bad")
		answered := make(chan map[string]any, 1)
		go func() { answered <- n.batch(mintsAsked, wait) }()
		require.Eventually(t, func() bool { return asleep(queue) == 1 }, hang, time.Millisecond)
		for i, tell := range c.news {
			tell(first + i)
		}
		select {
		case body := <-answered:
			require.Equal(t, append(append([]string{"ready"}, c.states...), "not_a_mint no_address"), states(t, body, mintsAsked...))
			require.Equal(t, members, mints(body))
			require.Equal(t, unknown, body["unknown"])
		case <-time.After(hang):
			require.Fail(t, "the news woke nobody", "%v", c.states)
		}
		asked += len(c.states)
		require.Eventually(t, func() bool { return len(log.Records(schemas.TopicEnrichmentRequests)) == asked }, hang, time.Millisecond)
	}
}

// TestBatchWaitsNoLongerThanAsked: nothing comes, and the answer does.
func TestBatchWaitsNoLongerThanAsked(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	begin := time.Now()
	body := n.batch([]string{address(80)}, `,"states":true,"wait_ms":50`)
	require.GreaterOrEqual(t, time.Since(begin), 50*time.Millisecond)
	require.Equal(t, []string{"queued"}, states(t, body, address(80)))
}

// TestWaitingRequestsDoNotHoldTheNodeUp: a node that stops answers them.
func TestWaitingRequestsDoNotHoldTheNodeUp(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	answered := make(chan map[string]any, 4)
	for i := range 4 {
		go func() { answered <- n.batch([]string{address(80 + i)}, `,"wait_ms":5000`) }()
	}
	require.Eventually(t, func() bool { return len(log.Records(schemas.TopicEnrichmentRequests)) == 4 }, hang, time.Millisecond)
	// A fifth of the same client does not wait.
	require.Equal(t, []any{address(90)}, n.batch([]string{address(90)}, `,"wait_ms":5000`)["unknown"])
	n.stop()
	for range 4 {
		require.Len(t, (<-answered)["unknown"], 1)
	}
}

// TestFiveHundredUnknownMintsAskOnce: what the public asks for is asked for once, whoever and
// however often.
func TestFiveHundredUnknownMintsAskOnce(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, func(cfg *api.Config) { cfg.TrustedProxies = []string{"127.0.0.1"} }).awaitReady()
	var asked []string
	for i := range 500 {
		asked = append(asked, address(1_000+i))
	}
	body := `{"mints":["` + strings.Join(asked, `","`) + `"]}`
	for client := range 20 {
		require.Equal(t, 200, n.do(http.MethodPost, "/tokens/batch", body, "X-Forwarded-For", fmt.Sprint("10.0.0.", client)).StatusCode)
	}
	require.Eventually(t, func() bool { return len(log.Records(schemas.TopicEnrichmentRequests)) == 500 }, hang, time.Millisecond)
	n.stop()
	require.Len(t, log.Records(schemas.TopicEnrichmentRequests), 500)
}

// TestALongBatchKeepsItsOrder: as many rows as are made on several cores come as they were asked
// for, with what is unknown between them.
func TestALongBatchKeepsItsOrder(t *testing.T) {
	log := apitest.NewLog()
	var asked []string
	var rows, unknown []any
	for i := range 500 {
		mint := address(i)
		if i%7 == 3 {
			unknown = append(unknown, mint)
		} else {
			log.Token(i, 10, "SYM", "Name", time.Now())
			rows = append(rows, mint)
		}
		asked = append(asked, mint)
	}
	n := startNode(t, log).awaitReady()
	for range 2 { // made, and from the cache
		body := n.batch(asked, "")
		var got []any
		for _, item := range body["items"].([]any) {
			got = append(got, item.(map[string]any)["mint"])
		}
		require.Equal(t, rows, got)
		require.Equal(t, unknown, body["unknown"])
	}
}
