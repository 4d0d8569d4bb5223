package solana

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// endless is the body of an answer without end: begin, and then more again and again.
type endless struct {
	begin, more string
	at          int
	read        *atomic.Int64 // bytes that were read and whose body is not closed
	most        *atomic.Int64
	own         int64
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		if e.at < len(e.begin) {
			n += copy(b[n:], e.begin[e.at:])
			e.at += n
			continue
		}
		k := copy(b[n:], e.more[(e.at-len(e.begin))%len(e.more):])
		n, e.at = n+k, e.at+k
	}
	e.own += int64(n)
	now := e.read.Add(int64(n))
	for most := e.most.Load(); now > most && !e.most.CompareAndSwap(most, now); most = e.most.Load() {
	}
	return n, nil
}

func (e *endless) Close() error {
	e.read.Add(-e.own)
	e.own = 0
	return nil
}

// transport answers each request by body.
type transport func() *http.Response

func (t transport) RoundTrip(*http.Request) (*http.Response, error) { return t(), nil }

func respond(status int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, ContentLength: -1, Header: http.Header{}, Body: body}
}

func clientOf(t *testing.T, cfg Config, deps Deps, answer transport) *Client {
	t.Helper()
	cfg.Endpoints, cfg.MaxAttempts, cfg.firstPause = []string{"http://upstream"}, 1, 1
	deps.HTTPClient = &http.Client{Transport: answer}
	c, err := NewClient(cfg, deps)
	require.NoError(t, err)
	return c
}

// TestAnAnswerIsBoundedByWhatWasAskedFor: an upstream that answers without end is read to the bound
// of the call and no further, and what is decoded of it takes no multiple.
func TestAnAnswerIsBoundedByWhatWasAskedFor(t *testing.T) {
	keys := func(n int) []pubkey.Key { return make([]pubkey.Key, n) }
	calls := map[string]struct {
		bound int64
		ask   func(ctx context.Context, c *Client) error
	}{
		"72 accounts, 4 KiB each": {accountsBytes(72, 4096), func(ctx context.Context, c *Client) error {
			_, _, err := c.GetMultipleAccounts(ctx, keys(72), AccountOptions{DataSlice: &DataSlice{Length: 4096}})
			return err
		}},
		"an account without data": {accountsBytes(1, 0), func(ctx context.Context, c *Client) error {
			_, _, err := c.GetMultipleAccounts(ctx, keys(1), AccountOptions{DataSlice: &DataSlice{}})
			return err
		}},
		"a whole account": {accountsBytes(1, accountData), func(ctx context.Context, c *Client) error {
			_, _, err := c.GetMultipleAccounts(ctx, keys(1), AccountOptions{})
			return err
		}},
		"a slice of 2^64-1 bytes": {accountsBytes(1, accountData), func(ctx context.Context, c *Client) error {
			_, _, err := c.GetMultipleAccounts(ctx, keys(1), AccountOptions{DataSlice: &DataSlice{Length: 1<<64 - 1}})
			return err
		}},
		"the slot": {smallAnswer, func(ctx context.Context, c *Client) error {
			_, err := c.GetSlot(ctx, Confirmed)
			return err
		}},
		"the genesis hash": {smallAnswer, func(ctx context.Context, c *Client) error {
			_, err := c.GetGenesisHash(ctx)
			return err
		}},
		"100 slots": {smallAnswer + 100*slotBytes, func(ctx context.Context, c *Client) error {
			_, err := c.GetBlocks(ctx, 1, 101, Confirmed)
			return err
		}},
		"no slots": {smallAnswer, func(ctx context.Context, c *Client) error {
			_, err := c.GetBlocks(ctx, 7, 1, Confirmed)
			return err
		}},
		"all slots": {smallAnswer + maxSlots*slotBytes, func(ctx context.Context, c *Client) error {
			_, err := c.GetBlocks(ctx, 0, 1<<64-1, Confirmed)
			return err
		}},
		"a header": {headerAnswer, func(ctx context.Context, c *Client) error {
			_, err := c.GetBlock(ctx, 1, BlockOptions{HeaderOnly: true})
			return err
		}},
		"a block": {4 << 20, func(ctx context.Context, c *Client) error {
			_, err := c.GetBlock(ctx, 1, BlockOptions{})
			return err
		}},
		"a transaction": {transactionAnswer, func(ctx context.Context, c *Client) error {
			return c.Call(ctx, "getTransaction", nil, new(json.RawMessage))
		}},
		"any other method": {4 << 20, func(ctx context.Context, c *Client) error { return c.Call(ctx, "getSomething", nil, new(any)) }},
	}
	bodies := map[string][2]string{
		"text":     {`{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":[{"owner":"`, "aaaaaaaa"},
		"accounts": {`{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":[{}`, ",{}"},
		"nulls":    {`{"jsonrpc":"2.0","id":1,"result":[null`, ",null"},
		"numbers":  {`{"jsonrpc":"2.0","id":1,"result":[1`, ",1"},
		"brackets": {`{"jsonrpc":"2.0","id":1,"result":`, "["},
		"spaces":   {"", " \n"},
		"behind":   {`{"jsonrpc":"2.0","id":1,"result":1}`, "}"},
		"an error": {`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"`, "no "},
		"no json":  {"<html>", "<br>"},
	}
	for name, call := range calls {
		cfg := Config{}
		if call.bound == 4<<20 {
			cfg.MaxBodyBytes = call.bound
		}
		for kind, body := range bodies {
			for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusServiceUnavailable} {
				var read, most atomic.Int64
				c := clientOf(t, cfg, Deps{}, func() *http.Response {
					return respond(status, &endless{begin: body[0], more: body[1], read: &read, most: &most})
				})
				limit := call.bound
				if status != http.StatusOK && kind != "text" && kind != "spaces" {
					continue
				}
				if status != http.StatusOK {
					limit = refusalBytes
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := call.ask(t.Context(), c)
				runtime.ReadMemStats(&after)
				require.Error(t, err, "%s, %s", name, kind)
				require.LessOrEqual(t, most.Load(), limit+1, "%s, %s, %d", name, kind, status)
				require.Zero(t, read.Load(), "the body is closed")
				require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(8*limit+4<<20), "%s, %s, %d", name, kind, status)
			}
		}
	}
}

// TestElementsTakeNoMultiple: an answer within its bound that has far more elements than were asked
// for is refused at the first one too many.
func TestElementsTakeNoMultiple(t *testing.T) {
	for _, element := range []string{"{}", "null", `{"data":[` + strings.Repeat(`"",`, 1000) + `""]}`, `{"owner":null,"data":null}`} {
		result := `{"context":{"slot":1},"value":[` + strings.Repeat(element+",", int(accountsBytes(1, accountData))/len(element+",")-100) + element + `]}`
		c := clientOf(t, Config{}, Deps{}, func() *http.Response {
			return respond(http.StatusOK, io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":`+result+`}`)))
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := c.GetMultipleAccounts(t.Context(), make([]pubkey.Key, 1), AccountOptions{})
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrMalformed)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(6*len(result)), element)
	}
}

// TestMoreDataThanAskedFor is refused, also within the bytes of the answer.
func TestMoreDataThanAskedFor(t *testing.T) {
	c := clientOf(t, Config{}, Deps{}, func() *http.Response {
		return respond(http.StatusOK, io.NopCloser(strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":[{"owner":"11111111111111111111111111111111","lamports":1,"data":["AAAA","base64"]}]}}`)))
	})
	_, _, err := c.GetMultipleAccounts(t.Context(), make([]pubkey.Key, 1), AccountOptions{DataSlice: &DataSlice{Length: 2}})
	require.ErrorIs(t, err, ErrMalformed)
	_, accounts, err := c.GetMultipleAccounts(t.Context(), make([]pubkey.Key, 1), AccountOptions{DataSlice: &DataSlice{Length: 3}})
	require.NoError(t, err)
	require.Len(t, accounts[0].Data, 3)
}

// TestAnswersShareABudget: many endless answers at once, of several clients.
func TestAnswersShareABudget(t *testing.T) {
	const calls, medium, limit = 12, 2 * (largeAnswer - smallAnswer), 24 << 20
	var read, most atomic.Int64
	budget := &Budget{semaphore.NewWeighted(medium), semaphore.NewWeighted(1)}
	var group sync.WaitGroup
	for range calls {
		c := clientOf(t, Config{MaxBodyBytes: limit}, Deps{Budget: budget}, func() *http.Response {
			return respond(http.StatusOK, &endless{begin: `{"result":"`, more: "aaaa", read: &read, most: &most})
		})
		group.Go(func() { _, _ = c.GetBlock(t.Context(), 1, BlockOptions{}) })
	}
	group.Wait()
	require.LessOrEqual(t, most.Load(), int64(calls*smallAnswer+medium+limit+1))
	require.NoError(t, budget.medium.Acquire(t.Context(), medium), "everything is given back")
	require.NoError(t, budget.large.Acquire(t.Context(), 1))

	sized := func(ctx context.Context, n int) error {
		c := clientOf(t, Config{}, Deps{Budget: budget}, func() *http.Response {
			return respond(http.StatusOK, io.NopCloser(strings.NewReader(`{"result":"`+strings.Repeat("a", n)+`"}`)))
		})
		resp, err := c.http.Transport.RoundTrip(nil)
		require.NoError(t, err)
		_, release, err := c.readAll(ctx, resp, limit)
		release()
		return err
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	require.NoError(t, sized(late, 1000), "a small answer waits for none")
	err := sized(late, 2<<20)
	require.ErrorIs(t, err, errTurn)
	require.True(t, Retryable(err))
	require.False(t, endpointTrouble(err), "the endpoint answered")
	require.Equal(t, "canceled", outcome(err))
	budget.medium.Release(medium)
	require.NoError(t, sized(t.Context(), 2<<20))
	waiting, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	require.ErrorIs(t, sized(waiting, 17<<20), errTurn)
	budget.large.Release(1)
	require.NoError(t, sized(t.Context(), 17<<20))
}

func TestBodyIsBoundedAfterDecompression(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := fmt.Fprintf(z, `{"jsonrpc":"2.0","id":1,"result":"%s"}`, strings.Repeat("a", 64<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}))
	t.Cleanup(s.Close)
	for method, most := range map[string]uint64{"getSlot": 24 << 20, "getBlock": 40 << 20} {
		c := client(t, Config{Endpoints: []string{s.URL}, MaxBodyBytes: 4 << 20, MaxAttempts: 1})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = c.Call(t.Context(), method, nil, nil)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrMalformed)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, most)
	}
	var got string
	require.NoError(t, client(t, Config{Endpoints: []string{s.URL}}).Call(t.Context(), "getBlock", nil, &got))
	require.Len(t, got, 64<<20)
}
