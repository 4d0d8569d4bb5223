// Package solana is a JSON-RPC client for Solana nodes.
//
// In: calls. Out: results, raw or typed. Guarantees: calls go round-robin over the healthy
// endpoints. They are retried with back-off if, and only if, Retryable says so. They never exceed
// the configured rate and concurrency, and never hold more than the configured number of bytes of a
// response. No URL with its key ever reaches a log line or an error text.
package solana

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/internal/unknowns"
)

// Config says which servers are asked, and bounds the calls. Zero values take the defaults named at
// each field.
type Config struct {
	// Endpoints are http(s) URLs; at least one. A key may be part of the URL.
	Endpoints []string
	// Timeout bounds one attempt, body included. Default 30 s. For ProgramAccounts it bounds the
	// wait for each part of the response.
	Timeout time.Duration
	// listingWait bounds the wait for the response of ProgramAccounts. Default 5 min.
	listingWait time.Duration
	// maxConcurrent bounds the calls in flight. Default 16.
	maxConcurrent int
	// RequestsPerSecond bounds the attempts at all endpoints together; 0 means no limit.
	RequestsPerSecond float64
	// MaxAttempts bounds the attempts of one call, the first included. Default 8.
	MaxAttempts int
	// MaxElapsed bounds the time of one call, with all attempts and pauses. Default 2 min.
	MaxElapsed time.Duration
	// firstPause is the pause before the second attempt; it doubles, with jitter, up to 5 s.
	// Default 200 ms.
	firstPause time.Duration
	// MaxBodyBytes bounds one response after decompression. Default 256 MiB. ProgramAccounts, which
	// keeps nothing of a response, is not bounded by it.
	MaxBodyBytes int64
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(max(c.Timeout, 0), 30*time.Second)
	c.listingWait = cmp.Or(max(c.listingWait, 0), 5*time.Minute)
	c.MaxElapsed = cmp.Or(max(c.MaxElapsed, 0), 2*time.Minute)
	c.firstPause = cmp.Or(max(c.firstPause, 0), 200*time.Millisecond)
	c.maxConcurrent = cmp.Or(max(c.maxConcurrent, 0), 16)
	c.MaxAttempts = cmp.Or(max(c.MaxAttempts, 0), 8)
	c.MaxBodyBytes = cmp.Or(max(c.MaxBodyBytes, 0), 256<<20)
	return c
}

// Deps are the client's collaborators; nil ones take a default (http.Client without redirects,
// silent log, no metrics).
type Deps struct {
	HTTPClient *http.Client
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Unknowns counts error codes that are not documented.
	Unknowns *unknowns.Book
}

// Client calls Solana JSON-RPC servers. Many goroutines may use it at once.
type Client struct {
	cfg     Config
	http    http.Client
	log     *slog.Logger
	pool    *pool
	rate    *rate.Limiter
	calls   *semaphore.Weighted
	large   *semaphore.Weighted // one response over largeAnswer is read at a time
	metrics *metrics

	unknowns *unknowns.Book
}

// largeAnswer is how much of a response each call reads at once. Only one call at a time may read
// more: otherwise sixteen calls could hold sixteen times MaxBodyBytes, and twice that while their
// buffers grow.
const largeAnswer = 16 << 20

// NewClient checks the endpoints and registers metrics; it does no I/O.
func NewClient(cfg Config, deps Deps) (*Client, error) {
	cfg = cfg.withDefaults()
	p, err := newPool(cfg.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("new solana client: %w", err)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("new solana client: %w", err)
	}
	c := &Client{cfg: cfg, log: deps.Logger, pool: p, rate: pause.Evenly(cfg.RequestsPerSecond), calls: semaphore.NewWeighted(int64(cfg.maxConcurrent)),
		large: semaphore.NewWeighted(1), metrics: m, unknowns: deps.Unknowns}
	if deps.HTTPClient != nil {
		c.http = *deps.HTTPClient
	} else if base, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := base.Clone()
		// The default of two would close connections that the next call needs.
		transport.MaxIdleConnsPerHost = cfg.maxConcurrent
		c.http.Transport = transport
	}
	// A redirect would send a request, whose URL may have a key, to any server that the response
	// names.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params,omitempty"`
}

func encode(method string, params []any) ([]byte, error) {
	body, err := json.Marshal(request{Version: "2.0", ID: 1, Method: method, Params: params})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	return body, nil
}

// Call performs method and decodes its result into result, a pointer. A *json.RawMessage gets it
// undecoded; nil drops it. Errors are *RPCError, *HTTPError, a connection's error, ErrMalformed or
// the context's; see Retryable and SkippedSlot.
func (c *Client) Call(ctx context.Context, method string, params []any, result any) error {
	body, err := encode(method, params)
	if err != nil {
		return err
	}
	if err := c.calls.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.calls.Release(1)
	raw, err := c.retry(ctx, method, body)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	switch out := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*out = raw
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("%s: %w: decode result: %w", method, ErrMalformed, err)
	}
	return nil
}

// retry attempts a request until it succeeds, fails with an error that is not retryable, or the
// limits of Config are reached. Before it pauses, it tries each endpoint once if another one may do
// better.
func (c *Client) retry(ctx context.Context, method string, body []byte) (json.RawMessage, error) {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = c.cfg.firstPause, 5*time.Second
	tried := map[*endpoint]bool{}
	var last error
	tries := func() (json.RawMessage, error) {
		for {
			if err := pause.Await(ctx, c.rate); err != nil {
				return nil, backoff.Permanent(err)
			}
			e := c.pool.pick(time.Now(), tried)
			raw, err := c.once(ctx, e, method, body)
			if err == nil {
				return raw, nil
			}
			tried[e], last = true, err
			fresh := len(tried) < len(c.pool.endpoints)
			switch {
			case ctx.Err() != nil:
				return nil, backoff.Permanent(ctx.Err())
			case fresh && (Retryable(err) || elsewhere(err)):
				continue // another endpoint may answer at once
			case !Retryable(err):
				return nil, backoff.Permanent(err)
			}
			clear(tried)
			if wait := retryAfter(err); wait > 0 {
				return nil, &backoff.RetryAfterError{Duration: min(wait, maxRest)}
			}
			return nil, err
		}
	}
	raw, err := backoff.Retry(ctx, tries, backoff.WithBackOff(delays), backoff.WithMaxTries(uint(c.cfg.MaxAttempts)),
		backoff.WithMaxElapsedTime(c.cfg.MaxElapsed))
	switch {
	case err == nil:
		return raw, nil
	case ctx.Err() != nil || last == nil:
		return nil, context.Cause(ctx)
	}
	return nil, last
}

// once makes one attempt at one endpoint.
func (c *Client) once(ctx context.Context, e *endpoint, method string, body []byte) (raw json.RawMessage, err error) {
	err = c.attempt(ctx, e, method, func() (int, error) {
		within, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
		err := c.post(within, e, body, func(resp *http.Response) (err error) {
			raw, err = c.result(within, e, resp)
			return err
		})
		return len(raw), err
	})
	return raw, err
}

// attempt runs one attempt at one endpoint, which returns how many bytes it read. It traces and
// counts it, and records whether the endpoint is well.
func (c *Client) attempt(ctx context.Context, e *endpoint, method string, run func() (size int, err error)) error {
	began := time.Now()
	_, span := tracing.Client(ctx, method)
	size, err := run()
	span.String("outcome", outcome(err))
	span.EndWith(err)
	c.metrics.observe(method, outcome(err), time.Since(began), size)
	var rpc *RPCError
	if errors.As(err, &rpc) && !DocumentedCode(rpc.Code) {
		c.unknowns.Note(unknowns.RPCErrorCode, strconv.Itoa(rpc.Code), unknowns.Sighting{Source: "rpc_client", Place: method, Sample: []byte(rpc.Message)})
	}
	if ctx.Err() == nil {
		trouble := err != nil && endpointTrouble(err)
		c.pool.report(e, time.Now(), trouble, retryAfter(err))
		if trouble {
			c.log.Debug("rpc attempt failed", "endpoint", e.redacted, "method", method, "err", err)
		}
	}
	return err
}

type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// post sends one request and passes the response to read.
func (c *Client) post(ctx context.Context, e *endpoint, body []byte, read func(resp *http.Response) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("build request for %s: %w", e.redacted, scrub(err))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return &transportError{fmt.Errorf("%s: %w", e.redacted, scrub(err))}
	}
	defer func() { _ = resp.Body.Close() }()
	return read(resp)
}

// result reads a whole response and returns its result. A JSON-RPC error counts before the HTTP
// status, except that status 429 is always an *HTTPError.
func (c *Client) result(ctx context.Context, e *endpoint, resp *http.Response) (json.RawMessage, error) {
	data, err := c.readAll(ctx, resp)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.redacted, err)
	}
	var ans answer
	parsed := json.Unmarshal(data, &ans)
	switch {
	case parsed == nil && ans.Error != nil && resp.StatusCode != http.StatusTooManyRequests:
		return nil, &RPCError{Code: ans.Error.Code, Message: clip(ans.Error.Message, 300)}
	case resp.StatusCode != http.StatusOK:
		return nil, &HTTPError{Status: resp.StatusCode, RetryAfter: parseRetryAfter(resp.Header.Get("Retry-After"))}
	case parsed != nil:
		return nil, fmt.Errorf("%w from %s: %w", ErrMalformed, e.redacted, parsed)
	case ans.Result == nil:
		return nil, fmt.Errorf("%w from %s: neither result nor error", ErrMalformed, e.redacted)
	}
	return ans.Result, nil
}

// readAll reads the body, which may have MaxBodyBytes at most.
func (c *Client) readAll(ctx context.Context, resp *http.Response) ([]byte, error) {
	limit := c.cfg.MaxBodyBytes
	first := min(limit+1, largeAnswer)
	buf := bytes.NewBuffer(make([]byte, 0, max(512, min(resp.ContentLength, first)+512)))
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, first))
	if err == nil && n == largeAnswer {
		if err := c.large.Acquire(ctx, 1); err != nil {
			return nil, &transportError{fmt.Errorf("%w: %w", errTurn, err)}
		}
		defer c.large.Release(1)
		var more int64
		more, err = buf.ReadFrom(io.LimitReader(resp.Body, limit+1-n))
		n += more
	}
	switch {
	case err != nil:
		return nil, &transportError{fmt.Errorf("read answer: %w", scrub(err))}
	case n > limit:
		return nil, fmt.Errorf("%w: answer over %d bytes", ErrMalformed, limit)
	}
	return buf.Bytes(), nil
}

// scrub removes the URL, which may contain a key, from an error of net/http.
func scrub(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// maxRetryAfter bounds the seconds of a Retry-After, so that a Duration cannot overflow. The pauses
// themselves are bounded by maxRest.
const maxRetryAfter = 3600

func parseRetryAfter(v string) time.Duration {
	if seconds, err := strconv.Atoi(v); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, maxRetryAfter)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
