package limits

import (
	"net/netip"
	"strings"
)

// Networks bounds what the clients of one IPv6 network take together. A client is a /64, but a home
// often has a /56, and an organisation a /48, which is 65,536 clients. Each factor is the limit of
// such a network as a multiple of one client's; 0 means no limit.
type Networks struct {
	Factor56, Factor48 int
}

// maxScopes is how many scopes a client has at most: itself, its /56 and its /48.
const maxScopes = 3

// Scope is what a limit applies to: a client, or a network around it.
type Scope struct {
	// Key names it, e.g. 203.0.113.9 or 2001:db8::/56.
	Key string
	// Factor is its limit as a multiple of one client's.
	Factor int
	// Bits is the prefix length of the network; 0 for the client itself.
	Bits int
	// level is the kind of scope: 0 the client, 1 its /56, 2 its /48.
	level int
}

// Scopes returns the client, named as by Proxies.Client, and the networks around it, the widest
// last. count is the number of scopes.
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

// scaled returns the rules of each level. A level whose factor is 0 is not in use: it gets the
// rules of a client.
func (n Networks) scaled(rules []Rule) (levels [maxScopes][]Rule) {
	for level, factor := range [...]int{1, n.Factor56, n.Factor48} {
		for _, rule := range rules {
			levels[level] = append(levels[level], Rule{Limit: rule.Limit * max(factor, 1), Window: rule.Window})
		}
	}
	return levels
}
