package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Resolver looks up the addresses of a host. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// maxAddresses bounds how many of a host's addresses are tried.
const maxAddresses = 4

// dialer resolves a name once, checks the addresses, and connects to one that it has checked, so
// DNS rebinding gains nothing. The transport reaches the network through it only.
type dialer struct {
	resolver  Resolver
	allowed   map[string]bool // host:port pairs that may be on private addresses
	isGateway func(host string) bool
	timeout   time.Duration
	// addresses are the addresses at which hosts (host:port) were last asked for a connection.
	addresses *lru.Cache[string, netip.Addr]
	// connect opens a connection to a checked address. private is true if the address need not be
	// public. Tests replace connect, to put a local server behind public addresses.
	connect func(ctx context.Context, address netip.Addr, port string, private bool) (net.Conn, error)
}

func newDialer(resolver Resolver, allowed map[string]bool, isGateway func(host string) bool, timeout time.Duration) *dialer {
	// It fails only for a size below 1.
	addresses, _ := lru.New[string, netip.Addr](rememberedAddresses)
	d := &dialer{resolver: resolver, allowed: allowed, isGateway: isGateway, timeout: timeout, addresses: addresses}
	d.connect = d.dialAddress
	return d
}

// DialContext connects to the first address of the host that may be reached and answers. An address
// that is not public is skipped, unless AllowPrivate lists the host and port.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, failure(ClassRefusedAddress, "network is not tcp")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, failure(ClassBadURL, "no host and port")
	}
	private := d.allowed[strings.ToLower(address)]
	candidates, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var last error
	tried := 0
	for _, candidate := range candidates {
		if !private && !Public(candidate) {
			continue
		}
		if tried++; tried > maxAddresses {
			break
		}
		if !d.isGateway(strings.ToLower(address)) {
			d.addresses.Add(strings.ToLower(address), candidate)
			if err := admit(ctx, addressGroup(candidate)); err != nil {
				return nil, err
			}
		}
		conn, err := d.connect(ctx, candidate, port, private)
		if err == nil {
			return conn, nil
		}
		if last = err; ctx.Err() != nil {
			break
		}
	}
	if last == nil {
		return nil, failure(ClassRefusedAddress, "host %s is not on the public internet", host)
	}
	return nil, last
}

// lookup returns the addresses of a host, IPv4 first. A host that is an address itself is returned
// as it is.
func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if literal, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{literal}, nil
	}
	if numericHost(host) {
		return nil, failure(ClassBadURL, "host is a number in another notation than a dotted quad")
	}
	bounded, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	found, err := d.resolver.LookupNetIP(bounded, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	// A copy, since a resolver may keep its answer. Resolvers give plain IPv4 addresses in the
	// mapped form (::ffff:1.2.3.4), which Public refuses. IPv4 goes first: many machines have no
	// working IPv6, and an address that does not answer costs the whole connection timeout.
	addresses := make([]netip.Addr, 0, len(found))
	for _, address := range found {
		addresses = append(addresses, address.Unmap())
	}
	slices.SortStableFunc(addresses, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return addresses, nil
}

// dialAddress connects to an address. private is true if the address need not be public.
func (d *dialer) dialAddress(ctx context.Context, address netip.Addr, port string, private bool) (net.Conn, error) {
	plain := net.Dialer{
		Timeout: d.timeout,
		// The address that the socket really uses is checked again, in case DialContext has a bug.
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || (!private && !Public(at.Addr())) {
				return failure(ClassRefusedAddress, "address is not on the public internet")
			}
			return nil
		},
	}
	return plain.DialContext(ctx, "tcp", net.JoinHostPort(address.String(), port))
}

// DialTLSContext makes the TLS handshake itself, so that each failed handshake gets ClassTLS,
// whatever the type of its error.
func (d *dialer) DialTLSContext(ctx context.Context, network, address string) (net.Conn, error) {
	plain, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, failure(ClassBadURL, "no host and port")
	}
	bounded, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	secured := tls.Client(plain, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	if err := secured.HandshakeContext(bounded); err != nil {
		_ = plain.Close()
		if bounded.Err() != nil {
			return nil, bounded.Err()
		}
		return nil, &Error{Class: ClassTLS, Err: err}
	}
	return secured, nil
}

func newTransport(d *dialer, cfg Config) *http.Transport {
	return &http.Transport{
		// The environment's proxy is never used: it would resolve names itself, without our check.
		Proxy:                  nil,
		DialContext:            d.DialContext,
		DialTLSContext:         d.DialTLSContext,
		ResponseHeaderTimeout:  cfg.TryTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           max(64, 8*cfg.PerHost), // one host may hold an eighth of them
		// With fewer idle connections, most requests to a busy host would need a new connection and
		// handshake.
		MaxIdleConnsPerHost: cfg.PerHost,
		MaxConnsPerHost:     0, // hostLimit bounds requests
		IdleConnTimeout:     15 * time.Second,
		DisableCompression:  false,
		// HTTP/1.1 only: it gives a hostile server fewer ways to attack, and requests do not share
		// a connection.
		ForceAttemptHTTP2: false,
	}
}
