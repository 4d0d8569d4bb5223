package chhttp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/mintlake/mintlake/access/hosts"
	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// checkOrigin refuses requests that a web page in a browser on this machine could send. The engine
// can read and write files of this machine, so a page must not reach it: neither directly (Origin,
// Sec-Fetch-Site), nor by a host name of its own that resolves to 127.0.0.1 (Host).
func checkOrigin(guard *hosts.Guard, r *http.Request) error {
	if !guard.Admit(r.Host) {
		return denied("%s", hosts.Refusal(r.Host))
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !loopbackHost(u.Host) {
			return denied("requests from web pages of another origin are refused")
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	default:
		return denied("requests from web pages of another site are refused")
	}
}

func denied(format string, args ...any) error {
	return libchdb.Errorf(497, "ACCESS_DENIED", format, args...)
}

// loopbackHost reports whether a host, with or without a port, is localhost or a loopback address.
func loopbackHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// checkUser accepts only the engine's one user, which has no password.
func checkUser(r *http.Request, query url.Values) error {
	user, password := query.Get("user"), query.Get("password")
	if u := r.Header.Get("X-ClickHouse-User"); u != "" {
		user, password = u, r.Header.Get("X-ClickHouse-Key")
	}
	if u, p, ok := r.BasicAuth(); ok {
		user, password = u, p
	}
	if user != "" && user != "default" || password != "" {
		return libchdb.Errorf(516, "AUTHENTICATION_FAILED", "%s: Authentication failed: the embedded engine has the user default without a password only", user)
	}
	return nil
}
