package jsonrpc

import (
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

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/tracing"
)

// peekBytes is how much of an answer is read before the decision to pass it on. Errors are far smaller, so each is seen in time.
const peekBytes = 64 << 10

// answer is what an upstream said: head is its beginning, rest what follows (nil when head is all).
type answer struct {
	head   []byte
	rest   io.ReadCloser
	cancel context.CancelFunc
}

func (a *answer) close() {
	if a.rest != nil {
		_ = a.rest.Close()
	}
	a.cancel()
}

// upstreamError says why an upstream gave no answer. Its text holds no URL.
type upstreamError struct {
	outcome string // metric label
	err     error
}

func (e *upstreamError) Error() string { return e.err.Error() }
func (e *upstreamError) Unwrap() error { return e.err }

// errUnhealthy is a node that says so of itself.
var errUnhealthy = errors.New("the node says that it is unhealthy")

// forward tries the upstreams in their order until one answers. When all of them are unhealthy the last one's own words are returned, since
// they say more than ours.
func (g *Gateway) forward(ctx context.Context, body []byte, repeatable bool) (*answer, error) {
	var last error
	var words *answer
	for _, u := range g.pool.order() {
		began := time.Now()
		got, err := g.attempt(ctx, u, body)
		if ctx.Err() != nil {
			if got != nil {
				got.close()
			}
			return nil, ctx.Err()
		}
		g.note(u, began, err)
		if err == nil {
			return got, nil
		}
		last = err
		if got != nil {
			words = got
		}
		if !repeatable {
			break
		}
	}
	if words != nil {
		return words, nil
	}
	return nil, last
}

// attempt asks one upstream. With errUnhealthy there is an answer too.
func (g *Gateway) attempt(ctx context.Context, u *upstream, body []byte) (*answer, error) {
	began := time.Now()
	asking, span := tracing.Client(ctx, "upstream")
	got, err := g.post(asking, u, body, span.Traceparent())
	outcome := "ok"
	var failed *upstreamError
	switch {
	case errors.As(err, &failed):
		outcome = failed.outcome
	case err != nil:
		outcome = "other"
	}
	if ctx.Err() != nil {
		outcome = "canceled"
	}
	span.String("upstream", u.name)
	span.String("outcome", outcome)
	if outcome != "ok" {
		span.Fail(outcome)
	}
	span.End()
	g.metrics.attempts.WithLabelValues(u.name, outcome).Inc()
	g.metrics.attemptSeconds.WithLabelValues(u.name).Observe(time.Since(began).Seconds())
	return got, err
}

func (g *Gateway) post(parent context.Context, u *upstream, body []byte, traceparent string) (*answer, error) {
	ctx, cancel := context.WithCancel(parent)
	// The limit is for the beginning of the answer: a long one that flows is fine until the request's own time is up.
	late := time.AfterFunc(g.cfg.attemptTimeout, cancel)
	defer late.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, &upstreamError{"request", errors.New("build request")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mintlake")
	if traceparent != "" {
		req.Header.Set(tracing.Header, traceparent)
	}
	resp, err := g.client.Do(req) //nolint:bodyclose,gosec // answer.close closes it; the URL is the operator's
	if err != nil {
		cancel()
		return nil, connectionError(err)
	}
	got := &answer{rest: resp.Body, cancel: cancel}
	if err := got.peek(resp.StatusCode); err != nil {
		if !errors.Is(err, errUnhealthy) {
			got.close()
			return nil, err
		}
		return got, err
	}
	return got, nil
}

// peek reads the beginning and decides whether this is an answer to pass on.
func (a *answer) peek(status int) error {
	// 400 and 413 with JSON in it are opinions about the call, not trouble of the server.
	if status != http.StatusOK && status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != http.StatusNoContent {
		return &upstreamError{"status", fmt.Errorf("http status %d", status)}
	}
	head, err := io.ReadAll(io.LimitReader(a.rest, peekBytes))
	a.head = head
	switch {
	case err != nil:
		return connectionError(err)
	case len(head) == 0:
		return nil // what a notification gets
	case len(head) < peekBytes:
		_ = a.rest.Close()
		a.rest = nil
		if !json.Valid(head) {
			return &upstreamError{"malformed", errors.New("the answer is no JSON")}
		}
		if saysUnhealthy(head) {
			return &upstreamError{"unhealthy", errUnhealthy}
		}
		return nil
	}
	if trimmed := bytes.TrimLeft(a.head, " \t\r\n"); len(trimmed) == 0 || (trimmed[0] != '{' && trimmed[0] != '[') {
		return &upstreamError{"malformed", errors.New("the answer is no JSON")}
	}
	return nil
}

// saysUnhealthy looks for the error code of a node that is behind or overloaded, in a single answer.
func saysUnhealthy(body []byte) bool {
	var single struct {
		Error *rpcError `json:"error"`
	}
	if json.Unmarshal(body, &single) != nil || single.Error == nil {
		return false
	}
	return single.Error.Code == solana.CodeNodeUnhealthy
}

// connectionError takes the URL, which may hold a key, out of an error of net/http.
func connectionError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	outcome := "connection"
	var timeout net.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout()) {
		return &upstreamError{"timeout", errors.New("no answer in time")}
	}
	return &upstreamError{outcome, err}
}
