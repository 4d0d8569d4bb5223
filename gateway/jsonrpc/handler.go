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

	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/internal/origins"
	"github.com/mintlake/mintlake/internal/proxies"
	"github.com/mintlake/mintlake/internal/tracing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Headers and the query parameter of the key, from the specification.
const (
	keyHeader = "X-API-KEY"
	keyQuery  = "apiKey"
)

// refusal is an answer of the endpoint itself.
type refusal struct {
	status  int
	outcome string // metric label
	code    int
	message string
	id      json.RawMessage
	headers func(set func(name, value string)) // may be nil
}

// refusedBy is the answer to a request that its key, or the lack of one, does not allow.
func refusedBy(r *keys.Refusal, id json.RawMessage) *refusal {
	outcome := "key_" + r.Rule
	message := r.Error()
	if r.Status == http.StatusUnauthorized {
		outcome = "unauthorized"
	}
	if r.Rule == keys.RuleMissing {
		message += ": header " + keyHeader + " or query parameter " + keyQuery
	}
	return &refusal{r.Status, outcome, r.RPCCode(), message, id, r.Headers}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	g.origins.Headers(cors, r.Method, r.Header.Get("Origin"), w.Header().Set)
	switch {
	case !g.gate.AdmitHost(r.Host):
		g.refuse(w, &refusal{http.StatusForbidden, "host", codeForbidden, "this endpoint runs without keys and answers to loopback host names only: configure a key (--rpc-keys) to publish it", nil, nil})
	case r.Method == http.MethodGet && r.URL.Path == "/healthz":
		g.health(w, http.StatusOK)
	case r.Method == http.MethodGet && r.URL.Path == "/readyz":
		status := http.StatusOK
		if g.pool.wellCount() == 0 {
			status = http.StatusServiceUnavailable
		}
		g.health(w, status)
	case r.URL.Path != "/":
		g.refuse(w, &refusal{http.StatusNotFound, "path", codeNotFound, "no such path: POST JSON-RPC 2.0 calls to /", nil, nil})
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
		g.refuse(w, &refusal{http.StatusMethodNotAllowed, "http_method", codeInvalidRequest, "use POST", nil, nil})
	}
}

// cors is what pages of allowed origins may do. solana-client is sent by @solana/web3.js.
var cors = origins.CORS{Methods: "POST, GET, OPTIONS", Allowed: "Content-Type, " + keyHeader + ", Solana-Client", Exposed: "Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"}

func (g *Gateway) health(w http.ResponseWriter, status int) {
	writeJSON(w, status, map[string]any{"status": map[bool]string{true: "ok", false: "unavailable"}[status == http.StatusOK],
		"upstreams": len(g.pool.upstreams), "upstreams_well": g.pool.wellCount()})
}

func (g *Gateway) servePost(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	ctx, span := g.tracer.Server(r.Context(), "POST JSON-RPC", r.Header.Get(tracing.Header))
	defer span.End()
	r = r.WithContext(ctx)
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

// admit checks the key, then the body, then what the key may call and how often.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request) (*request, *refusal) {
	pass, refused := g.admitKey(r)
	if refused != nil {
		return nil, refused
	}
	req, refused := g.readRequest(w, r)
	calls := 1
	if req != nil {
		calls = len(req.calls) + len(req.refused)
	}
	budget, limited := pass.Take(calls)
	if limited != nil {
		return nil, refusedBy(limited, req.id())
	}
	budget.Headers(w.Header().Set)
	if refused != nil {
		return nil, refused
	}
	if refused := req.keepAllowed(&pass); refused != nil {
		return nil, refusedBy(refused, req.id())
	}
	for i := range req.calls {
		g.metrics.countCall(req.calls[i].Method)
	}
	return req, nil
}

// readRequest reads the body.
func (g *Gateway) readRequest(w http.ResponseWriter, r *http.Request) (*request, *refusal) {
	// A page of any origin may post text/plain to a loopback endpoint without asking; application/json makes the browser ask.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &refusal{http.StatusUnsupportedMediaType, "content_type", codeInvalidRequest, "Content-Type must be application/json", nil, nil}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.cfg.maxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &refusal{http.StatusRequestEntityTooLarge, "body_too_large", codeInvalidRequest,
			"the body is over " + strconv.FormatInt(g.cfg.maxBodyBytes, 10) + " bytes", nil, nil}
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, "body", codeParse, "the body could not be read", nil, nil}
	}
	req, err := parseRequest(body, g.cfg.maxBatch)
	var invalid *requestError
	if errors.As(err, &invalid) {
		return nil, &refusal{http.StatusBadRequest, "invalid", invalid.code, invalid.message, nil, nil}
	}
	return req, nil
}

// answer forwards what is valid and writes the answers.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request, req *request) *refusal {
	if len(req.calls) == 0 {
		writeJSON(w, http.StatusOK, req.refused)
		return nil
	}
	id := req.id()
	if len(g.pool.upstreams) == 0 {
		return &refusal{http.StatusServiceUnavailable, "no_upstream", codeUpstreamAway, "no JSON-RPC server is configured: start Mintlake with --rpc-upstream URL", id, nil}
	}
	if !g.calls.TryAcquire(1) {
		w.Header().Set("Retry-After", "1")
		return &refusal{http.StatusServiceUnavailable, "busy", codeUpstreamAway, "too many requests in flight: try again", id, nil}
	}
	defer g.calls.Release(1)
	g.metrics.inFlight.Inc()
	defer g.metrics.inFlight.Dec()
	ctx, cancel := context.WithTimeout(r.Context(), g.cfg.timeout)
	defer cancel()
	body, err := req.encode()
	if err != nil {
		return &refusal{http.StatusBadRequest, "invalid", codeInvalidRequest, "the call cannot be encoded", id, nil}
	}
	got, err := g.forward(ctx, body, req.repeatable())
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		return &refusal{499, "client_gone", codeUpstreamAway, "the client went away", id, nil}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{http.StatusGatewayTimeout, "timeout", codeUpstreamAway, "no upstream answered within " + g.cfg.timeout.String(), id, nil}
	default:
		return &refusal{http.StatusBadGateway, "upstream_away", codeUpstreamAway, "no upstream is available: " + itoa(len(g.pool.upstreams)) + " configured, none answered; try again", id, nil}
	}
	defer got.close()
	g.relay(w, req, got)
	return nil
}

// relay writes the upstream's answer. Once it has begun, trouble can only be shown by breaking the connection.
func (g *Gateway) relay(w http.ResponseWriter, req *request, got *answer) {
	if req.notifications() {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if len(req.refused) > 0 {
		g.relayMerged(w, req, got)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if got.rest == nil {
		w.Header().Set("Content-Length", itoa(len(got.head)))
	}
	n, err := w.Write(got.head) //nolint:gosec // the upstream's JSON, served as application/json with nosniff
	if err == nil && got.rest != nil {
		var m int64
		m, err = io.Copy(w, io.LimitReader(got.rest, g.cfg.maxAnswerBytes))
		if m == g.cfg.maxAnswerBytes {
			err = errors.New("answer too large")
		}
		n += int(m)
	}
	g.metrics.answerBytes.Add(float64(n))
	if err != nil {
		g.metrics.requests.WithLabelValues("broken_off").Inc()
		panic(http.ErrAbortHandler)
	}
}

// relayMerged adds the refusals of single calls to the upstream's answers. This is the one case that holds an answer in memory, and batches with
// invalid calls are rare and, by the limit, small.
func (g *Gateway) relayMerged(w http.ResponseWriter, req *request, got *answer) {
	const most = 32 << 20
	body := got.head
	if got.rest != nil {
		tail, err := io.ReadAll(io.LimitReader(got.rest, most))
		if err != nil || len(tail) == most {
			panic(http.ErrAbortHandler)
		}
		body = append(body, tail...)
	}
	answers := req.refused
	var theirs []json.RawMessage
	switch {
	case len(body) == 0: // there were notifications only
	case json.Unmarshal(body, &theirs) != nil:
		answers = append([]json.RawMessage{body}, answers...) // one error for the whole batch
	default:
		answers = append(theirs, answers...)
	}
	writeJSON(w, http.StatusOK, answers)
}

func (g *Gateway) refuse(w http.ResponseWriter, r *refusal) {
	g.metrics.requests.WithLabelValues(r.outcome).Inc()
	if r.headers != nil {
		r.headers(w.Header().Set)
	}
	writeJSON(w, r.status, errorBody(r.id, r.code, r.message))
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		body, status = []byte(`{}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left has nothing to be told
}
