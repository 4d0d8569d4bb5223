package solana

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

func server(t *testing.T, h func(w http.ResponseWriter, method string, call int)) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req wireRequest
		if json.NewDecoder(r.Body).Decode(&req) != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		h(w, req.Method, int(calls.Add(1)))
	}))
	t.Cleanup(s.Close)
	return s, &calls
}

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.firstPause = time.Millisecond
	c, err := NewClient(cfg, Deps{Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	return c
}

func reply(w http.ResponseWriter, body string) { fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,`+body+`}`) }

func TestRetriesWhatMayPassAndNothingElse(t *testing.T) {
	cases := []struct {
		name  string
		first func(w http.ResponseWriter)
		again bool
	}{
		{"429", func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, true},
		{"503", func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, true},
		{"node behind", func(w http.ResponseWriter) { reply(w, `"error":{"code":-32005,"message":"m"}`) }, true},
		{"not available yet", func(w http.ResponseWriter) { reply(w, `"error":{"code":-32014,"message":"m"}`) }, true},
		{"not json", func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }, true},
		{"hang up", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
		{"invalid params", func(w http.ResponseWriter) { reply(w, `"error":{"code":-32602,"message":"m"}`) }, false},
		{"skipped", func(w http.ResponseWriter) { reply(w, `"error":{"code":-32007,"message":"m"}`) }, false},
		{"forbidden", func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s, calls := server(t, func(w http.ResponseWriter, _ string, call int) {
				if call == 1 {
					tc.first(w)
					return
				}
				reply(w, `"result":7`)
			})
			slot, err := client(t, Config{Endpoints: []string{s.URL}}).GetSlot(t.Context(), Confirmed)
			if tc.again {
				require.NoError(t, err)
				require.EqualValues(t, 7, slot)
				require.EqualValues(t, 2, calls.Load())
				return
			}
			require.Error(t, err)
			require.False(t, Retryable(err))
			require.EqualValues(t, 1, calls.Load())
			require.Equal(t, tc.name == "skipped", SkippedSlot(err))
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, _ string, call int) {
		if call == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		reply(w, `"result":7`)
	})
	began := time.Now()
	_, err := client(t, Config{Endpoints: []string{s.URL}}).GetSlot(t.Context(), "")
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
}

func TestFailsOverAtOnceAndComesBack(t *testing.T) {
	bad, badCalls := server(t, func(w http.ResponseWriter, _ string, _ int) { w.WriteHeader(http.StatusBadGateway) })
	good, goodCalls := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"result":7`) })
	c := client(t, Config{Endpoints: []string{bad.URL, good.URL}, MaxAttempts: 1})
	began := time.Now()
	_, err := c.GetSlot(t.Context(), "")
	require.NoError(t, err)
	c.pool.mu.Lock()
	for _, e := range c.pool.endpoints {
		if e.failures > 0 {
			require.GreaterOrEqual(t, e.restsUntil.Sub(began), firstRest)
			e.restsUntil = e.restsUntil.Add(time.Hour) // beyond this test, however slow the machine
		}
	}
	c.pool.mu.Unlock()
	for range 9 {
		_, err := c.GetSlot(t.Context(), "")
		require.NoError(t, err)
	}
	require.EqualValues(t, 10, goodCalls.Load())
	require.EqualValues(t, 1, badCalls.Load(), "a troubled endpoint rests")
	c.pool.mu.Lock()
	for _, e := range c.pool.endpoints {
		e.restsUntil = time.Time{}
	}
	c.pool.mu.Unlock()
	for range 2 {
		_, err := c.GetSlot(t.Context(), "")
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, badCalls.Load(), int64(2), "a rested endpoint is asked again")
}

func TestGivesUpWithTheLastError(t *testing.T) {
	s, calls := server(t, func(w http.ResponseWriter, _ string, _ int) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, err := client(t, Config{Endpoints: []string{s.URL}, MaxAttempts: 3}).GetSlot(t.Context(), "")
	require.ErrorContains(t, err, "503")
	require.True(t, Retryable(err))
	require.EqualValues(t, 3, calls.Load())
}

func TestNoKeyInErrorsOrLogs(t *testing.T) {
	var log strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	host := strings.TrimPrefix(s.URL, "http://")
	t.Cleanup(s.Close)
	c, err := NewClient(Config{Endpoints: []string{"http://user:S3CRET@" + host + "/S3CRET?apiKey=S3CRET"}, MaxAttempts: 2, firstPause: 1},
		Deps{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	_, err = c.GetSlot(t.Context(), "")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "S3CRET")
	require.NotEmpty(t, log.String())
	require.NotContains(t, log.String(), "S3CRET")
	_, err = NewClient(Config{Endpoints: []string{"ftp://user:S3CRET@host/S3CRET"}}, Deps{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "S3CRET")
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	_, err := client(t, Config{Endpoints: []string{s.URL}}).GetSlot(t.Context(), "")
	require.Error(t, err)
	require.False(t, followed.Load())
}

// getSlots makes calls at the same time and returns how long they took together.
func getSlots(t *testing.T, c *Client, calls int) time.Duration {
	t.Helper()
	began := time.Now()
	errs := make(chan error, calls)
	for range calls {
		go func() {
			slot, err := c.GetSlot(t.Context(), "")
			if err == nil && slot != 7 {
				err = fmt.Errorf("slot %d", slot)
			}
			errs <- err
		}()
	}
	for range calls {
		require.NoError(t, <-errs)
	}
	return time.Since(began)
}

func TestConcurrencyIsBounded(t *testing.T) {
	var mu sync.Mutex
	now, peak := 0, 0
	both := make(chan struct{}) // closed when two calls are under way
	s, calls := server(t, func(w http.ResponseWriter, _ string, _ int) {
		mu.Lock()
		now++
		if peak = max(peak, now); peak == 2 && now == 2 {
			select {
			case <-both:
			default:
				close(both)
			}
		}
		mu.Unlock()
		<-both
		time.Sleep(5 * time.Millisecond) // time for a third call to come, were there one
		mu.Lock()
		now--
		mu.Unlock()
		reply(w, `"result":7`)
	})
	getSlots(t, client(t, Config{Endpoints: []string{s.URL}, maxConcurrent: 2}), 20)
	require.EqualValues(t, 20, calls.Load())
	require.Equal(t, 2, peak)
}

func TestRateIsBounded(t *testing.T) {
	s, calls := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"result":7`) })
	took := getSlots(t, client(t, Config{Endpoints: []string{s.URL}, RequestsPerSecond: 100}), 20)
	require.EqualValues(t, 20, calls.Load())
	require.GreaterOrEqual(t, took, 190*time.Millisecond, "19 pauses of 10 ms")
}

func TestCanceledContextEndsTheCall(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { w.WriteHeader(http.StatusServiceUnavailable) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c, err := NewClient(Config{Endpoints: []string{s.URL}, firstPause: 10 * time.Second}, Deps{})
	require.NoError(t, err)
	_, err = c.GetSlot(ctx, "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, Retryable(err))
}

func TestGetMultipleAccounts(t *testing.T) {
	owner := pubkey.Key{1, 2, 3}
	answer := fmt.Sprintf(`"result":{"context":{"slot":42},"value":[{"owner":"%s","lamports":5,"data":["%s","base64"],"executable":true,"rentEpoch":18446744073709551615},null]}`,
		base58.Encode(owner[:]), base64.StdEncoding.EncodeToString([]byte("hello")))
	s, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, answer) })
	c := client(t, Config{Endpoints: []string{s.URL}})
	slot, accounts, err := c.GetMultipleAccounts(t.Context(), []pubkey.Key{{9}, {8}}, AccountOptions{Commitment: Confirmed, DataSlice: &DataSlice{Length: 5}})
	require.NoError(t, err)
	require.EqualValues(t, 42, slot)
	require.Equal(t, []*Account{{Owner: owner, Lamports: 5, Data: []byte("hello"), Executable: true}, nil}, accounts)

	_, _, err = c.GetMultipleAccounts(t.Context(), []pubkey.Key{{9}}, AccountOptions{})
	require.ErrorIs(t, err, ErrMalformed, "two accounts for one key")
	_, _, err = c.GetMultipleAccounts(t.Context(), make([]pubkey.Key, 101), AccountOptions{})
	require.ErrorContains(t, err, "1 to 100")
}

func TestNullIsNeverASkippedSlot(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"result":null`) })
	c := client(t, Config{Endpoints: []string{s.URL}})
	_, err := c.GetBlock(t.Context(), 1, BlockOptions{})
	require.Error(t, err)
	require.False(t, SkippedSlot(err))
	require.True(t, Retryable(err))
}

func TestTwoClientsShareARegistry(t *testing.T) {
	reg := prometheus.NewRegistry()
	for range 2 {
		_, err := NewClient(Config{Endpoints: []string{"http://h"}}, Deps{Registerer: reg})
		require.NoError(t, err)
	}
}

// TestABlockThatIsNotThereIsNotWaitedFor: with NoWait, each endpoint is asked once.
func TestABlockThatIsNotThereIsNotWaitedFor(t *testing.T) {
	for _, body := range []string{`"error":{"code":-32004,"message":"m"}`, `"error":{"code":-32014,"message":"m"}`, `"result":null`} {
		one, calls := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, body) })
		_, err := client(t, Config{Endpoints: []string{one.URL}}).GetBlock(t.Context(), 7, BlockOptions{NoWait: true})
		require.True(t, BlockNotAvailable(err), err)
		require.EqualValues(t, 1, calls.Load())
	}
	absent, calls := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"error":{"code":-32004,"message":"m"}`) })
	has, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"result":{"blockhash":"x"}`) })
	c := client(t, Config{Endpoints: []string{absent.URL, has.URL}})
	for range 4 {
		_, err := c.GetBlock(t.Context(), 7, BlockOptions{NoWait: true})
		require.NoError(t, err, "the other one has it")
	}
	require.LessOrEqual(t, calls.Load(), int64(4))
	busy, calls := server(t, func(w http.ResponseWriter, _ string, call int) {
		if call == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		reply(w, `"result":{"blockhash":"x"}`)
	})
	_, err := client(t, Config{Endpoints: []string{busy.URL}}).GetBlock(t.Context(), 7, BlockOptions{NoWait: true})
	require.NoError(t, err, "a busy server is waited for")
	require.EqualValues(t, 2, calls.Load())
}
