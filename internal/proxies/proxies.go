// Package proxies says whose request it is when reverse proxies stand in front of a server.
//
// In: the operator's list of proxies, the peer's address, and the header X-Forwarded-For. Out: the
// client's address. Guarantees: the header of a peer that is no listed proxy is not read; nothing
// is resolved.
package proxies

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Header is what proxies append their clients' addresses to.
const Header = "X-Forwarded-For"

// List is the addresses whose X-Forwarded-For is believed. The zero value believes nobody.
type List []netip.Prefix

// Parse reads addresses and CIDR prefixes.
func Parse(texts []string) (List, error) {
	list := make(List, 0, len(texts))
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, addressErr := netip.ParseAddr(text)
			if addressErr != nil {
				return nil, fmt.Errorf("%q is neither an IP address nor a CIDR prefix", text)
			}
			prefix = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}

// Trust says whether address is one of a trusted proxy.
func (l List) Trust(address netip.Addr) bool { return l.contain(address.Unmap().WithZone("")) }

func (l List) contain(address netip.Addr) bool {
	for _, prefix := range l {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Network is what one client has: its address, or of IPv6 its /64, since one subscriber gets at
// least that many addresses.
func Network(client netip.Addr) netip.Prefix {
	bits := client.BitLen()
	if client.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(client, bits).Masked()
}

// Client is the peer, or what the trusted proxies in front of it say. forwarded is all
// X-Forwarded-For headers joined by commas; it is read from the right, since only what a trusted
// proxy appended is true, and up to the first entry that is no address.
func (l List) Client(peer netip.Addr, forwarded string) netip.Addr {
	client := peer.Unmap().WithZone("")
	for forwarded != "" && l.contain(client) {
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
	return client
}

// ClientOf is Client for a peer as net/http and net tell it, host:port. A peer that is none gives
// the zero address.
func (l List) ClientOf(peer string, forwarded []string) netip.Addr {
	host, _, err := net.SplitHostPort(peer)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	if len(l) == 0 || len(forwarded) == 0 {
		return address.Unmap().WithZone("")
	}
	return l.Client(address, strings.Join(forwarded, ","))
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
