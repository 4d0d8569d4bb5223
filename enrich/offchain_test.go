package enrich

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas"
)

// slowHost makes the host slow.test answer only when the channel is closed. Others answer at once.
func (w *world) slowHost() (release chan struct{}) {
	release = make(chan struct{})
	w.web.serve = func(ctx context.Context, uri string) ([]byte, error) {
		if strings.Contains(uri, "slow.test") {
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return []byte(`{}`), nil
	}
	return release
}

func TestSlowHostsDelayNeitherAccountsNorOthers(t *testing.T) {
	w := newWorld()
	defer close(w.slowHost())
	for i := range 300 {
		w.rpc.putMint(mintKey(i), "Lake", fmt.Sprintf("https://slow.test/%d", i))
		w.request(t, ask(mintKey(i), sighted, 1, ""))
	}
	w.rpc.putMint(mintKey(1000), "Lake", "https://quick.test/x")
	w.request(t, ask(mintKey(1000), sighted, 1, ""))
	_, stop := w.start(t)
	require.Eventually(t, func() bool { return len(w.facts(t)) == 2*301+1 }, hang, time.Millisecond,
		"all account facts, and the document of the quick host, while the slow host holds all of its own")
	require.NoError(t, stop())
	require.Positive(t, w.lag(), "what is not answered is not committed")
}

func TestOffchainFailures(t *testing.T) {
	w := newWorld()
	var mu sync.Mutex
	tries := map[string]int{}
	w.web.serve = func(_ context.Context, uri string) ([]byte, error) {
		mu.Lock()
		tries[uri]++
		n := tries[uri]
		mu.Unlock()
		switch uri {
		case "https://a.test/refused":
			return nil, failed(fetch.ClassRefusedAddress, 0)
		case "https://b.test/down":
			return nil, failed(fetch.ClassTimeout, 0)
		case "https://c.test/flaky":
			if n < 3 {
				return nil, failed(fetch.ClassHTTPStatus, 503)
			}
		case "https://d.test/list":
			return []byte(`["no object"]`), nil
		case "https://e.test/later":
			return nil, &fetch.Error{Class: fetch.ClassHTTPStatus, Status: 429, RetryAfter: time.Hour}
		}
		return []byte(`{"name":"x"}`), nil
	}
	for i, uri := range []string{"https://a.test/refused", "https://b.test/down", "https://c.test/flaky", "https://d.test/list", "https://e.test/later"} {
		w.request(t, ask(mintKey(i), metadataSet, 5, uri))
	}
	e, _ := w.start(t)
	w.drained(t)
	require.Equal(t, map[string]int{
		"https://a.test/refused": 1, "https://b.test/down": 3, "https://c.test/flaky": 3, "https://d.test/list": 1, "https://e.test/later": 1,
	}, tries)
	require.ElementsMatch(t, []string{"offchain", "document_check", "document_check", "document_check", "document_check"}, kinds(w.facts(t)))
	letters := w.deadLetters(t)
	require.Len(t, letters, 4)
	for _, letter := range letters {
		require.Contains(t, letter.GetReason(), "; next try 20")
		require.True(t, strings.HasPrefix(letter.GetReason(), "offchain: "), letter.GetReason())
		require.Equal(t, "enrich", letter.GetSource())
	}
	require.Equal(t, 4, counted(t, e.metrics.deadLetters.WithLabelValues(reasonOffchain)))
	require.Equal(t, 3, counted(t, e.metrics.fetches.WithLabelValues("timeout")))

	w.request(t, ask(mintKey(1), metadataSet, 6, "https://b.test/down"))
	w.drained(t)
	require.Len(t, w.deadLetters(t), 4, "a failure is remembered for a while")
	require.Equal(t, 1, counted(t, e.metrics.dedup.WithLabelValues(dedupOffchainFailures)))
}

// paused is the error of a fetch without a request, because its host asked for a pause.
func paused(left time.Duration) *fetch.Error {
	return &fetch.Error{Class: fetch.ClassHostPaused, RetryAfter: left}
}

// TestAPauseOfTheHostCostsNoAttempt: what waits for a host that asked for a pause, or that did not
// answer for a moment, is fetched when the host may be asked again.
func TestAPauseOfTheHostCostsNoAttempt(t *testing.T) {
	w := newWorld()
	const refusals = 5 // more than a document has attempts
	w.web.serve = func(_ context.Context, uri string) ([]byte, error) {
		switch {
		case w.web.fetched(uri) > refusals:
			return []byte(`{}`), nil
		case strings.Contains(uri, "paused.test"):
			return nil, paused(time.Millisecond)
		}
		return nil, &fetch.Error{Class: fetch.ClassHostDown, RetryAfter: time.Millisecond, DownFor: time.Second}
	}
	for i := range 20 {
		w.request(t, ask(mintKey(i), metadataSet, 5, fmt.Sprintf("https://%s.test/%d", []string{"paused", "down"}[i%2], i)))
	}
	w.start(t)
	w.drained(t)
	require.Empty(t, w.deadLetters(t))
	require.Len(t, w.facts(t), 20)
}

func TestNextAttempt(t *testing.T) {
	w := newWorld()
	w.cfg.patience, w.cfg.hostPatience, w.cfg.retryDelay = 30*time.Second, 2*time.Minute, time.Second
	e, stop := w.start(t)
	require.NoError(t, stop())
	const hour = time.Hour
	status := func(code int, retryAfter time.Duration) error {
		return &fetch.Error{Class: fetch.ClassHTTPStatus, Status: code, RetryAfter: retryAfter}
	}
	down := func(left, downFor time.Duration) error {
		return &fetch.Error{Class: fetch.ClassHostDown, RetryAfter: left, DownFor: downFor}
	}
	for name, c := range map[string]struct {
		attempts    int
		ago, worked time.Duration // since the first attempt, and of all attempts
		err         error
		delay       time.Duration // 0 if there is no next attempt
		counted     int           // attempts afterwards
	}{
		"a failure that may pass":                   {1, 0, 0, failed(fetch.ClassTimeout, 0), time.Second, 1},
		"the second":                                {2, 0, 0, failed(fetch.ClassTimeout, 0), 2 * time.Second, 2},
		"the third":                                 {3, 0, 0, failed(fetch.ClassTimeout, 0), 0, 3},
		"a failure for good":                        {1, 0, 0, failed(fetch.ClassTooLarge, 0), 0, 1},
		"attempts that took long":                   {1, 0, 29 * time.Second, failed(fetch.ClassTimeout, 0), 0, 1},
		"a long wait for the host's turn":           {2, hour, time.Second, status(502, 0), 2 * time.Second, 2},
		"the answer that asks for a pause":          {1, 0, time.Second, status(429, time.Minute), time.Minute, 1},
		"it costs an attempt of four times as many": {11, 0, time.Second, status(429, time.Minute), time.Minute, 11},
		"of which this was the last":                {12, 0, time.Second, status(429, time.Minute), 0, 12},
		"an answer that asks for too long":          {1, 0, time.Second, status(429, hour), 0, 1},
		"no request in a pause":                     {1, 0, 0, paused(time.Minute), time.Minute, 0},
		"no request in a pause, the third time":     {3, 0, 0, paused(time.Minute), time.Minute, 2},
		"a pause that is nearly over":               {1, 0, 0, paused(1), time.Second, 0},
		"a long pause":                              {1, 0, 0, paused(hour), 0, 0},
		"a pause after others":                      {1, 90 * time.Second, 0, paused(time.Minute), 0, 0},
		"a host that has only asked for pauses":     {1, 0, 0, &fetch.Error{Class: fetch.ClassHostPaused, RetryAfter: time.Minute, DownFor: hour}, 0, 1},
		"a short outage":                            {1, 0, 0, down(time.Minute, time.Minute), time.Minute, 0},
		"a dead host":                               {1, 0, 0, down(time.Minute, hour), 0, 1},
		"a dead host that is tried in a moment":     {1, 0, 0, down(5*time.Second, hour), 5 * time.Second, 1},
		"a dead host, the third time":               {3, 0, 0, down(5*time.Second, hour), 0, 3},
	} {
		j := &job{attempts: c.attempts, firstAttempt: time.Now().Add(-c.ago), worked: c.worked}
		delay, again := e.offchain.nextAttempt(j, c.err)
		require.Equal(t, c.delay > 0, again, name)
		if again {
			require.Equal(t, c.delay, delay, name)
		}
		require.Equal(t, c.counted, j.attempts, name)
	}
}

// TestTimeInTheHostsQueueIsNoAttempt: the second attempt comes long after the first when many
// documents of the host wait, and has the time that the first left.
func TestTimeInTheHostsQueueIsNoAttempt(t *testing.T) {
	w := newWorld()
	w.web.serve = func(ctx context.Context, _ string) ([]byte, error) {
		if ctx.Err() != nil {
			return nil, &fetch.Error{Class: fetch.ClassTimeout, Err: ctx.Err()}
		}
		return []byte(`{}`), nil
	}
	e, _ := w.start(t)
	mint := mintKey(1)
	record := kafka.Record{Topic: schemas.TopicEnrichmentRequests, Key: []byte(mint.String())}
	require.NoError(t, e.jobs.Acquire(t.Context(), 1))
	e.offchain.submit(&job{
		record: record, entry: e.tracker.add(&record), mint: mint, uri: "https://meta.test/1", slot: 5,
		attempts: 1, firstAttempt: time.Now().Add(-time.Hour), worked: time.Second,
	})
	require.Eventually(t, func() bool { return len(w.facts(t))+len(w.deadLetters(t)) > 0 }, hang, time.Millisecond)
	require.Len(t, w.facts(t), 1)
}

// TestPausedHostsLeaveRoomForOthers: the documents of hosts that ask for pauses hold a bounded part
// of the room, and those beyond are given up.
func TestPausedHostsLeaveRoomForOthers(t *testing.T) {
	w := newWorld()
	w.cfg.maxInFlight = 40
	w.web.serve = func(_ context.Context, uri string) ([]byte, error) {
		if strings.Contains(uri, "paused") {
			return nil, paused(hang)
		}
		return []byte(`{}`), nil
	}
	for i := range 100 {
		w.request(t, ask(mintKey(i), metadataSet, 5, fmt.Sprintf("https://paused%d.test/%d", i%10, i)))
	}
	w.request(t, ask(mintKey(1000), metadataSet, 5, "https://quick.test/x"))
	e, stop := w.start(t)
	require.Eventually(t, func() bool { return len(w.facts(t)) == 81 }, hang, time.Millisecond)
	e.offchain.waits.mu.Lock()
	for group, jobs := range e.offchain.waits.groups {
		require.LessOrEqual(t, jobs, 4, group)
	}
	require.Equal(t, 20, e.offchain.waits.jobs)
	e.offchain.waits.mu.Unlock()
	require.Empty(t, w.deadLetters(t), "nobody tried to read what is put off")
	for _, fact := range w.facts(t) {
		if check := fact.GetDocumentCheck(); check != nil {
			require.Equal(t, "host_busy", check.GetErrorClass())
		}
	}
	require.NoError(t, stop())
	require.Positive(t, w.lag(), "what waits is not committed")

	w.web.serve = func(context.Context, string) ([]byte, error) { return []byte(`{}`), nil }
	w.start(t)
	w.drained(t)
}

func TestRoomOfTheStage(t *testing.T) {
	w := newWaits(20)
	a, ab := []string{"a"}, []string{"a", "b"}
	require.True(t, w.enter(ab))
	require.True(t, w.enter(a))
	require.False(t, w.enter(ab), "a tenth for one group")
	w.leave(a)
	require.True(t, w.enter(a))
	for range 8 {
		require.True(t, w.enter(nil), "gateways are excepted")
	}
	require.False(t, w.enter([]string{"b"}), "half of the places are taken, and it holds one")
	require.True(t, w.enter([]string{"c"}))
	for range 4 {
		require.True(t, w.enter(nil))
	}
	require.False(t, w.enter([]string{"d"}), "a quarter is never taken")
	w.leave(ab)
	w.leave(a)
	w.leave([]string{"c"})
	require.Empty(t, w.groups, "a group without jobs is forgotten")
	require.Equal(t, 12, w.jobs)
}

func TestChangedURIIsFetchedAgain(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.start(t)
	for slot, uri := range []string{"https://a.test/1", "https://a.test/2", "https://a.test/1", "https://a.test/1"} {
		w.request(t, ask(mint, metadataSet, uint64(10+min(slot, 2)), uri))
		w.drained(t)
	}
	var got []string
	for _, fact := range w.facts(t) {
		got = append(got, fmt.Sprintf("%d %s", fact.GetSlot(), fact.GetOffchain().GetUri()))
	}
	require.Equal(t, []string{"10 https://a.test/1", "11 https://a.test/2", "12 https://a.test/1"}, got,
		"in the order of the requests, and back to the first once it is the current one again")
}

// TestAMintHoldsFewPlaces: one whose URI changes all the time, on a host that hardly answers,
// leaves the places to others, and what it has in the end is fetched.
func TestAMintHoldsFewPlaces(t *testing.T) {
	w := newWorld()
	w.cfg.maxInFlight = 40
	release := w.slowHost()
	const changes = 800
	slow := func(i int) string { return fmt.Sprintf("https://slow.test/%d", i) }
	for i := range changes { // some in one slot
		w.request(t, ask(mintKey(1), metadataSet, uint64(5+i/4), slow(i)))
	}
	w.request(t, ask(mintKey(2), metadataSet, 5, "https://quick.test/x"))
	e, _ := w.start(t)
	replaced := func() int { return counted(t, e.metrics.dedup.WithLabelValues(dedupOffchainReplaced)) }
	require.Eventually(t, func() bool { return w.web.fetched("https://quick.test/x") == 1 && replaced() == changes-2 }, hang, time.Millisecond,
		"all are read, although they are twenty times as many as there are places")
	close(release)
	w.drained(t)
	require.Equal(t, 1, w.web.fetched(slow(0)), "it was under way")
	require.Equal(t, 1, w.web.fetched(slow(changes-1)))
	require.Len(t, w.facts(t), 3)
	require.Equal(t, changes-2, replaced())
}

// TestDropLooksAtFewJobs: jobs that stay cost nothing when the next one comes.
func TestDropLooksAtFewJobs(t *testing.T) {
	k := newKeyed(byMint)
	same := &job{mint: mintKey(1), uri: "same"}
	looks := 0
	other := func(uri string) func(*job) bool {
		return func(waiting *job) bool { looks++; return waiting.uri != uri }
	}
	const jobs = 1000
	for i := range jobs + 1 {
		require.Empty(t, k.drop(same, other("same")))
		require.Equal(t, i == 0, k.enter(same))
	}
	require.Equal(t, jobs-1, looks)
	require.Len(t, k.drop(same, other("next")), jobs)
	require.Nil(t, k.leave(same), "nobody waits")
	require.Empty(t, k.active)
}

func TestOffchainDisabled(t *testing.T) {
	w := newWorld()
	w.cfg.OffchainEnabled = false
	w.rpc.putMint(mintKey(1), "Lake", "https://meta.test/1")
	w.request(t, ask(mintKey(1), sighted, 1, ""))
	w.request(t, ask(mintKey(2), metadataSet, 1, "https://meta.test/2"))
	e, _ := w.start(t)
	w.drained(t)
	require.ElementsMatch(t, []string{"mint_account", "metaplex_account"}, kinds(w.facts(t)))
	require.Equal(t, 2, counted(t, e.metrics.skipped.WithLabelValues(skipOffchainDisabled)))
}
