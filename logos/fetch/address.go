package fetch

import (
	"net/netip"
	"strings"
)

// forbidden are the prefixes that are not the public internet, from IANA's special-purpose address
// registries (https://www.iana.org/assignments/iana-ipv4-special-registry,
// …/iana-ipv6-special-registry), and cloud metadata services on public addresses. They include the
// addresses of instance metadata (169.254.169.254, fd00:ec2::254, 100.100.100.200, 192.0.0.192).
var forbidden = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's wire server
	// IPv6: everything outside of 2000::/3 is refused below, which covers ::1, ::, mapped, NAT64,
	// unique local, link-local, site-local and multicast addresses. Listed here are the forbidden
	// prefixes within 2000::/3: IETF assignments with Teredo and ORCHID, documentation, 6to4,
	// AS112.
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

var globalUnicast6 = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// Public reports whether an address is on the public internet. It is false for private, loopback,
// link-local, shared, multicast and reserved addresses, and for a cloud's metadata service. It is
// also false for every IPv6 form that carries an IPv4 address (mapped, compatible, NAT64, 6to4,
// Teredo): the network decides what those reach.
func Public(address netip.Addr) bool {
	if !address.IsValid() || address.Zone() != "" || address.Is4In6() {
		return false
	}
	if address.Is6() && !globalUnicast6.Contains(address) {
		return false
	}
	for _, prefix := range forbidden {
		if prefix.Contains(address) {
			return false
		}
	}
	return true
}

// numericHost reports whether a host is a number in a notation that inet_aton accepts, such as
// 2130706433, 0x7f.1, 0177.0.0.1 or 127.1: attackers have used such hosts to get past address
// checks. A host whose last label is a number cannot be a domain name (WHATWG URL, "ends in a
// number"). numericHost returns false for an address in the usual notation, such as 127.0.0.1.
func numericHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if last == "" {
		return true
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
