package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/internal/tracing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

// keyHeader and keyQuery are the header and the query parameter that carry the key.
const (
	keyHeader = "X-API-KEY"
	keyQuery  = "apiKey"
)

// refusal is an error that the endpoint answers itself.
type refusal struct {
	status  int
	outcome string // metric label
	code    int
	message string
	id      json.RawMessage
	headers func(set func(name, value string)) // may be nil
	data    any                                // may be nil
}

// refusing returns a refusal without headers and data.
func refusing(status int, outcome string, code int, message string, id json.RawMessage) *refusal {
	return &refusal{status: status, outcome: outcome, code: code, message: message, id: id}
}

// refusedBy returns the refusal of a request that its key does not allow, or that has no key.
func refusedBy(r *keys.Refusal, id json.RawMessage) *refusal {
	outcome := "key_" + r.Rule
	text := r.Error()
	if r.Status == http.StatusUnauthorized {
		outcome = "unauthorized"
	}
	if r.Rule == keys.RuleMissing {
		text += ": header " + keyHeader + " or query parameter " + keyQuery
	}
	return &refusal{status: r.Status, outcome: outcome, code: r.RPCCode(), message: text, id: id, headers: r.Headers}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	g.origins.Headers(cors, r.Method, r.Header.Get("Origin"), w.Header().Set)
	switch {
	case !g.gate.AdmitHost(r.Host):
		g.refuse(w, refusing(http.StatusForbidden, "host", codeForbidden, "this endpoint runs without keys and answers to loopback host names only: configure a key (--rpc-keys) to publish it", nil))
	case r.Method == http.MethodGet && r.URL.Path == "/healthz":
		g.health(w, http.StatusOK)
	case r.Method == http.MethodGet && r.URL.Path == "/readyz":
		status := http.StatusOK
		if g.pool.wellCount() == 0 {
			status = http.StatusServiceUnavailable
		}
		g.health(w, status)
	case r.URL.Path != "/":
		g.refuse(w, refusing(http.StatusNotFound, "path", message.CodeNoMethod, "no such path: POST JSON-RPC 2.0 calls to /", nil))
	case isWebSocket(r):
		g.serveWebSocket(w, r)
	case r.Method == http.MethodPost:
		g.servePost(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", "POST, GET, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, map[string]string{
			"service": "mintlake JSON-RPC gateway",
			"usage": "POST a JSON-RPC 2.0 call or batch to this address, or open a WebSocket for subscriptions; key in the header " + keyHeader +
				" or the query parameter " + keyQuery,
		})
	default:
		w.Header().Set("Allow", "POST, GET, OPTIONS")
		g.refuse(w, refusing(http.StatusMethodNotAllowed, "http_method", message.CodeInvalidRequest, "use POST", nil))
	}
}

// cors is what pages of allowed origins may send and read. @solana/web3.js sends Solana-Client.
var cors = origins.CORS{Methods: "POST, GET, OPTIONS", Allowed: "Content-Type, " + keyHeader + ", Solana-Client, " + SessionHeader + ", " + RebroadcastHeader, Exposed: RebroadcastHeader + ", Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"}

func (g *Gateway) health(w http.ResponseWriter, status int) {
	body := map[string]any{"status": "ok", "upstreams": len(g.pool.upstreams), "upstreams_well": g.pool.wellCount()}
	if status != http.StatusOK {
		body["status"], body["reason"] = "unavailable", "no upstream well"
	}
	writeJSON(w, status, body)
}

// servePost answers a POST of calls.
func (g *Gateway) servePost(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	ctx, span := g.tracer.Server(r.Context(), "POST JSON-RPC", r.Header.Get(tracing.Header))
	defer span.End()
	if span != nil {
		r = r.WithContext(ctx)
	}
	req, refused := g.admit(w, r)
	if req != nil {
		span.String("rpc.method", g.metrics.spanMethod(req))
	}
	if refused == nil {
		refused = g.answer(w, r, req)
	}
	if refused != nil {
		span.String("outcome", refused.outcome)
		if refused.status >= http.StatusInternalServerError {
			span.Fail(refused.outcome)
		}
		g.refuse(w, refused)
	} else {
		g.metrics.requests.WithLabelValues("ok").Inc()
	}
	g.metrics.requestSeconds.Observe(time.Since(began).Seconds())
}

// admitKey checks the key, and its rules on origin and address.
func (g *Gateway) admitKey(r *http.Request) (keys.Pass, *refusal) {
	presented := r.Header.Get(keyHeader)
	if presented == "" {
		presented = r.URL.Query().Get(keyQuery)
	}
	pass, refused := g.gate.Admit(keys.Request{
		Key: presented, Address: g.cfg.TrustedProxies.ClientOf(r.RemoteAddr, r.Header.Values(proxies.Header)), Origin: r.Header.Get("Origin"),
	})
	if refused != nil {
		return pass, refusedBy(refused, nil)
	}
	return pass, nil
}

// errBusy and errBusyClient say why g.calls.Take refuses: all clients together, or this one, have
// too many requests in flight.
var (
	errBusy       = errors.New("too many requests in flight: try again")
	errBusyClient = errors.New("you have too many requests in flight: wait for their answers")
)

// admit checks the key, then the body, then whether the key's limits and methods allow the calls. A
// body that cannot be read counts as one call, so that the limits hold for such requests, too.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request) (*request, *refusal) {
	pass, refused := g.admitKey(r)
	if refused != nil {
		return nil, refused
	}
	req, refused := g.readRequest(w, r)
	calls := 1
	if req != nil {
		calls = len(req.items)
	}
	budget, limited := pass.Take(calls)
	if limited != nil {
		g.countRefused(&pass, req)
		return nil, refusedBy(limited, req.id())
	}
	budget.Headers(w.Header().Set)
	if refused != nil {
		return nil, refused
	}
	if refused := req.keepAllowed(&pass, g.metrics.label); refused != nil {
		return nil, refusedBy(refused, req.id())
	}
	for _, it := range req.items {
		if it.call != nil {
			label := g.metrics.label(it.call.Method)
			g.metrics.calls[label].Inc()
			pass.Count(label, usage.Counts{Requests: 1, Units: unitsOf(it.call.Method)})
		}
	}
	req.pass = pass
	return req, nil
}

// readRequest reads and parses the body.
func (g *Gateway) readRequest(w http.ResponseWriter, r *http.Request) (*request, *refusal) {
	// A page of any origin may post text/plain to a loopback endpoint. Before it posts
	// application/json, its browser asks the endpoint (a CORS preflight), so only application/json
	// is accepted.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, refusing(http.StatusUnsupportedMediaType, "content_type", message.CodeInvalidRequest, "Content-Type must be application/json", nil)
	}
	if framing.Coded(r.Header.Get("Content-Encoding")) {
		return nil, refusing(http.StatusUnsupportedMediaType, "content_type", message.CodeInvalidRequest, "Content-Encoding must not be set: a body must be sent as it is", nil)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.cfg.maxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, refusing(http.StatusRequestEntityTooLarge, "body_too_large", message.CodeInvalidRequest,
			"the body is over "+strconv.FormatInt(g.cfg.maxBodyBytes, 10)+" bytes", nil)
	case err != nil:
		return nil, refusing(http.StatusBadRequest, "body", message.CodeParse, "the body could not be read", nil)
	}
	req, err := parseRequest(body, g.cfg.maxBatch)
	var invalid *message.Error
	if errors.As(err, &invalid) {
		return nil, refusing(http.StatusBadRequest, "invalid", invalid.Code, invalid.Message, nil)
	}
	return req, nil
}

// answer performs the valid calls and writes the answers. If it returns a refusal, it has written
// no body.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request, req *request) *refusal {
	id := req.id()
	name := r.Header.Get(SessionHeader)
	var err error
	if req.rebroadcast, err = wantsRebroadcast(r); err != nil {
		return refusing(http.StatusBadRequest, "invalid", message.CodeInvalidRequest, err.Error(), id)
	}
	switch {
	case len(name) > maxSessionName:
		return refusing(http.StatusBadRequest, "invalid", message.CodeInvalidRequest, SessionHeader+" is over "+itoa(maxSessionName)+" bytes", id)
	case req.calls() == 0: // a batch of invalid calls, whose answers are ready
		g.answerBatch(r.Context(), r.Context(), w, req, nil)
		return nil
	case len(g.pool.upstreams) == 0 && !g.answersAny(req):
		return g.refusalOf(r.Context(), errNoUpstream, id)
	}
	client := req.pass.Client()
	if err := g.calls.Take(client); err != nil {
		w.Header().Set("Retry-After", "1")
		if errors.Is(err, errBusyClient) {
			return refusing(http.StatusTooManyRequests, "busy_client", codeTooMany, err.Error(), id)
		}
		return refusing(http.StatusServiceUnavailable, "busy", message.CodeUnavailable, err.Error(), id)
	}
	defer g.calls.Give(client)
	g.lastCall.Store(steady.Now())
	var s *session
	if name != "" {
		s = g.sessions.find(req.pass.ID(), name)
	}
	g.metrics.inFlight.Inc()
	defer g.metrics.inFlight.Dec()
	ctx, cancel := context.WithTimeout(r.Context(), g.cfg.timeout)
	defer cancel()
	if req.batch {
		g.answerBatch(ctx, r.Context(), w, req, s)
		return nil
	}
	c := req.items[0].call
	got, rebroadcast, err := g.perform(ctx, req, c, s)
	if rebroadcast != "" {
		w.Header().Set(RebroadcastHeader, rebroadcast)
	}
	if err != nil {
		return g.refusalOf(r.Context(), err, id)
	}
	defer got.close()
	g.relay(w, &req.pass, c, got)
	return nil
}

// perform makes a call. If the request asks for rebroadcasts and the call is a sendTransaction, it
// adds the transaction to the rebroadcasts, and rebroadcast is the outcome of that; otherwise
// rebroadcast is empty. A call that panics ends with errInternal, or with an unknownError if it may
// have had an effect.
func (g *Gateway) perform(ctx context.Context, req *request, c *message.Call, s *session) (got *answer, rebroadcast string, err error) {
	defer panics.Catch(g.log, g.metrics.panics, func() {
		if got, err = nil, errInternal; methodOf(c.Method).effect != read {
			err = &unknownError{}
		}
	})
	got, err = g.answerOf(ctx, c, s)
	if req.rebroadcast && c.Method == sendTransaction {
		rebroadcast = g.rebroadcast(req, c, got, err)
	}
	return got, rebroadcast, err
}

// answerOf returns the answer to a call. If a Local has the method, that Local answers the call,
// unless it returns ErrElsewhere. Otherwise the upstreams are asked, in the way that the method's
// effect allows. In a session they are asked for every answer that belongs to a slot: Mintlake's
// own data may be of an earlier slot than what the session has seen.
func (g *Gateway) answerOf(ctx context.Context, c *message.Call, s *session) (*answer, error) {
	if local := g.local[c.Method]; local != nil && (s == nil || methodOf(c.Method).timeless) {
		if got, err := g.answerLocally(ctx, local, c); !errors.Is(err, ErrElsewhere) {
			return got, err
		}
	}
	if len(g.pool.upstreams) == 0 {
		return nil, errNoUpstream
	}
	t, err := newTask(c, s)
	if err != nil {
		return nil, err
	}
	switch t.method.effect {
	case send:
		return g.forwardSend(ctx, t)
	case once:
		return g.forwardOnce(ctx, t)
	case read:
	}
	return g.read(ctx, t)
}

// refusalOf returns the refusal for an error of perform. client is the context of the HTTP request,
// which ends when the client leaves.
func (g *Gateway) refusalOf(client context.Context, err error, id json.RawMessage) *refusal {
	var unreached *behindError
	var unknown *unknownError
	var local *CallError
	switch {
	case client.Err() != nil:
		const closedRequest = 499 // nginx's status for a client that closed the request
		return refusing(closedRequest, "client_gone", message.CodeUnavailable, "the client went away", id)
	case errors.As(err, &local):
		return local.refusal(id)
	case errors.Is(err, errInternal):
		return refusing(http.StatusInternalServerError, "internal", message.CodeInternal, "internal error", id)
	case errors.Is(err, errNoUpstream):
		return refusing(http.StatusServiceUnavailable, "no_upstream", message.CodeUnavailable, "no JSON-RPC server is configured: start Mintlake with --rpc-upstream URL", id)
	case errors.As(err, &unreached):
		return &refusal{status: http.StatusOK, outcome: "behind", code: codeMinContextSlot, message: unreached.Error(), id: id,
			data: map[string]uint64{"contextSlot": unreached.highest, "minContextSlot": unreached.wanted}}
	case errors.As(err, &unknown):
		return &refusal{status: http.StatusGatewayTimeout, outcome: "unknown", code: codeUnknown, message: unknown.Error(), id: id, data: unknown.data()}
	case errors.Is(err, context.DeadlineExceeded):
		return refusing(http.StatusGatewayTimeout, "timeout", message.CodeUnavailable, "no upstream answered within "+g.cfg.timeout.String(), id)
	}
	return refusing(http.StatusBadGateway, "upstream_away", message.CodeUnavailable, "no upstream is available: "+itoa(len(g.pool.upstreams))+" configured, none answered; try again", id)
}

func (g *Gateway) refuse(w http.ResponseWriter, r *refusal) {
	g.metrics.requests.WithLabelValues(r.outcome).Inc()
	if r.headers != nil {
		r.headers(w.Header().Set)
	}
	writeJSON(w, r.status, message.Failure(r.id, &message.Error{Code: r.code, Message: r.message, Data: r.data}))
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		body, status = []byte(`{}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have left
}
