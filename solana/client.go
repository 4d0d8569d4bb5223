// Package solana is a JSON-RPC client for Solana nodes.
//
// In: calls. Out: results, raw or typed. Guarantees: calls go round-robin over the healthy
// endpoints. They are retried with back-off if, and only if, Retryable says so. They never exceed
// the configured rate and concurrency. A response is bounded by what was asked for, and all
// responses of a process together by a Budget. No URL with its key ever reaches a log line or an
// error text.
package solana

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/solana/unknowns"
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
	// MaxAttempts bounds the rounds of one call. In a round the call tries each endpoint at most
	// once. Default 8.
	MaxAttempts int
	// MaxElapsed is the time after which a call begins no further round. Default 2 min.
	MaxElapsed time.Duration
	// firstPause is the pause before the second round; it doubles, with jitter, up to 5 s. Default
	// 200 ms.
	firstPause time.Duration
	// MaxBodyBytes bounds one response after decompression, beside the bound of its method. Default
	// 128 MiB, as for a block of a Geyser stream. ProgramAccounts, which keeps nothing of a
	// response, is not bounded by it.
	MaxBodyBytes int64
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(max(c.Timeout, 0), 30*time.Second)
	c.listingWait = cmp.Or(max(c.listingWait, 0), 5*time.Minute)
	c.MaxElapsed = cmp.Or(max(c.MaxElapsed, 0), 2*time.Minute)
	c.firstPause = cmp.Or(max(c.firstPause, 0), 200*time.Millisecond)
	c.maxConcurrent = cmp.Or(max(c.maxConcurrent, 0), 16)
	c.MaxAttempts = cmp.Or(max(c.MaxAttempts, 0), 8)
	c.MaxBodyBytes = cmp.Or(max(c.MaxBodyBytes, 0), 128<<20)
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
	// Exclusions are endpoints that are not asked; nil for none.
	Exclusions *Exclusions
	// Budget bounds the responses of all clients that share it; nil gives the client its own
	// budget.
	Budget *Budget
}

// Client calls Solana JSON-RPC servers. Many goroutines may use it at once.
type Client struct {
	cfg     Config
	http    http.Client
	log     *slog.Logger
	pool    *pool
	rate    *rate.Limiter
	calls   *semaphore.Weighted
	budget  *Budget
	metrics *metrics

	unknowns *unknowns.Book
}

// NewClient checks the endpoints and registers metrics; it does no I/O.
func NewClient(cfg Config, deps Deps) (*Client, error) {
	cfg = cfg.withDefaults()
	p, err := newPool(cfg.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("new solana client: %w", err)
	}
	p.excluded = deps.Exclusions
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("new solana client: %w", err)
	}
	c := &Client{cfg: cfg, log: deps.Logger, pool: p, rate: pause.Evenly(cfg.RequestsPerSecond), calls: semaphore.NewWeighted(int64(cfg.maxConcurrent)),
		budget: deps.Budget, metrics: m, unknowns: deps.Unknowns}
	if c.budget == nil {
		c.budget = NewBudget()
	}
	if deps.HTTPClient != nil {
		c.http = *deps.HTTPClient
	} else if base, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := base.Clone()
		// The default of two would close connections that the next call needs.
		transport.MaxIdleConnsPerHost = cfg.maxConcurrent
		transport.MaxResponseHeaderBytes = smallAnswer
		c.http.Transport = transport
	}
	// A redirect would send a request, whose URL may have a key, to any server that the response
	// names.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.log = cmp.Or(c.log, slog.New(slog.DiscardHandler))
	return c, nil
}

// request is one call, whichever endpoint it goes to.
type request struct {
	method string
	body   []byte
	// bound is the most that the response may have, in bytes.
	bound int64
	// use gets the text of the result, and may keep it. After use has returned, the text no longer
	// counts towards the Budget.
	use func(result []byte) error
	// retryIf is the parameter of callWithRetry.
	retryIf func(error) bool
}

type wireRequest struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params,omitempty"`
}

func encode(method string, params []any) ([]byte, error) {
	body, err := json.Marshal(wireRequest{Version: "2.0", ID: 1, Method: method, Params: params})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	return body, nil
}

// Call calls a method and decodes its result into result, a pointer. A *json.RawMessage gets the
// undecoded text; nil drops the result. If the result is null or does not decode, Call asks again,
// but a *json.RawMessage accepts any valid JSON, also null. Errors are *RPCError, *HTTPError, a
// connection's error, ErrMalformed or the context's; see Retryable and SkippedSlot. Of
// sendTransaction, the error is that of the attempt that may have sent the transaction, if one may
// have, whatever others answered after it.
func (c *Client) Call(ctx context.Context, method string, params []any, result any) error {
	return c.callWithRetry(ctx, retryRule(method), method, params, boundOf(method), func(text []byte) error { return decode(text, result) })
}

const sendTransaction = "sendTransaction"

// retryRule returns the function that says after which errors a method is called again. If a node
// refuses the transaction of sendTransaction, Call returns the refusal without a retry: the caller
// decides whether to send it again.
func retryRule(method string) func(error) bool {
	if method != sendTransaction {
		return Retryable
	}
	return func(err error) bool {
		var rpc *RPCError
		refused := errors.As(err, &rpc) && (rpc.Code == codePreflightFailed || rpc.Code == codeSignatureRefused)
		return Retryable(err) && !refused
	}
}

// call calls a method and passes the result to use. The response may have bound bytes at most. An
// error of use counts as an error of the endpoint: the method is called again if the error is
// Retryable.
func (c *Client) call(ctx context.Context, method string, params []any, bound int64, use func(result []byte) error) error {
	return c.callWithRetry(ctx, Retryable, method, params, bound, use)
}

// callWithRetry is like call. If all endpoints failed, and retryIf is true for the last error, it
// asks all of them again after a pause.
func (c *Client) callWithRetry(ctx context.Context, retryIf func(error) bool, method string, params []any, bound int64, use func(result []byte) error) error {
	body, err := encode(method, params)
	if err != nil {
		return err
	}
	if err := c.calls.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.calls.Release(1)
	if err := c.retry(ctx, request{method, body, min(bound, c.cfg.MaxBodyBytes), use, retryIf}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// decode decodes the text of a result into a pointer, as Call says. It decodes into a new value
// first, so a failed attempt leaves nothing in result.
func decode(text []byte, result any) error {
	switch out := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		if !json.Valid(text) {
			return fmt.Errorf("%w: the result is no JSON", ErrMalformed)
		}
		*out = text
		return nil
	}
	if string(text) == "null" {
		return fmt.Errorf("%w: the result is null", ErrMalformed)
	}
	fresh := reflect.New(reflect.TypeOf(result).Elem())
	if err := json.Unmarshal(text, fresh.Interface()); err != nil {
		return fmt.Errorf("%w: decode result: %w", ErrMalformed, err)
	}
	reflect.ValueOf(result).Elem().Set(fresh.Elem())
	return nil
}

// retry attempts a request until it succeeds, its error is final, or a limit of Config is reached.
// Before each pause it tries every endpoint once, as long as another endpoint may answer better
// than the last one.
func (c *Client) retry(ctx context.Context, r request) error {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = c.cfg.firstPause, 5*time.Second
	tried := map[*endpoint]bool{}
	var last error
	round := func() (struct{}, error) {
		for {
			if err := pause.Await(ctx, c.rate); err != nil {
				return struct{}{}, backoff.Permanent(err)
			}
			e, lastOne := c.pool.pick(time.Now(), tried)
			if e == nil {
				last = errExcluded
				return struct{}{}, last
			}
			err := c.once(ctx, e, r)
			if err == nil {
				return struct{}{}, nil
			}
			tried[e] = true
			if last == nil || r.method != sendTransaction || neverSent(last) {
				last = err
			}
			switch {
			case ctx.Err() != nil:
				return struct{}{}, backoff.Permanent(ctx.Err())
			case !lastOne && (Retryable(err) || anotherMayAnswer(err)):
				continue // ask the next endpoint without a pause
			case !r.retryIf(err):
				return struct{}{}, backoff.Permanent(err)
			}
			clear(tried) // the next round may ask every endpoint again
			if wait := retryAfter(err); wait > 0 {
				return struct{}{}, &backoff.RetryAfterError{Duration: min(wait, maxRest)}
			}
			return struct{}{}, err
		}
	}
	_, err := backoff.Retry(ctx, round, backoff.WithBackOff(delays), backoff.WithMaxTries(uint(c.cfg.MaxAttempts)),
		backoff.WithMaxElapsedTime(c.cfg.MaxElapsed))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || last == nil:
		return context.Cause(ctx)
	}
	return last
}

// once makes one attempt at one endpoint.
func (c *Client) once(ctx context.Context, e *endpoint, r request) error {
	return c.attempt(ctx, e, r.method, func() (size int, err error) {
		within, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
		err = c.post(within, e, r.body, func(resp *http.Response) (err error) {
			size, err = c.result(within, e, resp, r)
			return err
		})
		return size, err
	})
}

// attempt runs one attempt at one endpoint. run returns how many bytes it read. attempt traces and
// counts the attempt, and tells the pool whether the endpoint failed.
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
	// An attempt that the caller ended says nothing about the endpoint.
	if ctx.Err() == nil {
		trouble := err != nil && endpointTrouble(err)
		c.pool.report(e, time.Now(), trouble, retryAfter(err))
		if trouble {
			c.log.Debug("rpc attempt failed", "endpoint", e.redacted, "method", method, "err", err)
		}
	}
	return err
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
