package stream

import (
	"encoding/json"
	"net/http"
)

// httpError is the body of every HTTP error.
type httpError struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"error"`
	Message    string `json:"message"`
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may have left
}

func (s *Server) refuse(w http.ResponseWriter, status int, reason, message string) {
	s.metrics.refused.WithLabelValues(formWebSocket, reason).Inc()
	writeJSON(w, status, httpError{status, http.StatusText(status), message})
}

// serveHTTP answers HTTP/1.1: WebSockets on /, and the probes /healthz, /readyz and /status.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case refuseConnection(w, r):
	case !s.gate.AdmitHost(r.Host):
		s.refuse(w, http.StatusForbidden, "host", "this endpoint runs without keys and answers to loopback host names only: configure a key (--rpc-keys) to publish it")
	case r.Method != http.MethodGet:
		s.refuse(w, http.StatusMethodNotAllowed, "http_method", "open a WebSocket, or call geyser.Geyser over gRPC")
	case r.URL.Path == "/healthz":
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok", "slot": s.hub.slot.Load(), "subscribers": s.hub.count()})
	case r.URL.Path == "/readyz":
		s.serveReady(w)
	case r.URL.Path == "/status":
		writeJSON(w, http.StatusOK, s.status())
	case r.URL.Path != "/":
		s.refuse(w, http.StatusNotFound, "path", "no such path: WebSockets are opened on /")
	case r.Header.Get("Upgrade") == "":
		writeJSON(w, http.StatusOK, map[string]string{
			"service": "mintlake transaction stream",
			"usage":   "gRPC: geyser.Geyser/Subscribe with the key in " + tokenHeader + "; WebSocket: this address with the key in " + keyQuery + ", then transactionSubscribe",
		})
	default:
		s.serveWebSocket(w, r)
	}
}

// serveReady answers whether the topic is being read.
func (s *Server) serveReady(w http.ResponseWriter) {
	select {
	case <-s.fed:
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok"})
	default:
		writeJSON(w, http.StatusServiceUnavailable, httpError{http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable), "the topic cannot be read yet"})
	}
}
