// Package message reads the calls of JSON-RPC 2.0 and writes their answers.
//
// In: JSON of untrusted clients. Out: calls, or errors in the words of the protocol. Guarantees:
// the id and the method of a call are bounded; what is encoded is valid JSON.
package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// Error codes. All but CodeUnavailable are from the JSON-RPC 2.0 specification. CodeUnavailable is
// what Solana nodes answer when they are unhealthy (agave, rpc-client-types custom_error.rs);
// clients take it as "try again".
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeUnavailable    = -32005
)

// maxMethod bounds a method's name in bytes; the longest of a Solana node has 34.
const maxMethod = 64

// maxID bounds the id of a call over WebSocket, in bytes.
const maxID = 128

// Call is one call. Its JSON is what an upstream gets, without any other member of the client's
// request.
type Call struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// Notification returns whether the call wants no answer.
func (c *Call) Notification() bool { return c.ID == nil }

// List returns the elements of the params; none if there are no params. The error is an *Error.
func (c *Call) List() (params []json.RawMessage, err error) {
	if len(c.Params) > 0 && json.Unmarshal(c.Params, &params) != nil {
		return nil, &Error{Code: CodeInvalidParams, Message: "Invalid params: `params` should be an array"}
	}
	return params, nil
}

// Error is the error of an answer.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Parse reads one call from raw, which must be valid JSON. Its error is an *Error. With an error,
// the call still has its id, if that is valid.
func Parse(raw json.RawMessage) (Call, error) {
	var c Call
	refuse := func(message string) (Call, error) { return c, &Error{Code: CodeInvalidRequest, Message: message} }
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return refuse("a call must be an object")
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
		return refuse("id must be a string, a number or null")
	}
	if id.Exists() {
		c.ID = json.RawMessage(id.Raw)
	}
	if c.Version = version.Str; c.Version != "2.0" {
		return refuse(`jsonrpc must be "2.0"`)
	}
	if c.Method = strings.ToValidUTF8(method.Str, "\ufffd"); c.Method == "" || len(c.Method) > maxMethod {
		return refuse(fmt.Sprintf("method must be a string of 1 to %d bytes", maxMethod))
	}
	switch {
	case params.Type == gjson.Null: // or absent
	case !params.IsArray() && !params.IsObject():
		return refuse("params must be an array")
	default:
		c.Params = json.RawMessage(params.Raw)
	}
	return c, nil
}

// Read reads a message of a WebSocket: one call. Its error is an *Error. With an error, the call
// still has its id, if that is valid.
func Read(text []byte) (Call, error) {
	if !json.Valid(text) {
		return Call{}, &Error{Code: CodeParse, Message: "Parse error: the message is no JSON-RPC 2.0 call"}
	}
	if bytes.TrimSpace(text)[0] == '[' {
		return Call{}, &Error{Code: CodeInvalidRequest, Message: "Invalid request: batches are not taken here, send one call a message"}
	}
	c, err := Parse(text)
	if err == nil && len(c.ID) > maxID {
		c.ID, err = nil, &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("id must have at most %d bytes", maxID)}
	}
	return c, err
}

// Result encodes the answer to a call that succeeded. A nil id becomes null.
func Result(id json.RawMessage, result any) json.RawMessage {
	return encode(struct {
		Version string          `json:"jsonrpc"`
		Result  any             `json:"result"`
		ID      json.RawMessage `json:"id"`
	}{"2.0", result, orNull(id)})
}

// Failure encodes the answer to a call that failed. A nil id becomes null.
func Failure(id json.RawMessage, failure *Error) json.RawMessage {
	return encode(struct {
		Version string          `json:"jsonrpc"`
		Error   *Error          `json:"error"`
		ID      json.RawMessage `json:"id"`
	}{"2.0", failure, orNull(id)})
}

func orNull(id json.RawMessage) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return id
}

func encode(answer any) json.RawMessage {
	body, err := json.Marshal(answer)
	if err != nil { // cannot happen: ids come out of valid JSON, and results are our own
		return json.RawMessage(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":null}`)
	}
	return body
}
