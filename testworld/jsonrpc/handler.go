// Package jsonrpc is what all JSON-RPC nodes of the test world have in common: the protocol, and
// parameters, accounts and filters as Solana has them.
//
// In: HTTP POST bodies, single or batched; methods. Out: results and errors in the shape of the
// real node. Guarantees: bodies and batches are bounded; a malformed request is answered, never a
// panic; unknown methods get -32601.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
)

// Limits of a request: the real node's 50 KiB body limit is raised, as providers do, to fit
// getMultipleAccounts batches.
const (
	maxBody  = 1 << 20
	maxBatch = 1000
)

// Error is a JSON-RPC error object.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Codes of JSON-RPC.
const (
	codeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// InvalidParams returns the error of a parameter.
func InvalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

// Method answers one call; params is the raw array, never nil. The client gets an *Error as it is,
// and an internal error for any other.
type Method func(params []json.RawMessage) (any, error)

// Outcomes of a call.
const (
	OK       = "ok"
	Failed   = "error"
	NotFound = "not_found"
)

// Handler is an http.Handler of methods by name.
type Handler struct {
	Methods map[string]Method
	// Log, if set, has the errors that the client does not get.
	Log *slog.Logger
	// Count, if set, is told of each call; method is "other" for one that does not exist.
	Count func(method, outcome string)
}

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
	ID      json.RawMessage `json:"id"`
}

// nullResult is a result of null, which omitempty would drop.
var nullResult = json.RawMessage("null")

// ServeHTTP answers POST; other verbs get 405.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "Used HTTP Method is not allowed. POST is required", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request body too large", http.StatusRequestEntityTooLarge)
		return
	}
	out := h.Handle(body)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if out != nil {
		_, _ = w.Write(out) // the client is gone: nobody is left to tell
	}
}

// Handle answers one body: a request, or a batch of them. It returns nil if there are only
// notifications.
func (h *Handler) Handle(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		return h.batch(body)
	}
	resp := h.one(body)
	if resp == nil {
		return nil
	}
	return marshal(resp)
}

// batch answers a list of requests; nil if all of them are notifications.
func (h *Handler) batch(body []byte) []byte {
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return marshal(failure(nil, &Error{Code: codeParse, Message: "Parse error"}))
	}
	if len(list) == 0 || len(list) > maxBatch {
		return marshal(failure(nil, &Error{Code: CodeInvalidRequest, Message: "Invalid request"}))
	}
	out := make([]*response, 0, len(list))
	for _, raw := range list {
		if r := h.one(raw); r != nil {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return marshal(out)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":null}`)
	}
	return b
}

func failure(id json.RawMessage, e *Error) *response {
	if id == nil {
		id = nullResult
	}
	return &response{Version: "2.0", Error: e, ID: id}
}

func (h *Handler) count(method, outcome string) {
	if h.Count != nil {
		h.Count(method, outcome)
	}
}

// one answers one request; nil if it is a notification that a method took.
func (h *Handler) one(body []byte) *response {
	if !json.Valid(body) {
		return failure(nil, &Error{Code: codeParse, Message: "Parse error"})
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil || req.Version != "2.0" || req.Method == "" || !validID(req.ID) {
		return failure(nil, &Error{Code: CodeInvalidRequest, Message: "Invalid request"})
	}
	m, ok := h.Methods[req.Method]
	if !ok {
		h.count("other", NotFound)
		return failure(req.ID, &Error{Code: CodeMethodNotFound, Message: "Method not found"})
	}
	params := []json.RawMessage{}
	if len(req.Params) > 0 && string(req.Params) != "null" {
		if err := json.Unmarshal(req.Params, &params); err != nil {
			h.count(req.Method, Failed)
			return failure(req.ID, InvalidParams("`params` should be an array"))
		}
	}
	result, err := m(params)
	if req.ID == nil {
		return nil // a notification
	}
	if err != nil {
		h.count(req.Method, Failed)
		var e *Error
		if !errors.As(err, &e) {
			if h.Log != nil {
				h.Log.Error("rpc method failed", "method", req.Method, "err", err)
			}
			e = &Error{Code: CodeInternal, Message: "Internal error"}
		}
		return failure(req.ID, e)
	}
	h.count(req.Method, OK)
	if result == nil {
		result = nullResult
	}
	return &response{Version: "2.0", Result: result, ID: req.ID}
}

// validID accepts what JSON-RPC allows: absent, null, a number or a string.
func validID(id json.RawMessage) bool {
	if len(id) == 0 {
		return true
	}
	switch id[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return true
}
