package solana

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// JSON-RPC error codes of a Solana node, from agave's rpc-client-types/src/custom_error.rs.
const (
	CodeBlockCleanedUp             = -32001
	CodeBlockNotAvailable          = -32004
	CodeNodeUnhealthy              = -32005
	CodeSlotSkipped                = -32007
	CodeLongTermStorageSlotSkipped = -32009
	CodeHistoryNotAvailable        = -32011
	CodeBlockStatusNotAvailableYet = -32014
	CodeMinContextSlotNotReached   = -32016
	CodeLongTermStorageUnreachable = -32019
	CodeInternal                   = -32603
	// several providers put the HTTP status into the JSON-RPC code
	codeTooManyRequests             = 429
	codeTooManyRequestsConventional = -32429 // and others its JSON-RPC-shaped cousin
)

// RPCError is an error that the node answered with. Message is the node's text: shown, never
// matched on.
type RPCError struct {
	Code    int
	Message string
}

func (e *RPCError) Error() string { return fmt.Sprintf("rpc error %d: %s", e.Code, e.Message) }

// HTTPError is an answer that was no JSON-RPC answer. RetryAfter is 0 when the server named none.
type HTTPError struct {
	Status     int
	RetryAfter time.Duration
}

func (e *HTTPError) Error() string {
	return fmt.Sprintf("http status %d %s", e.Status, http.StatusText(e.Status))
}

// ErrMalformed says that the answer was too large or no JSON-RPC; another endpoint, or the same one
// later, may do better.
var ErrMalformed = errors.New("malformed rpc answer")

// transportError is a connection that failed before an answer came. Always worth another try.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// Retryable says whether the same call may succeed later: by JSON-RPC code, HTTP status or because
// the connection failed, never by message text. A context that ended is not retryable.
func Retryable(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		switch rpc.Code {
		case CodeBlockNotAvailable, CodeNodeUnhealthy, CodeBlockStatusNotAvailableYet, CodeMinContextSlotNotReached,
			CodeLongTermStorageUnreachable, CodeInternal, codeTooManyRequests, codeTooManyRequestsConventional:
			return true
		}
		return false
	}
	var status *HTTPError
	if errors.As(err, &status) {
		return status.Status == http.StatusTooManyRequests || status.Status == http.StatusRequestTimeout || status.Status >= 500
	}
	var transport *transportError
	if errors.As(err, &transport) {
		return !errors.Is(err, context.Canceled)
	}
	return errors.Is(err, ErrMalformed)
}

// SkippedSlot says that the node has no block for a slot because nobody produced one. The node
// answers the same when its ledger has a hole (a jump to a snapshot), so a caller who needs to be
// sure compares with the next block's parent.
func SkippedSlot(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && (rpc.Code == CodeSlotSkipped || rpc.Code == CodeLongTermStorageSlotSkipped)
}

// elsewhere says that another endpoint may know better although this one never will: history was
// cut, or the key is refused.
func elsewhere(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return rpc.Code == CodeBlockCleanedUp || rpc.Code == CodeHistoryNotAvailable
	}
	var status *HTTPError
	return errors.As(err, &status)
}

// endpointTrouble says that the endpoint itself is the trouble, so others should be asked first for
// a while.
func endpointTrouble(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return rpc.Code == CodeNodeUnhealthy || rpc.Code == codeTooManyRequests || rpc.Code == codeTooManyRequestsConventional
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, errTurn)
}

// errTurn is the error of a large answer that waited too long for the client's other large answers.
// It says nothing about the endpoint.
var errTurn = errors.New("waited too long for the turn to read a large answer")

func retryAfter(err error) time.Duration {
	var status *HTTPError
	if errors.As(err, &status) {
		return status.RetryAfter
	}
	return 0
}
