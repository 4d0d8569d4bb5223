package stream

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/proxies"
)

// bounds counts open connections: of all clients, and of each client's address. An address of IPv6
// is its network of 64 bits, which one client has whole.
type bounds struct {
	most, mostOfOne int
	// shared are proxies: their clients share an address, so only the bound of all is theirs.
	shared proxies.List

	mu   sync.Mutex
	open int
	of   map[netip.Prefix]*ofOne
	// sweepAt is how many addresses make the next sweep.
	sweepAt int
}

// ofOne is one address: how many connections it has, and what it may send. It is kept for some
// seconds when it has none, so that a budget does not come anew with a new connection.
type ofOne struct {
	open   int
	budget *budget
}

func newBounds(most, mostOfOne int, shared proxies.List) *bounds {
	return &bounds{most: most, mostOfOne: mostOfOne, shared: shared, of: map[netip.Prefix]*ofOne{}}
}

// clientOf is the address for which a connection counts; false for one that only counts as one of
// all.
func (b *bounds) clientOf(peer net.Addr) (netip.Prefix, bool) {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if b.shared.Trust(address) {
		return netip.Prefix{}, false
	}
	return proxies.Network(address), true
}

// enter counts a connection, or says why it may not be. Whoever may has a budget, nil for none, and
// calls leave once.
func (b *bounds) enter(peer net.Addr) (*budget, *refusal) {
	client, counted := b.clientOf(peer)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open >= b.most {
		return nil, &refusal{endedFull, http.StatusServiceUnavailable, fmt.Sprintf("the server has as many connections as it may: %d", b.most)}
	}
	if !counted {
		b.open++
		return nil, nil
	}
	one := b.of[client]
	if one == nil {
		b.sweep()
		one = &ofOne{budget: newBudget()}
		b.of[client] = one
	}
	if one.open >= b.mostOfOne {
		return nil, &refusal{endedAddress, http.StatusTooManyRequests, fmt.Sprintf("the server has as many connections of your address as it may: %d", b.mostOfOne)}
	}
	b.open++
	one.open++
	return one.budget, nil
}

// addressesKept is how many addresses are kept before those without connections are looked for.
const addressesKept = 1024

// sweep forgets addresses without connections whose budget is full again. It is called under mu,
// for each address that is new, and looks at all of them when there are twice as many as it left.
func (b *bounds) sweep() {
	if len(b.of) < max(addressesKept, b.sweepAt) {
		return
	}
	now := time.Now()
	for client, one := range b.of {
		if one.open == 0 && one.budget.full(now) {
			delete(b.of, client)
		}
	}
	b.sweepAt = 2 * len(b.of)
}

func (b *bounds) leave(peer net.Addr) {
	client, counted := b.clientOf(peer)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if counted {
		b.of[client].open--
	}
}

func (b *bounds) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// refusal is why a connection is turned away, before anybody looked at a key.
type refusal struct {
	reason string
	status int // of HTTP
	text   string
}

// retryAfter is in how many seconds a client that was turned away may try again.
const retryAfter = "5"

// write answers in HTTP/1.1 without a request. It never waits: a new connection has room for it.
func (r *refusal) write(conn net.Conn) {
	body := fmt.Sprintf(`{"statusCode":%d,"error":%q,"message":%q}`, r.status, http.StatusText(r.status), r.text)
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nRetry-After: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		r.status, http.StatusText(r.status), retryAfter, len(body), body)
}

// errSilent ends a connection on which nothing came.
var errSilent = &refusal{endedSilent, http.StatusRequestTimeout, "nothing came on this connection for too long"}

// Connections that are turned away are told why in what they speak. A few at a time may stay for
// this long; others are told in HTTP/1.1 at once.
const (
	refusalTime       = 2 * time.Second
	refusalsOpen      = 64
	refusalsOfOneOpen = 4
)

// refusedAddr is the address of a connection that is to be told why it is turned away: it is how
// both servers hand on what is known of a connection.
type refusedAddr struct {
	net.Addr
	why *refusal
}

// refusalOf is why a connection from this address is turned away; nil if it is not.
func refusalOf(address net.Addr) *refusal {
	if refused, ok := address.(refusedAddr); ok {
		return refused.why
	}
	return nil
}

type refusalKey struct{}

// withRefusal hands on to requests why their connection is turned away.
func withRefusal(ctx context.Context, conn net.Conn) context.Context {
	if why := refusalOf(conn.RemoteAddr()); why != nil {
		return context.WithValue(ctx, refusalKey{}, why)
	}
	return ctx
}

// refuseConnection answers a request whose connection is turned away; false if it is not.
func refuseConnection(w http.ResponseWriter, r *http.Request) bool {
	why, ok := r.Context().Value(refusalKey{}).(*refusal)
	if !ok {
		return false
	}
	w.Header().Set("Retry-After", retryAfter)
	w.Header().Set("Connection", "close")
	writeJSON(w, why.status, httpError{why.status, http.StatusText(why.status), why.text})
	return true
}
