package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Host names cost nothing: one wildcard DNS record gives any number of them. So a caller that
// shares its workers among hosts also shares them among two kinds of wider groups: registrable
// domains and addresses. A host's address is known only when a connection is made, and may be
// another one each time.

// networkBits6 is the prefix length of the IPv6 network that counts as one address: one customer
// gets a /48.
const networkBits6 = 48

// rememberedAddresses bounds the hosts whose last address is remembered: the latest ones (LRU).
const rememberedAddresses = 50_000

// Admission decides whether a fetch may ask a server of a group, such as "domain example.com" or
// "address 192.0.2.1". It may be called by several goroutines, and several times for one group.
type Admission func(group string) bool

type admissionKey struct{}

// WithAdmission makes fetches with the context call admission for each group of a host before they
// ask that host: at the first request, at redirects and at new connections. A fetch that is not
// admitted fails with ClassHostBusy.
func WithAdmission(ctx context.Context, admission Admission) context.Context {
	return context.WithValue(ctx, admissionKey{}, admission)
}

// busyPause is how long a host that was not admitted should not be asked.
const busyPause = time.Second

// admit asks the Admission of the context about a group. It returns nil if the context has none.
func admit(ctx context.Context, group string) error {
	if admission, ok := ctx.Value(admissionKey{}).(Admission); ok && !admission(group) {
		return &Error{Class: ClassHostBusy, RetryAfter: busyPause, Err: errors.New("its domain or address has its share of the fetches")}
	}
	return nil
}

// Groups returns the groups that the host of a URI belongs to: its registrable domain, and its
// address if it was connected to before. It is empty where Host is, and for the configured
// gateways.
func (f *Fetcher) Groups(uri string) []string {
	found, err := f.resolve(uri)
	if err != nil || found.data != nil {
		return nil
	}
	return f.groupsOf(hostPort(found.urls[0]))
}

// groupsOf is Groups for a host:port.
func (f *Fetcher) groupsOf(host string) []string {
	if f.isGateway(host) {
		return nil
	}
	name, _, _ := net.SplitHostPort(host)
	if literal, err := netip.ParseAddr(name); err == nil {
		return []string{addressGroup(literal)}
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	if err != nil { // the name is a public suffix, or has one label
		domain = name
	}
	groups := []string{"domain " + domain}
	if address, ok := f.dialer.addresses.Get(host); ok {
		groups = append(groups, addressGroup(address))
	}
	return groups
}

func addressGroup(address netip.Addr) string {
	if prefix, err := address.Unmap().Prefix(networkBits6); err == nil && prefix.Addr().Is6() {
		return "address " + prefix.String()
	}
	return "address " + address.Unmap().String()
}

// isGateway reports whether a host:port is that of a configured gateway.
func (f *Fetcher) isGateway(host string) bool {
	for _, gateways := range [][]*url.URL{f.ipfs, f.arweave} {
		for _, gateway := range gateways {
			if hostPort(gateway) == host {
				return true
			}
		}
	}
	return false
}
