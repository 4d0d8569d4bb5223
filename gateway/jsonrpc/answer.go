package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mintlake/mintlake/solana"
)

// peekBytes is how much of an answer is read before the decision to pass it on. Errors are far
// smaller, so each one is read whole.
const peekBytes = 64 << 10

// answer is the answer to a call, from an upstream, from a Local or from the cache. head is its
// beginning. rest is what follows, nil if head is all. cancel frees what the answer holds, such as
// its request at the upstream; nil if it holds nothing.
type answer struct {
	head   []byte
	rest   io.ReadCloser
	cancel context.CancelFunc
	// result and failure are the members result and error of a whole answer; at most one is set.
	// Both are nil while there is a rest, and in the answer to a poll, which is not parsed.
	result, failure json.RawMessage
	// id is the id that a whole answer names; nil if it names none. sent is the id of the call.
	id, sent json.RawMessage
	at       answerSlot
}

// answerSlot is the slot and the block height that an answer names.
type answerSlot struct {
	slot, height       uint64
	hasSlot, hasHeight bool
}

func (a *answer) close() {
	if a.rest != nil {
		_ = a.rest.Close()
	}
	if a.cancel != nil {
		a.cancel()
	}
}

// upstreamError says why an upstream's answer is not passed on. Its text holds no URL.
type upstreamError struct {
	outcome string // metric label
	err     error
	// refused says that the upstream cannot have executed the call.
	refused bool
}

func (e *upstreamError) Error() string { return e.err.Error() }
func (e *upstreamError) Unwrap() error { return e.err }

var (
	// errUnhealthy: the node's answer is that it is unhealthy.
	errUnhealthy = errors.New("the node says that it is unhealthy")
	// errLimited: the server's answer, in JSON, is that a limit is reached.
	errLimited = errors.New("the server says that its limit is reached")
	// errBehind: the upstream has not reached the wanted slot, or its answer is from before that
	// slot. This does not count as a failure of the upstream.
	errBehind = errors.New("the node has not reached the slot")
	// errOdd: the answer is an error with a code that nodes do not have, or that is an HTTP status.
	// It may be about the server or about the call, so it does not count as a failure of the
	// upstream.
	errOdd = errors.New("the server answers an error that nodes do not have")
	// errInternal: an attempt panicked. It is not known how far it came.
	errInternal = errors.New("internal error")
	// errAhead: the answer names a slot that no other upstream comes near.
	errAhead = errors.New("the answer's slot is far above those of all other upstreams")
)

// Codes of errors that are about the server and not about the call. codeLimited is the HTTP status
// as a code. codeTooMany is Mintlake's own: the gateway answers it too.
const (
	codeMinContextSlot = -32016
	codeLimited        = 429
	codeTooMany        = -32429
)

// expected is the kind of answer that an attempt wants.
type expected int

const (
	oneAnswer expected = iota
	// noAnswer is for notifications.
	noAnswer
	// poll is for the pool's own polls. peek does not check their answers: pollWith does.
	poll
)

// peek reads the first peekBytes of the answer, or all of a shorter one. It returns an error if the
// answer is not to be passed on. Of a longer answer it checks only that it begins like an object.
func (a *answer) peek(resp *http.Response, want expected, m *method) error {
	// 400 and 413 with a JSON body are about the call, not about the server. 204 answers a
	// notification.
	if status := resp.StatusCode; status != http.StatusOK && status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != http.StatusNoContent {
		return &upstreamError{"status", fmt.Errorf("http status %d", status), status < http.StatusInternalServerError}
	}
	var buf bytes.Buffer
	if n := resp.ContentLength; n >= 0 {
		buf.Grow(int(min(n, peekBytes)) + bytes.MinRead) // so that the buffer grows only once
	}
	_, err := buf.ReadFrom(io.LimitReader(a.rest, peekBytes))
	head := buf.Bytes()
	a.head = head
	if err != nil {
		return connectionError(err)
	}
	if len(head) < peekBytes {
		_ = a.rest.Close()
		a.rest = nil
		return a.readWhole(want, m)
	}
	if !beginsObject(head) {
		return malformed()
	}
	if id := gjson.GetBytes(head, "id"); foreignID(json.RawMessage(id.Raw), a.sent) {
		return foreign()
	}
	a.rest = &checkedRest{ReadCloser: a.rest, id: a.sent, tail: bytes.Clone(head[len(head)-1:])}
	// The head may end within the digits of the slot. Then they are not the whole number.
	a.at = slotOfContext(m, bytes.TrimRight(head, "0123456789"), "result.context.slot")
	return nil
}

func beginsObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

func malformed() error {
	return &upstreamError{outcome: "malformed", err: errors.New("the answer is no JSON-RPC answer")}
}

func foreign() error {
	return &upstreamError{outcome: "malformed", err: errors.New("the answer is another call's")}
}

// readWhole parses an answer of which head is all; it leaves the answer to a poll as it is. It
// returns an error if the answer is malformed, or if it is an error that is about the server and
// not about the call. In the second case failure is set, too.
func (a *answer) readWhole(want expected, m *method) error {
	switch {
	case want == poll:
		return nil
	case want == noAnswer && len(a.head) == 0:
		return nil
	}
	if !json.Valid(a.head) || !beginsObject(a.head) {
		return malformed()
	}
	var result, failure gjson.Result
	gjson.ParseBytes(a.head).ForEach(func(name, value gjson.Result) bool {
		switch name.String() {
		case "result":
			result = value
		case "error":
			failure = value
		case "id":
			a.id = json.RawMessage(value.Raw)
		}
		return true
	})
	switch {
	case !result.Exists() && !failure.Exists():
		return malformed()
	case foreignID(a.id, a.sent):
		return foreign()
	case failure.Type == gjson.Null: // or absent
		if result.Exists() {
			a.result = json.RawMessage(result.Raw)
			a.at = slotOfResult(m, a.result)
		}
		return nil
	}
	a.failure = json.RawMessage(failure.Raw)
	return a.judgeFailure(m != nil && m.effect == read)
}

// judgeFailure returns an error if the answer's error is about the server and not about the call. A
// read is repeatable: it can be asked again at another upstream. For such a call judgeFailure also
// returns an error if the answer's error has another shape, or a code that nodes do not have.
func (a *answer) judgeFailure(repeatable bool) error {
	code, err := strconv.Atoi(gjson.GetBytes(a.failure, "code").Raw)
	if err != nil || !beginsObject(a.failure) {
		if repeatable {
			a.failure = nil
			return malformed()
		}
		return nil
	}
	switch code {
	case solana.CodeNodeUnhealthy:
		return &upstreamError{"unhealthy", errUnhealthy, true}
	case codeLimited, codeTooMany:
		return &upstreamError{"limited", errLimited, true}
	case codeMinContextSlot:
		// hasSlot stays false: this is the slot of the node, not of an answer.
		a.at = answerSlot{slot: gjson.GetBytes(a.failure, "data.contextSlot").Uint()}
		return &upstreamError{"behind", errBehind, true}
	default:
		if ofHTTP := code >= 400 && code < 600; repeatable && (ofHTTP || !solana.DocumentedCode(code)) {
			return &upstreamError{"odd", errOdd, true}
		}
	}
	return nil
}

// slotOfResult reads the slot and the block height from a whole result.
func slotOfResult(m *method, result json.RawMessage) answerSlot {
	if m == nil {
		return answerSlot{}
	}
	switch m.name {
	case "getSlot":
		var slot uint64
		err := json.Unmarshal(result, &slot)
		return answerSlot{slot: slot, hasSlot: err == nil}
	case "getBlockHeight":
		var height uint64
		err := json.Unmarshal(result, &height)
		return answerSlot{height: height, hasHeight: err == nil}
	case "getEpochInfo":
		var info struct {
			Slot   *uint64 `json:"absoluteSlot"`
			Height *uint64 `json:"blockHeight"`
		}
		var t answerSlot
		if json.Unmarshal(result, &info) == nil {
			if t.hasSlot = info.Slot != nil; t.hasSlot {
				t.slot = *info.Slot
			}
			if t.hasHeight = info.Height != nil; t.hasHeight {
				t.height = *info.Height
			}
		}
		return t
	}
	return slotOfContext(m, result, "context.slot")
}

// slotOfContext reads the slot of a result's context, if the method's results have one. path leads
// to the slot. The text may be cut off anywhere after the slot.
func slotOfContext(m *method, text []byte, path string) answerSlot {
	if m == nil || !m.namesSlot || !beginsObject(text) {
		return answerSlot{}
	}
	slot, err := strconv.ParseUint(gjson.GetBytes(text, path).Raw, 10, 64)
	return answerSlot{slot: slot, hasSlot: err == nil}
}

// resultAnswer and failureAnswer make the answer to a call with the given id. A result over
// peekBytes is not copied: it becomes the rest.
func resultAnswer(id, result json.RawMessage) *answer {
	if len(result) > peekBytes {
		return &answer{head: []byte(resultBegins), rest: io.NopCloser(io.MultiReader(bytes.NewReader(result), strings.NewReader(ending(id))))}
	}
	return &answer{head: slices.Concat([]byte(resultBegins), result, []byte(ending(id))), result: result, id: id}
}

func failureAnswer(id, failure json.RawMessage) *answer {
	return &answer{head: slices.Concat([]byte(failureBegins), failure, []byte(ending(id))), failure: failure, id: id}
}

// withID returns the answer with the id of the call that it answers. An answer with a rest is
// returned unchanged. A client tells the answers of a batch apart by their ids, which some servers
// forget in errors.
func (a *answer) withID(id json.RawMessage) *answer {
	switch {
	case a.rest != nil || bytes.Equal(a.id, id):
		return a
	case a.failure != nil:
		return failureAnswer(id, a.failure)
	case a.result != nil:
		return resultAnswer(id, a.result)
	}
	return a
}

// How answers begin; see ending for how they end.
const (
	resultBegins  = `{"jsonrpc":"2.0","result":`
	failureBegins = `{"jsonrpc":"2.0","error":`
)

func ending(id json.RawMessage) string {
	if id == nil {
		return `,"id":null}`
	}
	return `,"id":` + string(id) + `}`
}
