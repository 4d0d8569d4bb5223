package stream

import (
	"net/http"

	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/httpjson"
)

// refuse counts a refused request and answers it with an error.
func (s *Server) refuse(w http.ResponseWriter, status int, reason, message string) {
	s.metrics.refused.WithLabelValues(formWebSocket, reason).Inc()
	httpjson.WriteError(w, status, message)
}

// serveHTTP answers HTTP/1.1: WebSockets on /, and the probes /healthz, /readyz and /status.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case refuseConnection(w, r):
	case !s.gate.AdmitHost(r.Host):
		s.refuse(w, http.StatusForbidden, "host", refusedHost)
	case framing.Coded(r.Header.Get("Content-Encoding")):
		s.refuse(w, http.StatusUnsupportedMediaType, "coding", "Content-Encoding must not be set: no body is read here")
	case r.Method != http.MethodGet:
		s.refuse(w, http.StatusMethodNotAllowed, "http_method", "open a WebSocket, or call geyser.Geyser over gRPC")
	case r.URL.Path == "/healthz":
		httpjson.Write(w, http.StatusOK, map[string]any{"status": "ok", "slot": s.hub.slot.Load(), "subscribers": s.hub.count()})
	case r.URL.Path == "/readyz":
		s.serveReady(w)
	case r.URL.Path == "/status":
		httpjson.Write(w, http.StatusOK, s.status())
	case r.URL.Path != "/":
		s.refuse(w, http.StatusNotFound, "path", "no such path: WebSockets are opened on /")
	case r.Header.Get("Upgrade") == "":
		httpjson.Write(w, http.StatusOK, map[string]string{
			"service": "mintlake transaction stream",
			"usage":   "gRPC: geyser.Geyser/Subscribe with the key in " + tokenHeader + "; WebSocket: this address with the key in " + keyQuery + ", then transactionSubscribe",
		})
	default:
		s.serveWebSocket(w, r)
	}
}

// serveReady answers 200 once live delivery has begun, 503 before.
func (s *Server) serveReady(w http.ResponseWriter) {
	select {
	case <-s.fed:
		httpjson.Write(w, http.StatusOK, map[string]any{"status": "ok"})
	default:
		httpjson.WriteError(w, http.StatusServiceUnavailable, "the topic cannot be read yet")
	}
}
