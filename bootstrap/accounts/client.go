package accounts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/solana"
)

// client makes requests whose answers are read as a stream. The client of package solana reads
// whole answers, but an answer of getProgramAccounts can have gigabytes.
type client struct {
	http      *http.Client
	endpoints []string
	idle      time.Duration
	pace      *rate.Limiter
}

func newClient(cfg Config) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // net/http sets this type
	transport.MaxIdleConnsPerHost = cfg.Concurrency
	transport.ResponseHeaderTimeout = firstByteTimeout
	c := &client{endpoints: cfg.Endpoints, idle: cfg.idleTimeout, pace: pause.Evenly(cfg.RequestsPerSecond), http: &http.Client{
		Transport: transport,
		// A redirect would carry a keyed request to wherever the answer says.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return c
}

func checkEndpoints(endpoints []string) error {
	if len(endpoints) == 0 {
		return errors.New("no RPC server: name at least one")
	}
	for _, endpoint := range endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("RPC server %s: must be http(s)://host", solana.Redact(endpoint))
		}
	}
	return nil
}

// errConnection is a connection that failed or fell silent. Another try may always help.
var errConnection = errors.New("connection failed")

// request is one call of getProgramAccounts or its paged form.
type request struct {
	kind   kind
	path   []byte // of the shard
	paged  bool
	limit  int    // of the accounts, if paged
	cursor string // the place of the page, if paged; empty for the first one
}

type requestConfig struct {
	Encoding      string            `json:"encoding"`
	Commitment    string            `json:"commitment"`
	WithContext   bool              `json:"withContext"`
	Filters       []solana.Filter   `json:"filters"`
	DataSlice     *solana.DataSlice `json:"dataSlice,omitempty"`
	Limit         int               `json:"limit,omitempty"`
	PaginationKey string            `json:"paginationKey,omitempty"`
}

func (r *request) body() ([]byte, error) {
	method, config := "getProgramAccounts", requestConfig{
		// Finalized: no fork can undo what is read.
		Encoding: "base64", Commitment: "finalized", WithContext: true, Filters: r.kind.filtersOf(r.path), DataSlice: r.kind.slice,
	}
	if r.paged {
		method, config.Limit, config.PaginationKey = "getProgramAccountsV2", r.limit, r.cursor
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": []any{r.kind.program, config}})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return body, nil
}

// endpoint returns the endpoint of a turn.
func (c *client) endpoint(turn int) string { return c.endpoints[turn%len(c.endpoints)] }

// do makes the request at the endpoint of this turn, and calls each for every account as it
// arrives. Its errors are *solana.HTTPError, *solana.RPCError, those of each, the context's, or
// wrap errConnection, errMalformed or errNoContext. None contains the URL, which may have a key.
func (c *client) do(ctx context.Context, turn int, r *request, each func(slot uint64, a *account) error) (page, error) {
	body, err := r.body()
	if err != nil {
		return page{}, err
	}
	if err := pause.Await(ctx, c.pace); err != nil {
		return page{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	endpoint := c.endpoint(turn)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return page{}, fmt.Errorf("build request for %s: %w", solana.Redact(endpoint), scrub(err))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return page{}, broken(ctx, endpoint, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return page{}, refused(resp)
	}
	input := &watched{body: resp.Body, idle: c.idle, cancel: cancel, explain: func(err error) error { return broken(ctx, endpoint, err) }}
	answer, err := decodeAnswer(bufio.NewReaderSize(input, readBuffer), each)
	if answer.accounts > 0 && (errors.Is(err, errConnection) || errors.Is(err, errMalformed)) {
		err = &cutOffError{err}
	}
	return answer, err
}

// readBuffer is large so that there are few reads from the connection.
const readBuffer = 256 << 10

// cutOffError is an answer that ended among its accounts: the connection failed, or the server
// cannot send so large an answer.
type cutOffError struct{ err error }

func (e *cutOffError) Error() string { return "answer cut off: " + e.err.Error() }
func (e *cutOffError) Unwrap() error { return e.err }

// refused returns the error of an answer whose status is not OK. It is that of the status, unless
// the body has an error that says that the answer would be too large. A 429 is always one of the
// status.
func refused(resp *http.Response) error {
	err := solana.Refused(resp)
	var status *solana.HTTPError
	if errors.As(err, &status) && status.Told != nil && status.Status != http.StatusTooManyRequests && tooLarge(status.Told) {
		return status.Told
	}
	return err
}

// broken returns the error of a failed connection, without its URL. It is errSilent if ctx was
// cancelled because the server was silent, and context.Canceled if ctx ended otherwise.
func broken(ctx context.Context, endpoint string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errConnection) {
			return cause
		}
		return context.Canceled
	}
	return fmt.Errorf("%w: %s: %w", errConnection, solana.Redact(endpoint), scrub(err))
}

// scrub takes the URL out of an error of net/http.
func scrub(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// timedOut reports whether the server took too long: the request may be too large for it.
func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, errSilent) || errors.As(err, &n) && n.Timeout()
}

// errSilent is a server that sent nothing for Config.idleTimeout.
var errSilent = fmt.Errorf("%w: silent for too long", errConnection)

// watched ends the request when one read takes longer than idle. The time between reads, in which
// facts are written to Kafka, does not count.
type watched struct {
	body    io.Reader
	idle    time.Duration
	cancel  context.CancelCauseFunc
	explain func(error) error
}

func (w *watched) Read(p []byte) (int, error) {
	timer := time.AfterFunc(w.idle, func() { w.cancel(errSilent) })
	n, err := w.body.Read(p)
	timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		return n, w.explain(err)
	}
	return n, err // nil, or io.EOF, which must not be wrapped
}
