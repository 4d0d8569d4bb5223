package keys

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// OpenID is the id of every request to a surface that runs without keys.
const OpenID = "open"

// Gate is a surface's door: closed to all but holders of a key of its product, or open.
type Gate struct {
	verifier *Verifier
	product  Product
	open     bool
}

// NewGate decides at start whether a surface that listens on addr (host:port) is open. It is when the store has no key of the product
// and addr is loopback: somebody who tries Mintlake on one machine needs no ceremony. Without a key on any other address it
// refuses, in one line: nothing may be public by oversight. flag is the setting that the error names, e.g. "--rpc-keys".
//
// The decision holds as long as the gate: a surface that began with keys does not open when the last of them is revoked.
func NewGate(store Store, product Product, addr, flag string) (*Gate, error) {
	if len(store.Keys(product)) > 0 {
		return &Gate{verifier: NewVerifier(store), product: product}, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: must be host:port", addr)
	}
	if !LoopbackHost(host) {
		return nil, fmt.Errorf("%s is no loopback address and no %s key is configured: make one with `mintlake keys new %s` and pass its hash with %s, or listen on 127.0.0.1",
			addr, product, product, flag)
	}
	return &Gate{verifier: NewVerifier(store), product: product, open: true}, nil
}

// Open says that no key is needed.
func (g *Gate) Open() bool { return g.open }

// Admit returns the id of the presented key. An open gate admits everything, a wrong key included, as OpenID.
func (g *Gate) Admit(presented string) (id string, ok bool) {
	if g.open {
		return OpenID, true
	}
	return g.verifier.Verify(g.product, presented)
}

// AdmitHost says whether a request with this Host header may pass. An open gate lets only loopback names in: a web page whose
// own name was pointed at 127.0.0.1, and a reverse proxy that publishes the surface, both bring another name with them.
func (g *Gate) AdmitHost(hostport string) bool {
	if !g.open {
		return true
	}
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return LoopbackHost(strings.Trim(host, "[]"))
}

// LoopbackHost says whether host is "localhost" or an address of this machine alone. An empty host means all interfaces and is
// none; other names are not resolved.
func LoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
