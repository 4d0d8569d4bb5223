package accounts

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/solana"
)

// Codes of a node's refusals that concern getProgramAccounts (agave's
// rpc-client-types/src/custom_error.rs, JSON-RPC 2.0).
const (
	// codeScanError is a scan over more than the node's limit.
	codeScanError = -32012
	// codeInvalidRequest is what providers answer to a request that would weigh too much.
	codeInvalidRequest = -32600
)

// writeError is an error of Kafka: the server has nothing to do with it. The producer has retried
// what can be.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// tooLarge says that the server refuses, or cannot manage, an answer of this size.
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

// largeAttempts bounds the tries of an answer that seems too large for the server: each may cost it
// minutes.
const largeAttempts = 3

// hopeless says that the same request will never be answered, by any server of this kind.
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
	return false // the connection, or an answer cut off
}

// persist fetches until it succeeds, each time from the next endpoint. It gives up after the
// configured attempts, or as soon as an error is hopeless at every endpoint. A server that sends
// 429 is waited for longer: it is well, and says when.
func (r *Reader) persist(ctx context.Context, req *request, turn int) (progress, error) {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = r.cfg.FirstPause, 30*time.Second
	hopelessInRow, large := 0, 0
	for failures := 0; ; {
		step, err := r.fetch(ctx, req, turn)
		if err == nil {
			return step, nil
		}
		if ctx.Err() != nil {
			return progress{}, ctx.Err()
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
		if errors.As(err, &write) || hopelessInRow >= len(r.cfg.Endpoints) || failures >= r.cfg.Attempts || large >= largeAttempts {
			return progress{}, err
		}
		r.retries.Add(1)
		r.deps.Logger.Debug("request failed, will be made again", "kind", req.kind.name, "err", err)
		if err := pause.For(ctx, max(wait, delays.NextBackOff())); err != nil {
			return progress{}, err
		}
	}
}

// throttle is the pause that the server asks for, at most 2 min.
func throttle(err error) (wait time.Duration, throttled bool) {
	var status *solana.HTTPError
	if errors.As(err, &status) && status.Status == http.StatusTooManyRequests {
		return min(status.RetryAfter, 2*time.Minute), true
	}
	return 0, false
}
