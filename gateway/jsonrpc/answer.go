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
	"strings"

	"github.com/mintlake/mintlake/internal/solana"
)

// peekBytes is how much of an answer is read before the decision to pass it on. Errors are far
// smaller, so each one is read whole.
const peekBytes = 64 << 10

// answer is an upstream's answer: head is its beginning, rest is what follows, nil if head is all.
type answer struct {
	head   []byte
	rest   io.ReadCloser
	cancel context.CancelFunc
	// result and failure are the members of a whole answer; at most one is set. Both are nil while
	// there is a rest, and in the answer to a poll, which is not parsed.
	result, failure json.RawMessage
	// id is the id of a whole answer.
	id json.RawMessage
	at answerSlot
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
	// errAhead: the answer names a slot that no other upstream comes near.
	errAhead = errors.New("the answer's slot is far above those of all other upstreams")
)

// Codes of errors that are about the server and not about the call.
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
func (a *answer) peek(status int, want expected, m *method) error {
	// 400 and 413 with a JSON body are about the call, not about the server. 204 answers a
	// notification.
	if status != http.StatusOK && status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != http.StatusNoContent {
		return &upstreamError{"status", fmt.Errorf("http status %d", status), status < http.StatusInternalServerError}
	}
	head, err := io.ReadAll(io.LimitReader(a.rest, peekBytes))
	a.head = head
	if err != nil {
		return connectionError(err)
	}
	if len(head) < peekBytes {
		_ = a.rest.Close()
		a.rest = nil
		return a.readWhole(want, m)
	}
	if trimmed := bytes.TrimLeft(head, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return malformed()
	}
	a.at = slotOfContext(m, contextOf(json.NewDecoder(bytes.NewReader(head)), "result"))
	return nil
}

func malformed() error {
	return &upstreamError{outcome: "malformed", err: errors.New("the answer is no JSON-RPC answer")}
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
	var parsed struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
		ID     json.RawMessage `json:"id"`
	}
	if json.Unmarshal(a.head, &parsed) != nil || parsed.Result == nil && parsed.Error == nil {
		return malformed()
	}
	a.id = parsed.ID
	if parsed.Error == nil || string(parsed.Error) == "null" {
		a.result = parsed.Result
		a.at = slotOfResult(m, a.result)
		return nil
	}
	a.failure = parsed.Error
	var failure struct {
		Code int `json:"code"`
		Data struct {
			ContextSlot uint64 `json:"contextSlot"`
		} `json:"data"`
	}
	_ = json.Unmarshal(a.failure, &failure) // an error of another shape has code 0
	switch failure.Code {
	case solana.CodeNodeUnhealthy:
		return &upstreamError{"unhealthy", errUnhealthy, true}
	case codeLimited, codeTooMany:
		return &upstreamError{"limited", errLimited, true}
	case codeMinContextSlot:
		// hasSlot stays false: this is the slot of the node, not of an answer.
		a.at = answerSlot{slot: failure.Data.ContextSlot}
		return &upstreamError{"behind", errBehind, true}
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
	return slotOfContext(m, contextOf(json.NewDecoder(bytes.NewReader(result))))
}

// slotOfContext returns the slot of a result's context, if the method's results have one.
func slotOfContext(m *method, slot *uint64) answerSlot {
	if m == nil || !m.namesSlot || slot == nil {
		return answerSlot{}
	}
	return answerSlot{slot: *slot, hasSlot: true}
}

// contextOf returns the member context.slot of the object that the decoder is at; nil if there is
// none. With a path it looks in the inner object that path leads to: with "result" it returns 7 for
// {"result":{"context":{"slot":7},"value":... The text may be cut off after the context, so the
// beginning of a long answer is enough.
func contextOf(decoder *json.Decoder, path ...string) *uint64 {
	wanted := "context"
	if len(path) > 0 {
		wanted = path[0]
	}
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil
		}
		switch {
		case name != wanted:
			var skipped json.RawMessage
			if decoder.Decode(&skipped) != nil {
				return nil
			}
		case len(path) > 0:
			return contextOf(decoder, path[1:]...)
		default:
			var context struct {
				Slot *uint64 `json:"slot"`
			}
			if decoder.Decode(&context) != nil {
				return nil
			}
			return context.Slot
		}
	}
	return nil
}

// resultAnswer and failureAnswer are answers to a call of the given id. A long result is not
// copied.
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
