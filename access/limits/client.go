package limits

import (
	"net/netip"

	"github.com/mintlake/mintlake/access/proxies"
)

// Proxies are the addresses whose X-Forwarded-For is believed.
type Proxies struct{ proxies.List }

// ParseProxies reads addresses and CIDR prefixes.
func ParseProxies(texts []string) (Proxies, error) {
	list, err := proxies.Parse(texts)
	return Proxies{list}, err
}

// Client returns the name of the client that is limited: its address or, for IPv6, its network (see
// proxies.Network).
func (p Proxies) Client(peer netip.Addr, forwarded string) string {
	client := p.List.Client(peer, forwarded)
	if client.Is6() {
		return proxies.Network(client).String()
	}
	return client.String()
}
