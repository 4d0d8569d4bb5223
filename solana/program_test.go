package solana

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// listingOf is the response with so many accounts. Account i has the key and the data of i.
func listingOf(count int) string {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","result":[`)
	for i := range count {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"account":{"data":[%q,"base64"],"executable":false,"lamports":1,"owner":"a \"}]","rentEpoch":18446744073709551615,"space":99},"pubkey":%q}`,
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", i%500))), pubkey.Key{byte(i), byte(i >> 8), 1})
	}
	b.WriteString(`],"id":1}`)
	return b.String()
}

func TestProgramAccountsAreReadAsTheyArrive(t *testing.T) {
	const count = 3000
	var asked []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, listingOf(count))
	}))
	defer server.Close()
	c, err := NewClient(Config{Endpoints: []string{server.URL}}, Deps{})
	require.NoError(t, err)
	n := 0
	require.NoError(t, c.ProgramAccounts(t.Context(), pubkey.Key{9}, ProgramOptions{
		AccountOptions: AccountOptions{Commitment: Confirmed, DataSlice: &DataSlice{Offset: 7, Length: 64}, MinContextSlot: 5},
		Filters:        []Filter{{DataSize: 10}, {Memcmp: &Memcmp{Offset: 3, Bytes: "abc"}}},
	}, func(address pubkey.Key, data []byte) error {
		require.Equal(t, pubkey.Key{byte(n), byte(n >> 8), 1}, address)
		require.Len(t, data, n%500)
		n++
		return nil
	}))
	require.Equal(t, count, n)
	var request struct{ Params []json.RawMessage }
	require.NoError(t, json.Unmarshal(asked, &request))
	require.JSONEq(t, `{"encoding":"base64","commitment":"confirmed","filters":[{"dataSize":10},{"memcmp":{"offset":3,"bytes":"abc"}}],"dataSlice":{"offset":7,"length":64},"minContextSlot":5}`, string(request.Params[1]))
}

// TestAListingIsACallLikeOthers: it tells why it was refused, lets an endpoint rest that fails, and
// keeps to the rate.
func TestAListingIsACallLikeOthers(t *testing.T) {
	list := func(c *Client) error {
		return c.ProgramAccounts(t.Context(), pubkey.Key{9}, ProgramOptions{}, func(pubkey.Key, []byte) error { return nil })
	}
	refusing, _ := server(t, func(w http.ResponseWriter, _ string, _ int) {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, `"error":{"code":-32010,"message":"excluded from account secondary indexes"}`)
	})
	var refused *RPCError
	require.ErrorAs(t, list(client(t, Config{Endpoints: []string{refusing.URL}})), &refused)
	require.Equal(t, RPCError{-32010, "excluded from account secondary indexes"}, *refused)

	away, asked := server(t, func(w http.ResponseWriter, _ string, _ int) { w.WriteHeader(http.StatusServiceUnavailable) })
	well, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { reply(w, `"result":[]`) })
	c := client(t, Config{Endpoints: []string{away.URL, well.URL}})
	var status *HTTPError
	require.ErrorAs(t, list(c), &status)
	require.EqualValues(t, 1, asked.Load())
	require.Equal(t, 1, c.pool.endpoints[0].failures, "it rests now")
	require.NoError(t, list(c))
	require.EqualValues(t, 1, testutil.ToFloat64(c.metrics.requests.WithLabelValues("other", "ok")))

	began := time.Now()
	slow := client(t, Config{Endpoints: []string{well.URL}, RequestsPerSecond: 50})
	for range 6 {
		require.NoError(t, list(slow))
	}
	require.GreaterOrEqual(t, time.Since(began), 90*time.Millisecond, "six calls at 50 a second")
}

// TestWhoEndsAListingDoesNotBlameTheEndpoint: it did what was asked.
func TestWhoEndsAListingDoesNotBlameTheEndpoint(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, _ string, _ int) { _, _ = io.WriteString(w, listingOf(2)) })
	c := client(t, Config{Endpoints: []string{s.URL}})
	err := c.ProgramAccounts(t.Context(), pubkey.Key{9}, ProgramOptions{}, func(pubkey.Key, []byte) error { return io.ErrShortBuffer })
	require.ErrorIs(t, err, io.ErrShortBuffer)
	require.Zero(t, c.pool.endpoints[0].failures)
}

// TestAListingThatStopsComingEnds after the client's timeout.
func TestAListingThatStopsComingEnds(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, _ string, _ int) {
		_, _ = io.WriteString(w, listingOf(200)[:40_000])
		w.(http.Flusher).Flush()
		<-t.Context().Done()
	})
	c := client(t, Config{Endpoints: []string{s.URL}, Timeout: 20 * time.Millisecond})
	err := c.ProgramAccounts(t.Context(), pubkey.Key{9}, ProgramOptions{}, func(pubkey.Key, []byte) error { return nil })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, Retryable(err))
	require.Equal(t, 1, c.pool.endpoints[0].failures)
}

// TestAListingMayBeginLate: a server makes all of it before it sends the first byte.
func TestAListingMayBeginLate(t *testing.T) {
	begin := make(chan struct{})
	s, _ := server(t, func(w http.ResponseWriter, _ string, _ int) {
		<-begin
		_, _ = io.WriteString(w, listingOf(2))
	})
	time.AfterFunc(2*time.Second, func() { close(begin) })
	c := client(t, Config{Endpoints: []string{s.URL}, Timeout: time.Second})
	require.NoError(t, c.ProgramAccounts(t.Context(), pubkey.Key{9}, ProgramOptions{}, func(pubkey.Key, []byte) error { return nil }))
}

// TestAListingThatNeverBeginsEnds after listingWait.
func TestAListingThatNeverBeginsEnds(t *testing.T) {
	s, _ := server(t, func(http.ResponseWriter, string, int) { <-t.Context().Done() })
	c := client(t, Config{Endpoints: []string{s.URL}, listingWait: 20 * time.Millisecond})
	err := c.ProgramAccounts(t.Context(), pubkey.Key{9}, ProgramOptions{}, func(pubkey.Key, []byte) error { return nil })
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAListingThatIsNoneIsAnError(t *testing.T) {
	use := func(pubkey.Key, []byte) error { return nil }
	var refused *RPCError
	require.ErrorAs(t, readListing(strings.NewReader(`{"jsonrpc":"2.0","error":{"code":-32010,"message":"excluded"},"id":1}`), use), &refused)
	require.Equal(t, -32010, refused.Code)
	whole := listingOf(3)
	for n := range len(whole) - len(`],"id":1}`) {
		require.Error(t, readListing(strings.NewReader(whole[:n]), use), whole[:n])
	}
	for _, text := range []string{``, `[]`, `{"result":null}`, `{"result":{}}`, `{"result":[1]}`, `{"result":[{}]}`, `{"result":[{"pubkey":"x","account":{"data":[""]}}]}`,
		`{"result":[{"account":{"data":["` + strings.Repeat("A", listingElement) + `"]}}]}`} {
		require.ErrorIs(t, readListing(strings.NewReader(text), use), ErrMalformed, text)
	}
	require.ErrorIs(t, readListing(strings.NewReader(whole), func(pubkey.Key, []byte) error { return io.ErrShortBuffer }), io.ErrShortBuffer)
	require.NoError(t, readListing(strings.NewReader(`{"jsonrpc":"2.0", "result": [ ] }`), use))
}

func FuzzReadListing(f *testing.F) {
	f.Add(listingOf(2))
	f.Add(`{"result":[{"pubkey":"\u0031"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		count := 0
		_ = readListing(strings.NewReader(text), func(pubkey.Key, []byte) error { count++; return nil })
		if count > len(text)/50 {
			t.Fatalf("%d accounts of %d bytes", count, len(text))
		}
	})
}
