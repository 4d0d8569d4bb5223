package limits

import (
	"net/netip"
	"strings"
)

// Networks bounds what the clients of one IPv6 network take together. A client is a /64, but a home
// often has a /56 and an organisation a /48: 65,536 clients. Each factor says how many times one
// client's limit the whole network may take; 0 is no bound.
type Networks struct {
	Factor56, Factor48 int
}

// maxScopes is a client and its networks.
const maxScopes = 3

// Scope is who a limit holds for: a client, or a network around it.
type Scope struct {
	// Key names it, e.g. 203.0.113.9 or 2001:db8::/56.
	Key string
	// Factor is how many times the limit of one client it has.
	Factor int
	// Bits is the length of the network's prefix; 0 for the client itself.
	Bits int
	// level tells the scopes apart: 0 the client, 1 its /56, 2 its /48.
	level int
}

// Scopes returns the client, as Proxies.Client names it, and the networks around it, the widest
// last. count is how many there are.
func (n Networks) Scopes(client string) (scopes [maxScopes]Scope, count int) {
	scopes[0] = Scope{Key: client, Factor: 1}
	count = 1
	if n == (Networks{}) || !strings.HasSuffix(client, "/64") {
		return scopes, count
	}
	prefix, err := netip.ParsePrefix(client)
	if err != nil {
		return scopes, count
	}
	for i, wider := range [...]struct{ bits, factor int }{{56, n.Factor56}, {48, n.Factor48}} {
		if wider.factor > 0 {
			key := netip.PrefixFrom(prefix.Addr(), wider.bits).Masked().String()
			scopes[count] = Scope{Key: key, Factor: wider.factor, Bits: wider.bits, level: i + 1}
			count++
		}
	}
	return scopes, count
}

// scaled are the rules of each level.
func (n Networks) scaled(rules []Rule) (levels [maxScopes][]Rule) {
	for level, factor := range [...]int{1, n.Factor56, n.Factor48} {
		for _, rule := range rules {
			levels[level] = append(levels[level], Rule{Limit: rule.Limit * max(factor, 1), Window: rule.Window})
		}
	}
	return levels
}
