package limits

import (
	"fmt"
	"net/netip"
	"strings"
)

// Proxies are the addresses whose X-Forwarded-For is believed.
type Proxies []netip.Prefix

// ParseProxies reads addresses and CIDR prefixes.
func ParseProxies(texts []string) (Proxies, error) {
	proxies := make(Proxies, 0, len(texts))
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, addressErr := netip.ParseAddr(text)
			if addressErr != nil {
				return nil, fmt.Errorf("%q is neither an IP address nor a CIDR prefix", text)
			}
			prefix = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

// Trust says whether address is one of a trusted proxy.
func (p Proxies) Trust(address netip.Addr) bool { return p.contain(address.Unmap().WithZone("")) }

func (p Proxies) contain(address netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Client names who is limited: the peer, or what the trusted proxies in front of it say. forwarded is all X-Forwarded-For headers joined by
// commas; it is read from the right, since only what a trusted proxy appended is true, and up to the first entry that is no address.
// An IPv6 client is its /64: one subscriber gets at least that many addresses.
func (p Proxies) Client(peer netip.Addr, forwarded string) string {
	client := peer.Unmap().WithZone("")
	for forwarded != "" && p.contain(client) {
		last := forwarded
		if i := strings.LastIndexByte(forwarded, ','); i >= 0 {
			forwarded, last = forwarded[:i], forwarded[i+1:]
		} else {
			forwarded = ""
		}
		hop, ok := parseHop(strings.TrimSpace(last))
		if !ok {
			break
		}
		client = hop
	}
	if client.Is6() {
		return netip.PrefixFrom(client, 64).Masked().String()
	}
	return client.String()
}

// parseHop reads an address, also with a port or in brackets, as some proxies write it.
func parseHop(text string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return address.Unmap().WithZone(""), true
	}
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}
