package keys

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Rules say what a key may do. The zero value restricts nothing.
type Rules struct {
	// ExpiresAt is when the key ends; zero: never.
	ExpiresAt time.Time
	// Origins are the web pages that may use the key: an origin (https://app.example,
	// http://localhost:3000), or all subdomains of a domain at any depth and on any port
	// (*.app.example, https://*.app.example), but not the domain itself. If there are any, a
	// request without the header Origin is refused. This only keeps foreign web pages from using a
	// key: any other program can send any Origin.
	Origins []string
	// Addresses are the IP addresses and CIDR prefixes that may use the key.
	Addresses []string
	// Methods are what may be called: JSON-RPC methods, methods of the gRPC service, quote and
	// swap. A trailing * matches any rest.
	Methods []string
	// RequestsPerSecond limits the calls on each node; a burst of one second's calls passes. 0: no
	// limit.
	RequestsPerSecond int
	// Streams limits the streams and WebSockets that are open on each node at the same time. 0:
	// only the server's limit.
	Streams int
	// StreamAddresses limits the addresses in the filters of one stream. 0: only the server's
	// limit.
	StreamAddresses int
}

// Bounds of rules. They are small because every request is checked by the rules of its key, and
// every node holds the rules of all keys.
const (
	maxOrigins    = 100
	maxAddresses  = 256
	maxMethods    = 200
	maxOrigin     = 300       // bytes; a host name has at most 253
	maxMethod     = 64        // bytes
	maxRateNumber = 1_000_000 // of RequestsPerSecond, Streams and StreamAddresses
)

// Check returns an error that joins all problems, each with the rule's name.
func (r Rules) Check() error {
	_, err := compile(r)
	return err
}

// origin is a compiled entry of Rules.Origins.
type origin struct {
	scheme string // empty: any
	exact  string // the whole origin; empty if suffix is set
	suffix string // ".app.example" for *.app.example
}

// compiled is Rules in the form that requests are checked with.
type compiled struct {
	origins   []origin
	addresses []netip.Prefix
	methods   map[string]bool
	prefixes  []string // of methods: entries that end in *
}

// compile checks rules and converts them. The error joins all problems. They are sorted, because
// one loop goes over a map, whose order is random. The result is not nil even with an error:
// setRules stores it.
func compile(r Rules) (*compiled, error) {
	c := &compiled{}
	var problems []error
	bad := func(rule, value, must string) {
		problems = append(problems, fmt.Errorf("%s: %.100q: %s", rule, value, must))
	}
	tooMany := func(rule string, n, most int) bool {
		if n > most {
			problems = append(problems, fmt.Errorf("%s: %d entries: at most %d", rule, n, most))
		}
		return n > most
	}
	if !tooMany("origins", len(r.Origins), maxOrigins) {
		for _, text := range r.Origins {
			o, ok := parseOrigin(text)
			if !ok {
				bad("origins", text, "must be an origin like https://app.example or http://localhost:3000, or *.app.example, or https://*.app.example")
			}
			c.origins = append(c.origins, o)
		}
	}
	if !tooMany("addresses", len(r.Addresses), maxAddresses) {
		for _, text := range r.Addresses {
			prefix, ok := parseAddress(text)
			if !ok {
				bad("addresses", text, "must be an IP address like 203.0.113.9 or a CIDR prefix like 2001:db8::/48")
			}
			c.addresses = append(c.addresses, prefix)
		}
	}
	if !tooMany("methods", len(r.Methods), maxMethods) {
		for _, text := range r.Methods {
			if !validMethod(text) {
				bad("methods", text, "must be a method's name like getSlot, or its beginning and *, like get*")
			}
			c.addMethod(text)
		}
	}
	for rule, n := range map[string]int{"requests_per_second": r.RequestsPerSecond, "streams": r.Streams, "stream_addresses": r.StreamAddresses} {
		if n < 0 || n > maxRateNumber {
			problems = append(problems, fmt.Errorf("%s: %d: must be 1 to %d, or 0 for no limit", rule, n, maxRateNumber))
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return c, errors.Join(problems...)
}

func (c *compiled) addMethod(text string) {
	if prefix, wild := strings.CutSuffix(text, "*"); wild {
		c.prefixes = append(c.prefixes, prefix)
		return
	}
	if c.methods == nil {
		c.methods = map[string]bool{}
	}
	c.methods[text] = true
}

func validMethod(text string) bool {
	name := strings.TrimSuffix(text, "*")
	if text == "" || len(text) > maxMethod {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	}) < 0
}

// parseAddress reads an address or a prefix. An IPv4 address that is mapped into IPv6
// (::ffff:1.2.3.4) is read as IPv4.
func parseAddress(text string) (netip.Prefix, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
		}
		return prefix.Masked(), true
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, false
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), true
}

func parseOrigin(text string) (origin, bool) {
	if text == "" || len(text) > maxOrigin {
		return origin{}, false
	}
	if scheme, domain, wild := cutWild(text); wild {
		if !validDomain(domain) || scheme != "" && !validScheme(scheme) {
			return origin{}, false
		}
		return origin{scheme: strings.ToLower(scheme), suffix: "." + strings.ToLower(domain)}, true
	}
	exact, ok := normalOrigin(text)
	return origin{exact: exact}, ok
}

// cutWild splits *.app.example and https://*.app.example. wild is false for other texts.
func cutWild(text string) (scheme, domain string, wild bool) {
	if domain, wild = strings.CutPrefix(text, "*."); wild {
		return "", domain, true
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return "", "", false
	}
	domain, wild = strings.CutPrefix(rest, "*.")
	return scheme, domain, wild
}

func validScheme(scheme string) bool {
	for i, r := range strings.ToLower(scheme) {
		if (r < 'a' || r > 'z') && (i == 0 || (r < '0' || r > '9') && r != '+' && r != '-' && r != '.') {
			return false
		}
	}
	return scheme != ""
}

// validDomain reports whether text looks like a host name, without port or path.
func validDomain(text string) bool {
	if text == "" || len(text) > 253 || strings.HasPrefix(text, ".") || strings.HasSuffix(text, ".") || strings.Contains(text, "..") {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	}) < 0
}

// normalOrigin returns an origin as browsers send it: in lower case, without the scheme's default
// port. It returns false for a text that is no origin.
func normalOrigin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || !validScheme(u.Scheme) || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery ||
		u.Fragment != "" || u.Opaque != "" || strings.ContainsAny(u.Host, "*\"<>\\^`{|} ") || strings.HasSuffix(text, "#") {
		return "", false
	}
	host, scheme := strings.ToLower(u.Host), strings.ToLower(u.Scheme)
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if port != "" && u.Port() == port {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return scheme + "://" + strings.TrimSuffix(host, ":"), true
}

// allowsOrigin reports whether a page of this origin may use the key.
func (c *compiled) allowsOrigin(text string) bool {
	if len(c.origins) == 0 {
		return true
	}
	if len(text) > maxOrigin {
		return false
	}
	exact, ok := normalOrigin(text)
	if !ok {
		return false
	}
	scheme, host, _ := strings.Cut(exact, "://")
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	for _, o := range c.origins {
		if o.exact == exact || o.suffix != "" && (o.scheme == "" || o.scheme == scheme) && len(host) > len(o.suffix) && strings.HasSuffix(host, o.suffix) {
			return true
		}
	}
	return false
}

func (c *compiled) allowsAddress(addr netip.Addr) bool {
	if len(c.addresses) == 0 {
		return true
	}
	addr = addr.Unmap().WithZone("")
	for _, prefix := range c.addresses {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func (c *compiled) allowsMethod(name string) bool {
	if len(c.methods) == 0 && len(c.prefixes) == 0 || c.methods[name] {
		return true
	}
	for _, prefix := range c.prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
