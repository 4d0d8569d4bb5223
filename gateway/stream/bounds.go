package stream

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/internal/httpjson"
)

// bounds limits the open connections: of all clients together, and of each client address. An IPv6
// address counts as its /64 network, because one client usually has a whole one.
type bounds struct {
	most, mostOfOne int
	// shared are trusted proxies. Their clients share the proxy's address, so only the limit for
	// all connections applies to them.
	shared proxies.List

	mu        sync.Mutex
	open      int
	byAddress map[netip.Prefix]*addressState
	// sweepAt is the number of addresses at which the next sweep runs.
	sweepAt int
}

// addressState is the state of one address. It outlives the address's last connection until the
// budget is full again, so that a client does not get a new budget by connecting anew.
type addressState struct {
	open   int
	budget *budget
}

func newBounds(most, mostOfOne int, shared proxies.List) *bounds {
	return &bounds{most: most, mostOfOne: mostOfOne, shared: shared, byAddress: map[netip.Prefix]*addressState{}}
}

// enter counts a connection and returns the budget of its address; nil for a connection that counts
// for the limit of all connections only. If the connection may not be opened, enter counts nothing
// and returns why. The caller calls leave once for each connection that was counted.
func (b *bounds) enter(peer net.Addr) (*budget, *refusal) {
	client, counted := b.shared.NetworkOf(peer)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open >= b.most {
		return nil, &refusal{endedFull, http.StatusServiceUnavailable, fmt.Sprintf("the server has as many connections as it may: %d", b.most)}
	}
	if !counted {
		b.open++
		return nil, nil
	}
	one := b.byAddress[client]
	if one == nil {
		b.sweep()
		one = &addressState{budget: newBudget()}
		b.byAddress[client] = one
	}
	if one.open >= b.mostOfOne {
		return nil, &refusal{endedAddress, http.StatusTooManyRequests, fmt.Sprintf("the server has as many connections of your address as it may: %d", b.mostOfOne)}
	}
	b.open++
	one.open++
	return one.budget, nil
}

// addressesKept is the number of addresses below which sweep does nothing.
const addressesKept = 1024

// sweep forgets the addresses that have no connections and a full budget. The caller holds mu. It
// is called for each new address, but runs only when there are twice as many addresses as the last
// run left: so the cost per new address stays constant.
func (b *bounds) sweep() {
	if len(b.byAddress) < max(addressesKept, b.sweepAt) {
		return
	}
	now := time.Now()
	for client, one := range b.byAddress {
		if one.open == 0 && one.budget.full(now) {
			delete(b.byAddress, client)
		}
	}
	b.sweepAt = 2 * len(b.byAddress)
}

func (b *bounds) leave(peer net.Addr) {
	client, counted := b.shared.NetworkOf(peer)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if counted {
		b.byAddress[client].open--
	}
}

func (b *bounds) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// refusal is why a connection is refused, before any key is checked.
type refusal struct {
	reason string
	status int // HTTP status
	text   string
}

// write sends the refusal as an HTTP/1.1 response: see listen.Refuse.
func (r *refusal) write(conn net.Conn) {
	listen.Refuse(conn, r.status, fmt.Appendf(nil, `{"statusCode":%d,"error":%q,"message":%q}`, r.status, http.StatusText(r.status), r.text))
}

// errSilent refuses a connection on which the client sent nothing in time.
var errSilent = &refusal{endedSilent, http.StatusRequestTimeout, "nothing came on this connection for too long"}

// A refused connection gets the reason in the protocol that it speaks. For that the server waits
// refusalTime for its first bytes, with refusalsOpen such connections at most, refusalsOfOneOpen of
// one address. Any other refused connection gets the reason in HTTP/1.1 at once.
const (
	refusalTime       = 2 * time.Second
	refusalsOpen      = 64
	refusalsOfOneOpen = 32
)

// refusedAddr is the remote address of a refused connection, together with the reason. Both
// servers, gRPC's and net/http's, pass a connection's remote address on to its requests.
type refusedAddr struct {
	net.Addr
	why *refusal
}

// refusalOf returns why the connection from this address is refused; nil if it is not.
func refusalOf(address net.Addr) *refusal {
	if refused, ok := address.(refusedAddr); ok {
		return refused.why
	}
	return nil
}

type refusalKey struct{}

// withRefusal puts the reason of a refused connection into the context of its requests. It is an
// http.Server's ConnContext.
func withRefusal(ctx context.Context, conn net.Conn) context.Context {
	if why := refusalOf(conn.RemoteAddr()); why != nil {
		return context.WithValue(ctx, refusalKey{}, why)
	}
	return ctx
}

// refuseConnection answers a request on a refused connection. If the connection is not refused, it
// returns false and writes nothing. A probe is answered on a refused connection, too, once.
func refuseConnection(w http.ResponseWriter, r *http.Request) bool {
	why, ok := r.Context().Value(refusalKey{}).(*refusal)
	if !ok {
		return false
	}
	w.Header().Set("Connection", "close")
	if listen.IsProbe(r) {
		return false
	}
	w.Header().Set("Retry-After", listen.RetryAfter)
	httpjson.WriteError(w, why.status, why.text)
	return true
}
