package jsonrpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/mintlake/mintlake/gateway/message"
)

// askBytes bounds an upstream's answer to an Ask. A thousand assets of the Digital Asset Standard
// take some 5 MB.
const askBytes = 16 << 20

// localBytes bounds the sum of the long answers of Locals that clients have not read yet.
const localBytes = 256 << 20

// Local answers methods from Mintlake's own data.
type Local interface {
	// Methods returns the names of the methods that Answer answers.
	Methods() []string
	// Answer returns a call's result. If its error is ErrElsewhere, the call goes to the upstreams,
	// unchanged. If it is a *CallError, that is sent to the client. Any other error comes from ask,
	// that is, from an upstream. ask is nil if there is no upstream.
	Answer(ctx context.Context, method string, params json.RawMessage, ask Ask) (json.RawMessage, error)
}

// Ask sends a read to the upstreams. It returns one of three: the result; failure, which is the
// upstream's own JSON-RPC error; or err, if no upstream answered, or if the answer is malformed or
// longer than askBytes.
type Ask func(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, failure *CallError, err error)

// ErrElsewhere is what a Local returns for a call that the upstreams should answer.
var ErrElsewhere = errors.New("the upstreams are to answer")

// errNoUpstream refuses a call that only an upstream can answer.
var errNoUpstream = errors.New("no upstream is configured")

// CallError is a JSON-RPC error.
type CallError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Status is the HTTP status; 0 means 200, with which nodes answer errors.
	Status int `json:"-"`
}

// InvalidParams returns the error of a call with invalid parameters.
func InvalidParams(format string, args ...any) *CallError {
	return &CallError{Code: message.CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

func (e *CallError) Error() string { return e.Message }

func (e *CallError) refusal(id json.RawMessage) *refusal {
	r := refusing(cmp.Or(e.Status, http.StatusOK), "local", e.Code, e.Message, id)
	if len(e.Data) > 0 {
		r.data = e.Data
	}
	return r
}

// byMethod maps each method to the first Local that has it.
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

// answersAny returns whether a Local may answer any of the calls.
func (g *Gateway) answersAny(req *request) bool {
	for _, it := range req.items {
		if it.call != nil && g.local[it.call.Method] != nil {
			return true
		}
	}
	return false
}

// answerLocally lets a Local answer a call. An answer over peekBytes takes room in localBytes until
// it is closed. If there is no room, the call is refused.
func (g *Gateway) answerLocally(ctx context.Context, local Local, c *message.Call) (*answer, error) {
	if c.Notification() {
		return &answer{}, nil // a Local only reads, and nobody would get the result
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
		return nil, &CallError{Code: message.CodeUnavailable, Status: http.StatusServiceUnavailable, Message: "too many long answers wait to be read: try again"}
	}
	got.cancel = sync.OnceFunc(func() { g.localBytes.Release(size) })
	return got, nil
}

// askUpstreams is the Ask of all Locals.
func (g *Gateway) askUpstreams(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *CallError, error) {
	t, err := newTask(&message.Call{Version: "2.0", ID: json.RawMessage("1"), Method: method, Params: params}, nil)
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
