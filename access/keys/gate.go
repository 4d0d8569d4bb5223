package keys

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/access/usage"
)

// OpenID is the key id of every request to a surface that is open, without keys.
const OpenID = "open"

// Gate guards a surface. It admits only holders of a key of its product, or everybody if it is
// open.
type Gate struct {
	store   Store
	product Product
	// mayOpen is true if the surface is open while there is no key.
	mayOpen bool
	now     func() time.Time
	usage   *usage.Meter // nil counts nothing

	mu     sync.Mutex
	leases map[*Lease]struct{}
}

// NewGate makes the gate of a surface that listens on addr (host:port). On a loopback address the
// gate is open while the product has no key, configured or issued, so that somebody can try
// Mintlake on one machine without one. The first key closes it for good: it stays closed when the
// last key is revoked. On any other address there must be a key, or a way to issue one. Otherwise
// NewGate returns an error of one line, so that nothing becomes public by oversight. The error
// names flag, the setting of the keys, e.g. "--rpc-keys".
func NewGate(store Store, product Product, addr, flag string) (*Gate, error) {
	g := &Gate{store: store, product: product, now: time.Now, leases: map[*Lease]struct{}{}}
	if metered, ok := store.(interface{ usageMeter() *usage.Meter }); ok {
		g.usage = metered.usageMeter()
	}
	if store.Has(product) {
		return g, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: must be host:port", addr)
	}
	issuer, issues := store.(interface{ mayIssue() bool })
	switch {
	case LoopbackHost(host):
		g.mayOpen = true
	case issues && issuer.mayIssue(): // closed: nobody is admitted until a key is issued
	default:
		return nil, fmt.Errorf("%s is no loopback address and there is no %s key: make one with `mintlake keys new %s NAME` and pass its hash with %s, or set MINTLAKE_ADMIN_TOKEN and use `mintlake keys create %s NAME`, or listen on 127.0.0.1",
			addr, product, product, flag, product)
	}
	return g, nil
}

// Open reports whether no key is needed now.
func (g *Gate) Open() bool { return g.mayOpen && !g.store.Has(g.product) }

// Request is what the gate checks of a client's request.
type Request struct {
	// Key is the key that the client presented; empty for none.
	Key string
	// Address is the client's: that of the connection, or the one that a trusted proxy names.
	Address netip.Addr
	// Origin is the header Origin; empty for none.
	Origin string
}

// Admit checks the key and its rules on origin and address. An open gate admits everything as
// OpenID, even a wrong key.
func (g *Gate) Admit(r Request) (Pass, *Refusal) {
	if g.Open() {
		return Pass{gate: g, request: r}, nil
	}
	if r.Key == "" {
		return Pass{}, missing
	}
	if len(r.Key) > maxPresented {
		return Pass{}, unknown
	}
	hash := HashOf(r.Key)
	r.Key = "" // from here on nobody needs it
	key, refused := g.check(hash, &r)
	if refused != nil {
		return Pass{}, refused
	}
	return Pass{gate: g, request: r, hash: hash, key: key}, nil
}

// check returns the key that has a secret with this hash, or why the request may not use it.
func (g *Gate) check(hash Hash, r *Request) (*Key, *Refusal) {
	found, known := g.store.Find(hash)
	if !known || found.Key.Product != g.product {
		return nil, unknown
	}
	if refused := found.refuse(r, g.now()); refused != nil {
		return nil, refused
	}
	return found.Key, nil
}

// The most frequent refusals are made once: clients that guess keys must cost a server little.
var (
	missing = refuse(http.StatusUnauthorized, RuleMissing, "an API key is required")
	unknown = refuse(http.StatusUnauthorized, RuleUnknown, "the API key is not valid")
)

// refuse checks the rules that hold for every request with the key. It returns nil if the request
// may pass.
func (f *Found) refuse(r *Request, now time.Time) *Refusal {
	k, ms := f.Key, now.UnixMilli()
	forbidden := func(rule, format string, args ...any) *Refusal {
		return refuse(http.StatusForbidden, rule, format, args...)
	}
	switch {
	case k.revoked:
		return forbidden(RuleRevoked, "the API key was revoked")
	case k.expires != 0 && ms >= k.expires:
		return forbidden(RuleExpired, "the API key expired at %s", k.Rules.ExpiresAt.UTC().Format(time.RFC3339))
	case !f.endsAt.IsZero() && !now.Before(f.endsAt):
		return forbidden(RuleRotated, "the API key was replaced by a newer one and stopped to work at %s", f.endsAt.UTC().Format(time.RFC3339))
	case k.unknown:
		return forbidden(RuleNewer, "the API key has a rule that this server does not know: it is of an older version than the one that set the rule")
	case !k.compiled.allowsOrigin(r.Origin):
		if r.Origin == "" {
			return forbidden(RuleOrigin, "the API key is for web pages of certain origins, and the request has no header Origin")
		}
		return forbidden(RuleOrigin, "the API key is not for pages of %.100q", r.Origin)
	case !k.compiled.allowsAddress(r.Address):
		return forbidden(RuleAddress, "the API key is not for the address %s", r.Address)
	}
	return nil
}

// AdmitHost reports whether a request with this Host header may pass. A closed gate admits every
// name, an open one only loopback names. So an open gate refuses a web page whose own name points
// at 127.0.0.1 (DNS rebinding), and a reverse proxy that passes its public name on.
func (g *Gate) AdmitHost(hostport string) bool {
	if !g.Open() {
		return true
	}
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return LoopbackHost(strings.Trim(host, "[]"))
}

// recheckEvery is how often the leases are checked for what no change announces: an expiry, or the
// end of a grace period.
const recheckEvery = time.Second

// Run ends the leases whose keys may not be used any more, until ctx ends. Every surface that opens
// leases must run its gate.
func (g *Gate) Run(ctx context.Context) {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		changed := g.store.Changed() // before the check, so that no change is missed
		g.recheck()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-tick.C:
		}
	}
}

// recheck ends the leases whose requests would not be admitted any more.
func (g *Gate) recheck() {
	g.mu.Lock()
	leases := make([]*Lease, 0, len(g.leases))
	for l := range g.leases {
		leases = append(leases, l)
	}
	g.mu.Unlock()
	for _, l := range leases {
		if _, refused := l.pass(); refused != nil {
			l.end(refused)
		}
	}
}

// LoopbackHost reports whether host is "localhost" or a loopback address. An empty host means all
// interfaces, so it is false. Other names are not resolved.
func LoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
