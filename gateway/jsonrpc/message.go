package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/gateway/message"
)

// JSON-RPC error codes of this endpoint, besides those of package message. codeForbidden is -32000
// minus HTTP's status 403, as at other providers and in keys.Refusal.
const (
	codeForbidden = -32403
	// codeUnknown is the endpoint's own: a call that must not be made twice was sent, and its
	// answer was lost.
	codeUnknown = -32504
)

// item is an element of a body: a valid call or, only in a batch, the error answer to a call that
// is refused.
type item struct {
	call    *message.Call
	refused json.RawMessage
}

// request is a parsed body.
type request struct {
	batch bool
	items []item
	// pass is what the client's key admits. Sessions and usage are kept by the id of the key.
	pass keys.Pass
	// rebroadcast asks to send transactions again until they are confirmed or expired.
	rebroadcast bool
}

// calls counts the valid calls.
func (r *request) calls() int {
	n := 0
	for _, it := range r.items {
		if it.call != nil {
			n++
		}
	}
	return n
}

// parseRequest reads a body: one call, or a batch of at most maxBatch. Invalid calls of a batch do
// not affect the others. Its error is a *message.Error.
func parseRequest(body []byte, maxBatch int) (*request, error) {
	body = bytes.TrimSpace(body)
	if !json.Valid(body) {
		return nil, &message.Error{Code: message.CodeParse, Message: "the body is no valid JSON"}
	}
	if body[0] != '[' {
		c, err := message.Parse(body)
		if err != nil {
			return nil, err
		}
		return &request{items: []item{{call: &c}}}, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, &message.Error{Code: message.CodeParse, Message: "the body is no valid JSON"}
	}
	switch {
	case len(items) == 0:
		return nil, &message.Error{Code: message.CodeInvalidRequest, Message: "the batch is empty"}
	case len(items) > maxBatch:
		return nil, &message.Error{Code: message.CodeInvalidRequest, Message: "the batch has " + itoa(len(items)) + " calls: at most " + itoa(maxBatch)}
	}
	r := &request{batch: true}
	for _, raw := range items {
		c, err := message.Parse(raw)
		var wrong *message.Error
		if errors.As(err, &wrong) {
			r.items = append(r.items, item{refused: message.Failure(c.ID, wrong)})
			continue
		}
		r.items = append(r.items, item{call: &c})
	}
	return r, nil
}

// id returns the id of a single call; nil for a batch, and for a body that could not be read.
func (r *request) id() json.RawMessage {
	if r == nil || r.batch || len(r.items) == 0 {
		return nil
	}
	return r.items[0].call.ID
}

// keepAllowed replaces each call that the key may not make by an error answer. It drops a
// notification that the key may not make. It counts both as refused. If no valid call is left,
// keepAllowed returns the last refusal, for the request as a whole.
func (r *request) keepAllowed(pass *keys.Pass, label func(method string) string) (refused *keys.Refusal) {
	kept, allowed := make([]item, 0, len(r.items)), 0
	for _, it := range r.items {
		if it.call == nil {
			kept = append(kept, it)
			continue
		}
		denied := pass.Method(it.call.Method)
		if denied != nil {
			pass.Count(label(it.call.Method), usage.Counts{Refused: 1})
		}
		switch {
		case denied == nil:
			kept = append(kept, it)
			allowed++
			continue
		case !it.call.Notification():
			kept = append(kept, item{refused: message.Failure(it.call.ID, &message.Error{Code: denied.RPCCode(), Message: denied.Error()})})
		}
		refused = denied
	}
	if allowed == 0 && refused != nil {
		return refused
	}
	r.items = kept
	return nil
}
