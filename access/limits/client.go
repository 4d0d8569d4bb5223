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

// Client returns the name under which a client is limited: its IPv4 address, or the /64 network of
// its IPv6 address (see proxies.Network). forwarded is all X-Forwarded-For headers joined by
// commas.
func (p Proxies) Client(peer netip.Addr, forwarded string) string {
	client := p.List.Client(peer, forwarded)
	if client.Is6() {
		return proxies.Network(client).String()
	}
	return client.String()
}
