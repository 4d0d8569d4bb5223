package enrich

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/fetch"
)

func TestSlowHostsDelayNeitherAccountsNorOthers(t *testing.T) {
	w := newWorld()
	release := make(chan struct{})
	defer close(release)
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
	require.Len(t, w.facts(t), 1)
	letters := w.deadLetters(t)
	require.Len(t, letters, 4)
	for _, letter := range letters {
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

func TestChangedURIIsFetchedAgain(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	for slot, uri := range []string{"https://a.test/1", "https://a.test/2", "https://a.test/1", "https://a.test/1"} {
		w.request(t, ask(mint, metadataSet, uint64(10+min(slot, 2)), uri))
	}
	w.start(t)
	w.drained(t)
	var got []string
	for _, fact := range w.facts(t) {
		got = append(got, fmt.Sprintf("%d %s", fact.GetSlot(), fact.GetOffchain().GetUri()))
	}
	require.Equal(t, []string{"10 https://a.test/1", "11 https://a.test/2", "12 https://a.test/1"}, got,
		"in the order of the requests, and back to the first once it is the current one again")
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
