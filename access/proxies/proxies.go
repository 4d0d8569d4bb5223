// Package proxies finds the client's address behind reverse proxies.
//
// In: the operator's list of proxies, the peer's address, and the header X-Forwarded-For. Out: the
// client's address. Guarantees: the header is read only if the peer is a listed proxy; nothing is
// resolved.
package proxies

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Header is the header to which a proxy appends the address of its client.
const Header = "X-Forwarded-For"

// List is the addresses of trusted proxies: their X-Forwarded-For is believed. The zero value
// trusts none.
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

// Trust reports whether address is one of a trusted proxy.
func (l List) Trust(address netip.Addr) bool { return l.contain(address.Unmap().WithZone("")) }

// contain is Trust for an address that is unmapped and has no zone.
func (l List) contain(address netip.Addr) bool {
	for _, prefix := range l {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// NetworkOf returns the network for which a peer's connection counts. It returns false if the
// connection counts for none: the peer is a trusted proxy, which has many clients, or has no TCP
// address.
func (l List) NetworkOf(peer net.Addr) (netip.Prefix, bool) {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if l.Trust(address) {
		return netip.Prefix{}, false
	}
	return Network(address), true
}

// Network returns the addresses that count as one client: the IPv4 address, or the /64 of an IPv6
// address, since one subscriber gets at least that many.
func Network(client netip.Addr) netip.Prefix {
	bits := client.BitLen()
	if client.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(client, bits).Masked()
}

// Client returns the peer, or the client that the trusted proxies in front of it name. forwarded is
// all X-Forwarded-For headers joined by commas. It is read from the right, since only the entries
// that trusted proxies appended can be believed, and not beyond an entry that is no address.
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

// ClientOf is like Client for a peer in the form host:port. It returns the zero address if peer is
// malformed.
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

// ClientOfConn is ClientOf for the peer's address as its connection has it. It returns the zero
// address if that is no TCP address.
func (l List) ClientOfConn(peer net.Addr, forwarded []string) netip.Addr {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return l.Client(tcp.AddrPort().Addr(), strings.Join(forwarded, ","))
}

// parseHop reads an address. Some proxies write it with a port or in brackets.
func parseHop(text string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return address.Unmap().WithZone(""), true
	}
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}
