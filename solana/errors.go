package solana

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
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
	CodeUnsupportedVersion         = -32015
	CodeMinContextSlotNotReached   = -32016
	CodeLongTermStorageUnreachable = -32019
	CodeInternal                   = -32603
	codePreflightFailed            = -32002
	codeSignatureRefused           = -32003
	codeExcludedFromIndex          = -32010
	codeInvalidRequest             = -32600
	codeMethodNotFound             = -32601
	codeInvalidParams              = -32602
	// Several providers send the HTTP status 429 as the code, others -32000 minus that status.
	codeTooManyRequests             = 429
	codeTooManyRequestsConventional = -32429
)

// DocumentedCode reports whether an error code is one of JSON-RPC 2.0, one of a node, or an HTTP
// status. The codes of a node run without gaps from -32001, by agave's
// rpc-client-types/src/custom_error.rs, to -32022, with which agave 4.4 answers for an unknown
// identity.
func DocumentedCode(code int) bool {
	switch {
	case code <= CodeBlockCleanedUp && code >= -32022, code >= 400 && code < 600, code == codeTooManyRequestsConventional:
		return true
	case code <= -32600 && code >= CodeInternal, code == -32700:
		return true
	}
	return false
}

// RPCError is an error in a node's response. Message is the node's text. Only UnsupportedVersion,
// TransactionRefused and BlockhashOver read something from it; otherwise it is only shown.
type RPCError struct {
	Code    int
	Message string
}

func (e *RPCError) Error() string { return fmt.Sprintf("rpc error %d: %s", e.Code, e.Message) }

// HTTPError is a response with an HTTP status other than 200. RetryAfter is 0 if the server named
// none. Told is the JSON-RPC error in the body, which is only shown; nil if there is none.
type HTTPError struct {
	Status     int
	RetryAfter time.Duration
	Told       *RPCError
}

func (e *HTTPError) Error() string {
	text := fmt.Sprintf("http status %d %s", e.Status, http.StatusText(e.Status))
	if e.Told != nil {
		text += ": " + e.Told.Error()
	}
	return text
}

// ErrMalformed is a response that was too large or not JSON-RPC. Another endpoint, or the same one
// later, may answer correctly.
var ErrMalformed = errors.New("malformed rpc answer")

// transportError is a connection that failed before the whole response came. It is retryable.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// Retryable reports whether the same read may succeed later. It decides by JSON-RPC code, by HTTP
// status, or because the connection failed, never by message text. All codes and statuses are
// retryable but those of final and finalStatus. The end of a context is not retryable.
func Retryable(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return !final(rpc.Code)
	}
	var status *HTTPError
	if errors.As(err, &status) {
		return !finalStatus(status.Status)
	}
	var transport *transportError
	if errors.As(err, &transport) {
		return !errors.Is(err, context.Canceled)
	}
	return errors.Is(err, ErrMalformed)
}

// final reports whether a node that answers with this JSON-RPC code will give the same answer
// again: the code says what the chain has there, or that the node does not serve such a call. Some
// providers send an HTTP status as the code, either as it is or as -32000 minus the status.
func final(code int) bool {
	switch code {
	case CodeBlockCleanedUp, CodeSlotSkipped, CodeLongTermStorageSlotSkipped, codeExcludedFromIndex, CodeHistoryNotAvailable,
		CodeUnsupportedVersion, codeInvalidRequest, codeMethodNotFound, codeInvalidParams:
		return true
	}
	return finalStatus(code) || code <= -32400 && code > -32600 && finalStatus(-32000-code)
}

// finalStatus reports whether an HTTP status refuses the call for good, because its form, its
// address or its key is wrong.
func finalStatus(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusPermanentRedirect, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

// What agave says when the chain already has a transaction, and when it does not know the
// transaction's blockhash (the texts of TransactionError). The code is that of any preflight that
// failed.
const (
	alreadyProcessed  = "already been processed"
	blockhashNotFound = "Blockhash not found"
)

// BlockhashOver reports whether an error of sendTransaction says that the node does not know the
// transaction's blockhash: it is over, or the node is behind.
func BlockhashOver(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && strings.Contains(rpc.Message, blockhashNotFound)
}

// TransactionRefused reports whether an error of sendTransaction says that the node refuses the
// transaction, or such calls, and has not sent it. It is no refusal if the chain already has it.
func TransactionRefused(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && !strings.Contains(rpc.Message, alreadyProcessed) &&
		(rpc.Code == codePreflightFailed || rpc.Code == codeSignatureRefused || final(rpc.Code))
}

// neverSent reports whether the endpoint that answered sendTransaction with this error has
// certainly not sent the transaction.
func neverSent(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return TransactionRefused(err) || endpointTrouble(err)
	}
	var status *HTTPError
	if errors.As(err, &status) {
		return finalStatus(status.Status) || status.Status == http.StatusTooManyRequests
	}
	var connection *net.OpError
	return errors.As(err, &connection) && connection.Op == "dial"
}

// SkippedSlot reports whether the node has no block for a slot because nobody produced one. A node
// that jumped to a snapshot lacks the blocks in between, and answers the same for them. So a caller
// who needs to be sure compares with the parent of the next block.
func SkippedSlot(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && (rpc.Code == CodeSlotSkipped || rpc.Code == CodeLongTermStorageSlotSkipped)
}

// BlockNotAvailable reports whether the node does not have the block of a slot and cannot say why:
// the block may still come, or the slot was skipped.
func BlockNotAvailable(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && (rpc.Code == CodeBlockNotAvailable || rpc.Code == CodeBlockStatusNotAvailableYet)
}

// versionInMessage finds the version in agave's text of CodeUnsupportedVersion (rpc-client-api,
// custom_error.rs).
var versionInMessage = regexp.MustCompile(`^Transaction version \(([0-9]{1,3})\)`)

// UnsupportedVersion reports whether the node withholds a block or a transaction because its
// version is higher than the one that was asked for. version is the version that the node names; 0
// if it names none.
func UnsupportedVersion(err error) (version uint8, ok bool) {
	var rpc *RPCError
	if !errors.As(err, &rpc) || rpc.Code != CodeUnsupportedVersion {
		return 0, false
	}
	if found := versionInMessage.FindStringSubmatch(rpc.Message); found != nil {
		n, err := strconv.ParseUint(found[1], 10, 8)
		if err == nil {
			version = uint8(n)
		}
	}
	return version, true
}

// anotherMayAnswer reports whether another endpoint may answer, although this one never will: for
// example, this one has deleted old history, does not offer the method, or refuses the key. A
// skipped slot and a version above the requested one are facts of the chain: every endpoint would
// answer the same.
func anotherMayAnswer(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return !SkippedSlot(err) && rpc.Code != CodeUnsupportedVersion
	}
	var status *HTTPError
	return errors.As(err, &status)
}

// endpointTrouble reports whether the endpoint itself has a problem, so that it should rest for a
// while.
func endpointTrouble(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return rpc.Code == CodeNodeUnhealthy || rpc.Code == codeTooManyRequests || rpc.Code == codeTooManyRequestsConventional
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, errTurn)
}

// errTurn is the error of a call that waited too long to read its large response, because others
// were reading theirs. It says nothing about the endpoint.
var errTurn = errors.New("waited too long for the turn to read a large answer")

func retryAfter(err error) time.Duration {
	var status *HTTPError
	if errors.As(err, &status) {
		return status.RetryAfter
	}
	return 0
}
