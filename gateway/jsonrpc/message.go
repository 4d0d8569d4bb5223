package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mintlake/mintlake/internal/keys"
)

// JSON-RPC error codes that this endpoint answers with. The first four are of the JSON-RPC 2.0 specification; codeUpstreamAway is what Solana
// nodes say when they are unhealthy (agave, rpc-client-types custom_error.rs), and clients treat it as "try again"; codeForbidden is
// what providers made of HTTP's 403, as keys.Refusal has it.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNotFound       = -32601
	codeUpstreamAway   = -32005
	codeForbidden      = -32403
)

// maxMethod bounds a method's name in bytes; the longest of a Solana node has 34.
const maxMethod = 64

// call is one JSON-RPC call. Encoding it gives the only members that go upstream.
type call struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// notification reports a call that wants no answer.
func (c *call) notification() bool { return c.ID == nil }

// request is a parsed body.
type request struct {
	batch bool
	// calls are the valid ones; refused are the answers to the others, which occur in batches only.
	calls   []call
	refused []json.RawMessage
}

// requestError is a body that is refused as a whole.
type requestError struct {
	code    int
	message string
}

func (e *requestError) Error() string { return e.message }

// parseRequest reads a body: one call, or a batch of at most maxBatch. In a batch, calls that are invalid do not spoil the others.
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
		return &request{calls: []call{c}}, nil
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
	for _, item := range items {
		c, err := parseCall(item)
		if err != nil {
			r.refused = append(r.refused, errorBody(c.ID, codeInvalidRequest, err.Error()))
			continue
		}
		r.calls = append(r.calls, c)
	}
	return r, nil
}

// parseCall reads one call from valid JSON. With an error, ID is still the call's id where it has a valid one.
func parseCall(raw json.RawMessage) (call, error) {
	var c call
	if raw[0] != '{' {
		return call{}, errors.New("a call must be an object")
	}
	// Each member is read apart, so that one of a wrong type does not hide the id.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return call{}, errors.New("a call must be an object")
	}
	if id, present := members["id"]; present {
		if id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
			return call{}, errors.New("id must be a string, a number or null")
		}
		c.ID = id
	}
	if json.Unmarshal(members["jsonrpc"], &c.Version) != nil || c.Version != "2.0" {
		return c, errors.New(`jsonrpc must be "2.0"`)
	}
	if json.Unmarshal(members["method"], &c.Method) != nil || c.Method == "" || len(c.Method) > maxMethod {
		return c, errors.New("method must be a string of 1 to " + itoa(maxMethod) + " bytes")
	}
	if params, present := members["params"]; present && string(params) != "null" {
		if params[0] != '[' && params[0] != '{' {
			return c, errors.New("params must be an array")
		}
		c.Params = params
	}
	return c, nil
}

// id is the id of the only call; nil for a batch, and for a body that could not be read.
func (r *request) id() json.RawMessage {
	if r == nil || r.batch || len(r.calls) == 0 {
		return nil
	}
	return r.calls[0].ID
}

// keepAllowed answers the calls that the key is not for with an error of their own. When none is left, the request is refused as a whole.
func (r *request) keepAllowed(pass *keys.Pass) (refused *keys.Refusal) {
	if len(r.calls) == 0 {
		return nil
	}
	kept := make([]call, 0, len(r.calls))
	for _, c := range r.calls {
		no := pass.Method(c.Method)
		if no == nil {
			kept = append(kept, c)
			continue
		}
		refused = no
		if !c.notification() {
			r.refused = append(r.refused, errorBody(c.ID, no.RPCCode(), no.Error()))
		}
	}
	if len(kept) == 0 {
		return refused
	}
	r.calls = kept
	return nil
}

// notifications says that nobody wants an answer.
func (r *request) notifications() bool {
	for i := range r.calls {
		if !r.calls[i].notification() {
			return false
		}
	}
	return len(r.refused) == 0
}

// repeatable says that trying the same calls at another upstream does no harm.
//
// That holds for reads, and for sendTransaction too: a transaction is known by its signature, and the chain executes a signature at
// most once, so a second upstream only helps it along. requestAirdrop makes a new transaction each time.
func (r *request) repeatable() bool {
	for i := range r.calls {
		if r.calls[i].Method == "requestAirdrop" {
			return false
		}
	}
	return true
}

// encode makes the body that goes upstream.
func (r *request) encode() ([]byte, error) {
	if r.batch {
		return json.Marshal(r.calls)
	}
	return json.Marshal(&r.calls[0])
}

// errorBody is a JSON-RPC error answer; a nil id becomes null.
func errorBody(id json.RawMessage, code int, message string) json.RawMessage {
	if id == nil {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		Error   rpcError        `json:"error"`
		ID      json.RawMessage `json:"id"`
	}{"2.0", rpcError{code, message}, id})
	if err != nil { // ids come out of valid JSON
		return json.RawMessage(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"},"id":null}`)
	}
	return body
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}
