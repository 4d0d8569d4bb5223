package jsonrpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// askBytes bounds an upstream's answer to a question of a Local. A thousand assets of the Digital
// Asset Standard have some 5 MB.
const askBytes = 16 << 20

// localBytes bounds the long answers of Locals that wait for clients to read them.
const localBytes = 256 << 20

// Local answers methods from what Mintlake itself knows.
type Local interface {
	// Methods are the names of the methods that it answers.
	Methods() []string
	// Answer returns a call's result. ErrElsewhere gives the call to the upstreams, as it is; a
	// *CallError is told to the client; any other error is an upstream's, from ask. ask is nil when
	// there is no upstream.
	Answer(ctx context.Context, method string, params json.RawMessage, ask Ask) (json.RawMessage, error)
}

// Ask puts a read to the upstreams. One of result and failure is nil: failure is the upstream's own
// JSON-RPC error. err says that no upstream answered.
type Ask func(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, failure *CallError, err error)

// ErrElsewhere is what a Local returns for a call that the upstreams are to answer.
var ErrElsewhere = errors.New("the upstreams are to answer")

// errNoUpstream refuses what only an upstream can answer.
var errNoUpstream = errors.New("no upstream is configured")

// CallError is a JSON-RPC error.
type CallError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Status is the HTTP status; 0 is 200, as nodes answer errors.
	Status int `json:"-"`
}

// JSON-RPC error codes that a Local answers with.
const (
	CodeInvalidParams = -32602
	// CodeUnavailable says "try again", as codeUpstreamAway does.
	CodeUnavailable = codeUpstreamAway
	// CodeNoMethod is how an upstream says that it does not have a method.
	CodeNoMethod = codeNotFound
)

// InvalidParams refuses a call's parameters.
func InvalidParams(format string, args ...any) *CallError {
	return &CallError{Code: CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

func (e *CallError) Error() string { return e.Message }

func (e *CallError) refusal(id json.RawMessage) *refusal {
	r := refusing(cmp.Or(e.Status, http.StatusOK), "local", e.Code, e.Message, id)
	if len(e.Data) > 0 {
		r.data = e.Data
	}
	return r
}

// byMethod finds who answers a method.
func byMethod(locals []Local) map[string]Local {
	all := map[string]Local{}
	for _, local := range locals {
		for _, name := range local.Methods() {
			if all[name] == nil {
				all[name] = local
			}
		}
	}
	return all
}

// answersAny says whether one of the calls may be answered without an upstream.
func (g *Gateway) answersAny(req *request) bool {
	for _, it := range req.items {
		if it.call != nil && g.local[it.call.Method] != nil {
			return true
		}
	}
	return false
}

func (g *Gateway) answerLocally(ctx context.Context, local Local, c *call) (*answer, error) {
	if c.notification() {
		return &answer{}, nil // these are reads: nobody would see what they found
	}
	ask := g.askUpstreams
	if len(g.pool.upstreams) == 0 {
		ask = nil
	}
	result, err := local.Answer(ctx, c.Method, c.Params, ask)
	if err != nil {
		return nil, err
	}
	got := resultAnswer(c.ID, result)
	if got.rest == nil {
		return got, nil
	}
	size := int64(len(result))
	if !g.localBytes.TryAcquire(size) {
		return nil, &CallError{Code: CodeUnavailable, Status: http.StatusServiceUnavailable, Message: "too many long answers wait to be read: try again"}
	}
	got.cancel = sync.OnceFunc(func() { g.localBytes.Release(size) })
	return got, nil
}

// askUpstreams is an Ask.
func (g *Gateway) askUpstreams(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *CallError, error) {
	t, err := newTask(&call{Version: "2.0", ID: json.RawMessage("1"), Method: method, Params: params}, nil)
	if err != nil {
		return nil, nil, err
	}
	got, err := g.read(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	defer got.close()
	if got.rest != nil {
		if err := got.readUpTo(askBytes, t.method); err != nil {
			return nil, nil, err
		}
	}
	if got.failure != nil {
		failure := &CallError{}
		if json.Unmarshal(got.failure, failure) != nil {
			return nil, nil, malformed()
		}
		return nil, failure, nil
	}
	if got.result == nil {
		return nil, nil, &upstreamError{outcome: "malformed", err: errors.New("the answer is too long")}
	}
	return got.result, nil, nil
}
