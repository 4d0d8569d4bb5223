package accounts

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/solana"
)

// Codes of a node's refusals that concern getProgramAccounts (agave's
// rpc-client-types/src/custom_error.rs, JSON-RPC 2.0).
const (
	// codeScanError says that the request would scan more accounts than the node allows.
	codeScanError = -32012
	// codeInvalidRequest is the answer of providers to a request that costs too much.
	codeInvalidRequest = -32600
)

// writeError is an error of Kafka, not of the server. The producer has retried already.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// tooLarge reports whether the server refuses an answer of this size, or seems unable to send it.
func tooLarge(err error) bool {
	var rpc *solana.RPCError
	if errors.As(err, &rpc) {
		return rpc.Code == codeScanError || rpc.Code == codeInvalidRequest
	}
	var status *solana.HTTPError
	if errors.As(err, &status) {
		return status.Status == http.StatusRequestEntityTooLarge || status.Status == http.StatusGatewayTimeout
	}
	var cutOff *cutOffError
	return errors.As(err, &cutOff) || timedOut(err)
}

// largeAttempts is how often an answer that seems too large is tried: each try may cost the server
// minutes.
const largeAttempts = 3

// hopeless reports whether it is of no use to make the same request again at the same server.
func hopeless(err error) bool {
	var write *writeError
	if errors.As(err, &write) || errors.Is(err, errNoContext) || errors.Is(err, context.Canceled) {
		return true
	}
	var rpc *solana.RPCError
	if errors.As(err, &rpc) {
		return !solana.Retryable(err)
	}
	var status *solana.HTTPError
	if errors.As(err, &status) {
		return !solana.Retryable(err)
	}
	return false // the connection failed, or the answer was cut off
}

// persist makes a request until it succeeds: see repeat.
func (r *Reader) persist(ctx context.Context, req *request, turn int) (step progress, err error) {
	err = r.repeat(ctx, req, turn, func(turn int) error {
		step, err = r.fetch(ctx, req, turn)
		return err
	})
	return step, err
}

// repeater repeats requests that fail.
type repeater struct {
	cfg     Config
	logger  *slog.Logger
	retries atomic.Int64
}

// repeat calls fetch until it succeeds, each time at the next endpoint. It gives up after
// Config.attempts failures, after largeAttempts of an answer that seems too large, or when an error
// is hopeless at every endpoint. Answers with 429 do not count: the server works, and says when to
// ask again.
func (r *repeater) repeat(ctx context.Context, req *request, turn int, fetch func(turn int) error) error {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = r.cfg.firstPause, 30*time.Second
	hopelessInRow, large := 0, 0
	for failures := 0; ; {
		err := fetch(turn)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		turn++
		if hopeless(err) {
			hopelessInRow++
		} else {
			hopelessInRow = 0
		}
		wait, throttled := throttle(err)
		if !throttled {
			failures++
		}
		var write *writeError
		if tooLarge(err) && !req.paged {
			large++
		}
		if errors.As(err, &write) || hopelessInRow >= len(r.cfg.Endpoints) || failures >= r.cfg.attempts || large >= largeAttempts {
			return err
		}
		r.retries.Add(1)
		r.logger.Debug("request failed, will be made again", "kind", req.kind.name, "err", err)
		if err := pause.For(ctx, max(wait, delays.NextBackOff())); err != nil {
			return err
		}
	}
}

// maxThrottle is the longest pause that a server may ask for.
const maxThrottle = 2 * time.Minute

// throttle returns the pause that a server asks for by 429.
func throttle(err error) (wait time.Duration, throttled bool) {
	var status *solana.HTTPError
	if errors.As(err, &status) && status.Status == http.StatusTooManyRequests {
		return min(status.RetryAfter, maxThrottle), true
	}
	return 0, false
}
