// Package hosts refuses requests whose Host header names a foreign site, on addresses that only
// this machine reaches.
//
// In: the address that a server listens on, the operator's list of names, and a request's Host
// header. Out: whether the request may pass.
// Guarantees: on a loopback address only loopback names, the configured host and the listed names
// pass, so a web page whose own name points at 127.0.0.1 (DNS rebinding) reads nothing. On any
// other address everything passes. No name is resolved.
package hosts

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Any is the entry that admits every name.
const Any = "*"

// Guard decides for one listening address. A nil Guard admits everything.
type Guard struct {
	exact    map[string]bool
	suffixes []string // ".example.com" for *.example.com
}

// Check returns an error if an entry of the list is no host name, such as a URL, a host with a
// port, or a path.
func Check(list []string) error {
	for _, entry := range list {
		name := strings.TrimPrefix(entry, "*.")
		if entry != Any && (name == "" || strings.ContainsAny(name, "/:*@ ?#") && !isIP(name)) {
			return fmt.Errorf("%.100q: must be a host name without scheme and port, like registry.example, *.example, or *", entry)
		}
	}
	return nil
}

// New makes the guard of a server. bound is the address that it listens on, configured the address
// as the operator wrote it, allowed the list of names. The guard is nil, which admits everything,
// if other machines reach the address too or the list has Any.
func New(bound net.Addr, configured string, allowed []string) *Guard {
	tcp, ok := bound.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return nil
	}
	g := &Guard{exact: map[string]bool{normal(configured): true}}
	for _, entry := range allowed {
		if entry == Any {
			return nil
		}
		if suffix, wild := strings.CutPrefix(entry, "*"); wild {
			g.suffixes = append(g.suffixes, normal(suffix))
		} else {
			g.exact[normal(entry)] = true
		}
	}
	return g
}

// Admit reports whether a request with this Host header may pass. A request without that header
// passes: browsers always send it.
func (g *Guard) Admit(hostport string) bool {
	if g == nil || hostport == "" {
		return true
	}
	host := normal(hostport)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || g.exact[host] {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().IsLoopback() {
		return true
	}
	for _, suffix := range g.suffixes {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// Refusal returns the error text for a request that may not pass.
func Refusal(hostport string) string {
	return fmt.Sprintf("host %.100q is not this machine: ask 127.0.0.1 or localhost, or add the name to the setting allowed_hosts (--allowed-hosts)", hostport)
}

// Wrap answers 403 to requests that may not pass.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.Admit(r.Host) {
			http.Error(w, Refusal(r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// normal returns a host in lower case, without port, brackets and final dot.
func normal(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func isIP(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}
