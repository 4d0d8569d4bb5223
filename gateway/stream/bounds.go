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

// bounds limits the open connections, and what each client address sends on its own.
type bounds struct {
	*listen.Connections

	// shared are trusted proxies. Their clients share the proxy's address, so it has no budget.
	shared proxies.List

	mu sync.Mutex
	// budgets are by the client's network. A budget outlives the last connection of its network
	// until it is full again, so that a client does not get a new budget by connecting anew.
	budgets map[netip.Prefix]*budget
	// sweepAt is the number of budgets at which the next sweep runs.
	sweepAt int
}

func newBounds(most, mostOfOne int, shared proxies.List) *bounds {
	return &bounds{Connections: listen.NewConnections(most, mostOfOne, shared), shared: shared, budgets: map[netip.Prefix]*budget{}}
}

// enter counts a connection and returns the budget of its network; nil for the connection of a
// trusted proxy. If the connection may not be opened, enter counts nothing and returns why. The
// caller calls Leave once for each connection that was counted.
func (b *bounds) enter(peer net.Addr) (*budget, *refusal) {
	switch status, text := b.Enter(peer); status {
	case 0:
	case http.StatusTooManyRequests:
		return nil, &refusal{endedAddress, status, text}
	default:
		return nil, &refusal{endedFull, status, text}
	}
	client, counted := b.shared.NetworkOf(peer)
	if !counted {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.budgets[client]
	if own == nil {
		b.sweep()
		own = newBudget()
		b.budgets[client] = own
	}
	return own, nil
}

// budgetsKept is the number of budgets below which sweep does nothing.
const budgetsKept = 1024

// sweep forgets full budgets of networks that have no connections. The caller holds mu. It is
// called for each new network, but does its work only when there are twice as many budgets as it
// left the last time: so the cost per new network stays constant.
func (b *bounds) sweep() {
	if len(b.budgets) < max(budgetsKept, b.sweepAt) {
		return
	}
	now := time.Now()
	for client, own := range b.budgets {
		if own.full(now) && b.OpenOf(client) == 0 {
			delete(b.budgets, client)
		}
	}
	b.sweepAt = 2 * len(b.budgets)
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
// refusalTime for its first bytes. It does so for at most refusalsOpen connections at one time,
// refusalsOfOneOpen of one address. Any other refused connection gets the reason in HTTP/1.1 at
// once.
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

// refuseConnection answers a request on a refused connection and returns true. It returns false,
// and the caller answers the request, if the connection is not refused or the request is a probe. A
// refused connection is closed after the answer.
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
