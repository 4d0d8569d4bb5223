package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/usage"
)

// JSON-RPC error codes of this endpoint. The first three are from the JSON-RPC 2.0 specification.
// codeUpstreamAway is what Solana nodes answer when they are unhealthy (agave, rpc-client-types
// custom_error.rs); clients take it as "try again". codeForbidden is how providers turn HTTP's 403
// into a code, as keys.Refusal does.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNotFound       = -32601
	codeUpstreamAway   = -32005
	codeForbidden      = -32403
	codeInternal       = -32603
	// codeUnknown is the endpoint's own: a call that must not be made twice was sent, and its
	// answer was lost.
	codeUnknown = -32504
)

// maxMethod bounds a method's name in bytes; the longest of a Solana node has 34.
const maxMethod = 64

// call is one JSON-RPC call. Its encoding has the only members that are sent upstream.
type call struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// notification returns whether the call wants no answer.
func (c *call) notification() bool { return c.ID == nil }

// item is an element of a body: a valid call or, only in a batch, the answer to one that is
// refused.
type item struct {
	call    *call
	refused json.RawMessage
}

// request is a parsed body.
type request struct {
	batch bool
	items []item
	// pass is that of the client's key. The key's id names sessions and usage.
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

// requestError is a body that is refused as a whole.
type requestError struct {
	code    int
	message string
}

func (e *requestError) Error() string { return e.message }

// parseRequest reads a body: one call, or a batch of at most maxBatch. Invalid calls of a batch do
// not affect the others.
func parseRequest(body []byte, maxBatch int) (*request, error) {
	body = bytes.TrimSpace(body)
	if !json.Valid(body) {
		return nil, &requestError{codeParse, "the body is no valid JSON"}
	}
	if body[0] != '[' {
		c, err := parseCall(body)
		if err != nil {
			return nil, &requestError{codeInvalidRequest, err.Error()}
		}
		return &request{items: []item{{call: &c}}}, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, &requestError{codeParse, "the body is no valid JSON"}
	}
	switch {
	case len(items) == 0:
		return nil, &requestError{codeInvalidRequest, "the batch is empty"}
	case len(items) > maxBatch:
		return nil, &requestError{codeInvalidRequest, "the batch has " + itoa(len(items)) + " calls: at most " + itoa(maxBatch)}
	}
	r := &request{batch: true}
	for _, raw := range items {
		c, err := parseCall(raw)
		if err != nil {
			r.items = append(r.items, item{refused: errorBody(c.ID, codeInvalidRequest, err.Error(), nil)})
			continue
		}
		r.items = append(r.items, item{call: &c})
	}
	return r, nil
}

// parseCall reads one call from valid JSON. If it returns an error, the call still has its id, if
// that is valid.
func parseCall(raw json.RawMessage) (call, error) {
	var c call
	if raw[0] != '{' {
		return call{}, errors.New("a call must be an object")
	}
	var version, id, method, params gjson.Result
	gjson.ParseBytes(raw).ForEach(func(name, value gjson.Result) bool {
		switch name.String() { // of several members with one name the last one counts
		case "jsonrpc":
			version = value
		case "id":
			id = value
		case "method":
			method = value
		case "params":
			params = value
		}
		return true
	})
	if id.IsObject() || id.IsArray() || id.IsBool() {
		return call{}, errors.New("id must be a string, a number or null")
	}
	if id.Exists() {
		c.ID = json.RawMessage(id.Raw)
	}
	if c.Version = version.Str; c.Version != "2.0" {
		return c, errors.New(`jsonrpc must be "2.0"`)
	}
	if c.Method = strings.ToValidUTF8(method.Str, "\ufffd"); c.Method == "" || len(c.Method) > maxMethod {
		return c, errors.New("method must be a string of 1 to " + itoa(maxMethod) + " bytes")
	}
	switch {
	case params.Type == gjson.Null: // or absent
	case !params.IsArray() && !params.IsObject():
		return c, errors.New("params must be an array")
	default:
		c.Params = json.RawMessage(params.Raw)
	}
	return c, nil
}

// id returns the id of a single call; nil for a batch, and for a body that could not be read.
func (r *request) id() json.RawMessage {
	if r == nil || r.batch || len(r.items) == 0 {
		return nil
	}
	return r.items[0].call.ID
}

// keepAllowed replaces each call that the key may not make by an error answer. It drops a
// notification that the key may not make. It counts both as refused. If that leaves no valid call,
// it returns the last refusal, for the request as a whole.
func (r *request) keepAllowed(pass *keys.Pass, label func(method string) string) (refused *keys.Refusal) {
	kept, left := make([]item, 0, len(r.items)), 0
	for _, it := range r.items {
		if it.call == nil {
			kept = append(kept, it)
			continue
		}
		no := pass.Method(it.call.Method)
		if no != nil {
			pass.Count(label(it.call.Method), usage.Counts{Refused: 1})
		}
		switch {
		case no == nil:
			kept = append(kept, it)
			left++
			continue
		case !it.call.notification():
			kept = append(kept, item{refused: errorBody(it.call.ID, no.RPCCode(), no.Error(), nil)})
		}
		refused = no
	}
	if left == 0 && refused != nil {
		return refused
	}
	r.items = kept
	return nil
}

// errorBody encodes a JSON-RPC error answer. A nil id becomes null; nil data is left out.
func errorBody(id json.RawMessage, code int, message string, data any) json.RawMessage {
	if id == nil {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		Error   rpcError        `json:"error"`
		ID      json.RawMessage `json:"id"`
	}{"2.0", rpcError{code, message, data}, id})
	if err != nil { // ids come out of valid JSON
		return json.RawMessage(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"},"id":null}`)
	}
	return body
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}
