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
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	g.allowOrigin(w, r)
	switch {
	case !g.gate.AdmitHost(r.Host):
		g.refuse(w, &refusal{http.StatusForbidden, "host", codeUnauthorized, "this endpoint runs without keys and answers to loopback host names only: configure a key (--rpc-keys) to publish it", nil})
	case r.Method == http.MethodGet && r.URL.Path == "/healthz":
		g.health(w, http.StatusOK)
	case r.Method == http.MethodGet && r.URL.Path == "/readyz":
		status := http.StatusOK
		if g.pool.wellCount() == 0 {
			status = http.StatusServiceUnavailable
		}
		g.health(w, status)
	case r.URL.Path != "/":
		g.refuse(w, &refusal{http.StatusNotFound, "path", codeNotFound, "no such path: POST JSON-RPC 2.0 calls to /", nil})
	case r.Method == http.MethodPost:
		g.servePost(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", "POST, GET, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, map[string]string{
			"service": "mintlake JSON-RPC gateway",
			"usage":   "POST a JSON-RPC 2.0 call or batch to this address; key in the header " + keyHeader + " or the query parameter " + keyQuery,
		})
	default:
		w.Header().Set("Allow", "POST, GET, OPTIONS")
		g.refuse(w, &refusal{http.StatusMethodNotAllowed, "http_method", codeInvalidRequest, "use POST", nil})
	}
}

// allowOrigin answers CORS for the configured origins.
func (g *Gateway) allowOrigin(w http.ResponseWriter, r *http.Request) {
	if len(g.origins) == 0 {
		return
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	switch {
	case g.origins["*"]:
		origin = "*"
	case origin == "" || !g.origins[origin]:
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Content-Type, "+keyHeader+", Solana-Client")
		h.Set("Access-Control-Max-Age", "86400")
	}
}

func (g *Gateway) health(w http.ResponseWriter, status int) {
	writeJSON(w, status, map[string]any{"status": map[bool]string{true: "ok", false: "unavailable"}[status == http.StatusOK],
		"upstreams": len(g.pool.upstreams), "upstreams_well": g.pool.wellCount()})
}

func (g *Gateway) servePost(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	req, refused := g.admit(w, r)
	if refused == nil {
		refused = g.answer(w, r, req)
	}
	if refused != nil {
		g.refuse(w, refused)
	} else {
		g.metrics.requests.WithLabelValues("ok").Inc()
	}
	g.metrics.requestSeconds.Observe(time.Since(began).Seconds())
}

// admit checks the key, then the body.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request) (*request, *refusal) {
	presented := r.Header.Get(keyHeader)
	if presented == "" {
		presented = r.URL.Query().Get(keyQuery)
	}
	if _, ok := g.gate.Admit(presented); !ok {
		message := "the API key is not valid"
		if presented == "" {
			message = "an API key is required: header " + keyHeader + " or query parameter " + keyQuery
		}
		return nil, &refusal{http.StatusUnauthorized, "unauthorized", codeUnauthorized, message, nil}
	}
	// A page of any origin may post text/plain to a loopback endpoint without asking; application/json makes the browser ask.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &refusal{http.StatusUnsupportedMediaType, "content_type", codeInvalidRequest, "Content-Type must be application/json", nil}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.cfg.MaxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &refusal{http.StatusRequestEntityTooLarge, "body_too_large", codeInvalidRequest,
			"the body is over " + strconv.FormatInt(g.cfg.MaxBodyBytes, 10) + " bytes", nil}
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, "body", codeParse, "the body could not be read", nil}
	}
	req, err := parseRequest(body, g.cfg.MaxBatch)
	var invalid *requestError
	if errors.As(err, &invalid) {
		return nil, &refusal{http.StatusBadRequest, "invalid", invalid.code, invalid.message, nil}
	}
	for i := range req.calls {
		g.metrics.countCall(req.calls[i].Method)
	}
	return req, nil
}

// answer forwards what is valid and writes the answers.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request, req *request) *refusal {
	if len(req.calls) == 0 {
		writeJSON(w, http.StatusOK, req.refused)
		return nil
	}
	var id json.RawMessage
	if !req.batch {
		id = req.calls[0].ID
	}
	if len(g.pool.upstreams) == 0 {
		return &refusal{http.StatusServiceUnavailable, "no_upstream", codeUpstreamAway, "no JSON-RPC server is configured: start Mintlake with --rpc-upstream URL", id}
	}
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		return &refusal{http.StatusServiceUnavailable, "busy", codeUpstreamAway, "too many requests in flight: try again", id}
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.cfg.Timeout)
	defer cancel()
	body, err := req.encode()
	if err != nil {
		return &refusal{http.StatusBadRequest, "invalid", codeInvalidRequest, "the call cannot be encoded", id}
	}
	got, err := g.forward(ctx, body, req.repeatable())
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		return &refusal{499, "client_gone", codeUpstreamAway, "the client went away", id}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{http.StatusGatewayTimeout, "timeout", codeUpstreamAway, "no upstream answered within " + g.cfg.Timeout.String(), id}
	default:
		return &refusal{http.StatusBadGateway, "upstream_away", codeUpstreamAway, "no upstream is available: " + itoa(len(g.pool.upstreams)) + " configured, none answered; try again", id}
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
	n, err := w.Write(got.head)
	if err == nil && got.rest != nil {
		var m int64
		m, err = io.Copy(w, io.LimitReader(got.rest, g.cfg.MaxAnswerBytes))
		if m == g.cfg.MaxAnswerBytes {
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
