package jsonrpc

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/gateway/message"
)

// newGate returns the gate of both addresses. If one of them is no loopback address, the gate
// refuses requests without a key at both addresses, also while there is no key at all.
func newGate(cfg Config, deps Deps) (*keys.Gate, error) {
	gate, err := keys.NewGate(deps.Keys, keys.RPC, cfg.Addr, "--rpc-keys")
	if err != nil || cfg.WebSocketAddr == "" || cfg.WebSocketAddr == WebSocketsOff {
		return gate, err
	}
	second, err := keys.NewGate(deps.Keys, keys.RPC, cfg.WebSocketAddr, "--rpc-keys")
	if err != nil {
		return nil, fmt.Errorf("WebSocket %w", err)
	}
	if host, _, err := net.SplitHostPort(cfg.WebSocketAddr); err == nil && !keys.LoopbackHost(host) {
		return second, nil
	}
	return gate, nil
}

// listenWebSockets listens on the second address, for WebSockets. It returns nil if there is none:
// see Config.WebSocketAddr.
func (g *Gateway) listenWebSockets(ctx context.Context, first net.Addr) (net.Listener, error) {
	addr, configured := g.cfg.WebSocketAddr, true
	if addr == "" {
		addr, configured = portAfter(g.cfg.Addr), false
	}
	if g.sockets == nil || addr == "" || addr == WebSocketsOff {
		return nil, nil
	}
	listener, err := listen.TCP(ctx, addr, "--rpc-ws-addr")
	switch {
	case err == nil:
		g.socketsAt = listener.Addr().String()
	case configured:
		return nil, err
	default:
		g.log.Warn("clients that look for WebSockets at the port after the RPC address find none there; name it in their wsEndpoint", "endpoint", "ws://"+first.String(), "err", err)
		listener = nil
	}
	return listener, nil
}

// portAfter returns the address with the next port, where web3.js looks for WebSockets. It is empty
// for port 0, which stands for any free port, for the last port, and for an address without a
// numeric port.
func portAfter(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || n == 65535 {
		return ""
	}
	return net.JoinHostPort(host, strconv.FormatUint(n+1, 10))
}

// WebSocketAddr returns the second address, where only WebSockets are served. It is empty if there
// is none, and until Ready is closed.
func (g *Gateway) WebSocketAddr() string {
	select {
	case <-g.Ready():
		return g.socketsAt
	default:
		return ""
	}
}

// isWebSocket returns whether a request is a WebSocket handshake.
func isWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// serveWebSocketsOnly is the handler of the second address. It differs from the handler of the
// first address only in that / serves only WebSockets: it tells other requests the port for calls.
func (g *Gateway) serveWebSocketsOnly(w http.ResponseWriter, r *http.Request) {
	if isWebSocket(r) || r.URL.Path != "/" || !g.gate.AdmitHost(r.Host) {
		g.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Upgrade", "websocket")
	g.refuse(w, refusing(http.StatusUpgradeRequired, "path", message.CodeInvalidRequest, "only WebSockets are served here: POST JSON-RPC calls to port "+g.port(), nil))
}

func (g *Gateway) port() string {
	_, port, err := net.SplitHostPort(g.Addr())
	if err != nil {
		return "?"
	}
	return port
}

// serveWebSocket checks origin and key and passes the request to Deps.Subscriptions.
func (g *Gateway) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	if g.sockets == nil {
		g.refuse(w, refusing(http.StatusNotFound, "path", message.CodeNoMethod, "no WebSockets are served here", nil))
		return
	}
	// Browsers do not apply CORS to WebSockets, so the server must check the origin. Programs send
	// no Origin.
	if !g.origins.AllowsRequest(r) {
		g.refuse(w, refusing(http.StatusForbidden, "origin", codeForbidden,
			fmt.Sprintf("pages of %.100q may not open WebSockets here: the operator allows origins with --rpc-allowed-origins", r.Header.Get("Origin")), nil))
		return
	}
	pass, refused := g.admitKey(r)
	if refused != nil {
		g.refuse(w, refused)
		return
	}
	lease, limited := g.openLease(&pass)
	if limited != nil {
		g.refuse(w, refusedBy(limited, nil))
		return
	}
	defer lease.Close()
	g.metrics.requests.WithLabelValues("websocket").Inc()
	g.sockets.Serve(w, r, pass.Client(), lease)
}

// methodWebSocket is the name under which usage counts WebSockets and their notifications.
const methodWebSocket = "websocket"

// openLease takes a request and a stream from the limits of the key. It counts the WebSocket as
// usage of the key: as a request, or as refused. The caller closes the lease.
func (g *Gateway) openLease(pass *keys.Pass) (*keys.Lease, *keys.Refusal) {
	_, limited := pass.Take(1)
	var lease *keys.Lease
	if limited == nil {
		lease, limited = pass.Open(methodWebSocket)
	}
	if limited != nil {
		pass.Count(methodWebSocket, usage.Counts{Refused: 1})
		return nil, limited
	}
	pass.Count(methodWebSocket, usage.Counts{Requests: 1, Units: 1})
	return lease, nil
}
