package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/bulk"
)

// log is a producer that folds what it is given, as the registry does.
type log struct {
	mu      sync.Mutex
	states  map[pubkey.Key]*registry.State
	records int
	// upstreams counts records by the upstream that they name.
	upstreams map[string]int
	fail      func(records int) error
}

func newLog() *log {
	return &log{states: map[pubkey.Key]*registry.State{}, upstreams: map[string]int{}}
}

func (l *log) Produce(_ context.Context, records ...kafka.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range records {
		if l.fail != nil {
			if err := l.fail(l.records); err != nil {
				return err
			}
		}
		if err := foldRecord(l.states, &record); err != nil {
			return err
		}
		enrichment := new(eventspb.Enrichment)
		if err := proto.Unmarshal(record.Value, enrichment); err != nil {
			return err
		}
		l.upstreams[enrichment.GetUpstream()]++
		l.records++
	}
	return nil
}

func foldRecord(states map[pubkey.Key]*registry.State, record *kafka.Record) error {
	enrichment := new(eventspb.Enrichment)
	if err := proto.Unmarshal(record.Value, enrichment); err != nil {
		return err
	}
	if key := pubkey.Key(enrichment.GetMint()).String(); record.Topic != schemas.TopicEnrichments || string(record.Key) != key {
		return fmt.Errorf("topic %s, key %s for mint %s", record.Topic, record.Key, key)
	}
	apply(states, enrichment)
	return nil
}

func apply(states map[pubkey.Key]*registry.State, enrichment *eventspb.Enrichment) {
	for _, fact := range registry.FactsOfEnrichment(enrichment) {
		state := states[fact.Mint]
		if state == nil {
			state = new(registry.State)
			states[fact.Mint] = state
		}
		state.Apply(fact)
	}
}

// want is the registry that a bootstrap of the chain must give, made without a request.
func want(t testing.TB, c *bulk.Chain) map[pubkey.Key]*registry.State {
	states := map[pubkey.Key]*registry.State{}
	require.NoError(t, c.Enrichments(func(enrichment *eventspb.Enrichment) { apply(states, enrichment) }))
	return states
}

func serve(t testing.TB, fake *bulk.Server) string {
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return server.URL
}

func configOf(t testing.TB, url string) accounts.Config {
	cfg := accounts.Config{Endpoints: []string{url}, StateFile: filepath.Join(t.TempDir(), "bootstrap.json")}
	return cfg.WithWaits(time.Millisecond, 5*time.Minute)
}

func run(t testing.TB, cfg accounts.Config, out *log) (accounts.Summary, error) {
	t.Helper()
	reader, err := accounts.New(cfg, accounts.Deps{Producer: out, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return reader.Run(t.Context())
}

func TestEveryAccountOnce(t *testing.T) {
	c := bulk.NewChain(5000, 77)
	want := want(t, c)
	for cuts := range 2 {
		t.Run(fmt.Sprint(cuts, " cuts"), func(t *testing.T) {
			fake := &bulk.Server{Chain: c}
			cfg := configOf(t, serve(t, fake))
			cfg.Cuts = &cuts
			out := newLog()
			summary, err := run(t, cfg, out)
			require.NoError(t, err)
			require.Equal(t, want, out.states)
			require.EqualValues(t, out.records, fake.Served.Load(), "every account is in one shard alone")
			require.EqualValues(t, out.records, summary.Records)
			require.EqualValues(t, out.records, summary.Accounts)
			require.Equal(t, map[string]int{strings.TrimPrefix(cfg.Endpoints[0], "http://"): out.records}, out.upstreams, "every fact tells its upstream")
			require.EqualValues(t, 77, summary.FirstSlot)
			require.EqualValues(t, 77, summary.LastSlot)

			_, err = run(t, cfg, newLog())
			require.True(t, accounts.Complete(err), "what is done is not done again: %v", err)
		})
	}
}

func TestPages(t *testing.T) {
	c := bulk.NewChain(3000, 5)
	fake := &bulk.Server{Chain: c}
	cfg := configOf(t, serve(t, fake))
	cfg.Paged, cfg.PageLimit = true, 100
	out := newLog()
	_, err := run(t, cfg, out)
	require.NoError(t, err)
	require.Equal(t, want(t, c), out.states)
	require.EqualValues(t, out.records, fake.Served.Load())
}

func TestFaultsAreRiddenOut(t *testing.T) {
	c := bulk.NewChain(4000, 9)
	fake := &bulk.Server{Chain: c}
	fake.Before = func(number int64, _ string, w http.ResponseWriter) bool {
		switch number % 13 {
		case 1:
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			panic(http.ErrAbortHandler)
		case 4:
			_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32005,"message":"node is behind"},"id":1}`)
		case 5:
			_, _ = fmt.Fprint(w, `<html>gateway</html>`)
		default:
			return false
		}
		return true
	}
	fake.CutAfter = func(number int64) int {
		if number%26 == 6 {
			return 1
		}
		return -1
	}
	for _, paged := range []bool{false, true} {
		cfg := configOf(t, serve(t, fake)).WithAttempts(100)
		cfg.Paged, cfg.PageLimit = paged, 500
		out := newLog()
		_, err := run(t, cfg, out)
		require.NoError(t, err)
		require.Equal(t, want(t, c), out.states)
	}
}

func TestShardsTooLargeAreCut(t *testing.T) {
	c := bulk.NewChain(20_000, 9)
	for name, fake := range map[string]*bulk.Server{
		"refused":        {Chain: c, MaxAccounts: 400},
		"cut connection": {Chain: c, CutAfter: func(int64) int { return 400 }},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, serve(t, fake))
			out := newLog()
			_, err := run(t, cfg, out)
			require.NoError(t, err)
			require.Equal(t, want(t, c), out.states)
		})
	}
}

func TestSilentServerIsLeft(t *testing.T) {
	c := bulk.NewChain(300, 9)
	fake := &bulk.Server{Chain: c}
	release := make(chan struct{})
	fake.Before = func(number int64, _ string, w http.ResponseWriter) bool {
		if number > 2 {
			return false
		}
		_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","result":{"context":{"slot":9},"value":[`)
		w.(http.Flusher).Flush()
		<-release
		return true
	}
	cfg := configOf(t, serve(t, fake))
	t.Cleanup(func() { close(release) })
	// Short, but what is sent may be late too: an answer that is given up for that is only asked
	// for again.
	cfg = cfg.WithWaits(time.Millisecond, 500*time.Millisecond).WithAttempts(1000)
	none := 0
	cfg.Cuts = &none
	out := newLog()
	_, err := run(t, cfg, out)
	require.NoError(t, err)
	require.Equal(t, want(t, c), out.states)
}

func TestRefusals(t *testing.T) {
	c := bulk.NewChain(300, 9)
	answer := func(text string) func(int64, string, http.ResponseWriter) bool {
		return func(_ int64, _ string, w http.ResponseWriter) bool { _, _ = fmt.Fprint(w, text); return true }
	}
	for name, c := range map[string]struct {
		fake *bulk.Server
		want string
	}{
		"no context":         {&bulk.Server{Chain: c, WithoutContext: true}, "does not say its slot"},
		"context at the end": {&bulk.Server{Chain: c, ContextLast: true}, "does not say its slot"},
		"unknown method":     {&bulk.Server{Before: answer(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`)}, "Method not found"},
		"not indexed":        {&bulk.Server{Before: answer(`{"error":{"code":-32010,"message":"excluded from account secondary indexes"}}`)}, "excluded"},
		"never small enough": {&bulk.Server{Before: answer(`{"error":{"code":-32600,"message":"too large"}}`)}, "--paged"},
		"forbidden":          {&bulk.Server{Before: func(_ int64, _ string, w http.ResponseWriter) bool { w.WriteHeader(http.StatusForbidden); return true }}, "403"},
		"huge element":       {&bulk.Server{Before: answer(`{"result":{"context":{"slot":1},"value":[{"pubkey":"` + string(make([]byte, 3<<20)))}, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, serve(t, c.fake)).WithAttempts(2)
			cfg.Kinds = []string{accounts.KindToken2022Plain}
			_, err := run(t, cfg, newLog())
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "api-key")
		})
	}
}

// TestTheStatusCountsBeforeTheBody: what a server says while it has trouble is no last word. That
// its answer would be too large counts with every status.
func TestTheStatusCountsBeforeTheBody(t *testing.T) {
	c := bulk.NewChain(300, 9)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, 520} {
		for _, code := range []int{-32601, -32602, -32010, -32029, -32012} {
			fake := &bulk.Server{Chain: c, Before: func(call int64, _ string, w http.ResponseWriter) bool {
				if call > 1 {
					return false
				}
				w.WriteHeader(status)
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":%d,"message":"busy"},"id":1}`, code)
				return true
			}}
			cfg := configOf(t, serve(t, fake)).WithAttempts(3)
			cfg.Kinds = []string{accounts.KindToken2022Plain}
			_, err := run(t, cfg, newLog())
			require.NoError(t, err, "%d with %d", code, status)
		}
	}
}

func TestKafkaErrorEndsTheRunAndTheNextGoesOn(t *testing.T) {
	c := bulk.NewChain(3000, 9)
	fake := &bulk.Server{Chain: c}
	cfg := configOf(t, serve(t, fake))
	out := newLog()
	full := errors.New("disk full")
	for limit := 500; ; limit += 1500 {
		out.fail = func(records int) error {
			if records >= limit {
				return full
			}
			return nil
		}
		_, err := run(t, cfg, out)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, full)
	}
	require.Equal(t, want(t, c), out.states)
}

func TestProgressOfOtherSettingsIsRefused(t *testing.T) {
	fake := &bulk.Server{Chain: bulk.NewChain(100, 9)}
	cfg := configOf(t, serve(t, fake))
	out := newLog()
	out.fail = func(records int) error {
		if records > 10 {
			return errors.New("stop")
		}
		return nil
	}
	_, err := run(t, cfg, out)
	require.Error(t, err)
	cfg.Paged = true
	_, err = run(t, cfg, newLog())
	require.ErrorContains(t, err, "--restart")

	require.NoError(t, os.WriteFile(cfg.StateFile, []byte(`{"format":1,"paged":true,"kinds":null,"shards":[null]`), 0o600))
	_, err = run(t, cfg, newLog())
	require.ErrorContains(t, err, "damaged")
}

// TestProgressInAnotherLogIsRefused: what is in one Kafka is not in the next. A file of earlier
// versions names no log.
func TestProgressInAnotherLogIsRefused(t *testing.T) {
	cfg := configOf(t, serve(t, &bulk.Server{Chain: bulk.NewChain(100, 5)}))
	_, err := run(t, cfg, newLog())
	require.NoError(t, err)
	cfg.Log = "staging"
	_, err = run(t, cfg, newLog())
	require.True(t, accounts.Complete(err))

	cfg.StateFile = filepath.Join(t.TempDir(), "bootstrap.json")
	_, err = run(t, cfg, newLog())
	require.NoError(t, err)
	cfg.Log = "production"
	_, err = run(t, cfg, newLog())
	require.ErrorContains(t, err, `the Kafka cluster "staging", and this one is "production": begin anew with --restart`)
}

// A server that says slots which no chain can have reached: nothing of what it says is written, and
// the other server's answers are.
func TestImpossibleSlotsAreRefused(t *testing.T) {
	for _, slot := range []uint64{math.MaxUint64 - 1, 1 << 53, 10_000_000_000} {
		honest, lying := bulk.NewChain(500, 77), bulk.NewChain(500, slot)
		cfg := configOf(t, serve(t, &bulk.Server{Chain: lying}))
		cfg.Endpoints = append(cfg.Endpoints, serve(t, &bulk.Server{Chain: honest}))
		out := newLog()
		summary, err := run(t, cfg, out)
		require.NoError(t, err)
		require.Equal(t, want(t, honest), out.states)
		require.EqualValues(t, 77, summary.LastSlot)
	}
}
