// Package origins decides which web pages may use a surface.
//
// In: the list of the setting, and the Origin header of a request. Out: whether the page is
// allowed, and the CORS headers (https://fetch.spec.whatwg.org/#http-cors-protocol). Guarantees:
// scheme, host and port must all be equal to an entry's; nothing is resolved.
package origins

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Any, as the only entry, allows every page; None, as the only entry, allows none.
const (
	Any  = "*"
	None = "none"
)

// ThisMachine returns the origins of pages that this machine itself serves, on any port, such as a
// front end under development.
func ThisMachine() []string {
	return []string{"http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"}
}

// Set is a list of allowed origins. The zero value and nil allow none.
type Set struct {
	any   bool
	exact map[string]bool
	// anyPort holds scheme://host of the entries that end in :*.
	anyPort map[string]bool
}

// Parse reads a list of origins: https://app.example, http://localhost:3000, or http://localhost:*
// for every port. "*" alone means any page; "none" alone or an empty list means no page.
func Parse(list []string) (*Set, error) {
	s := &Set{exact: map[string]bool{}, anyPort: map[string]bool{}}
	if len(list) > 1 && (slices.Contains(list, Any) || slices.Contains(list, None)) {
		return nil, errors.New("* and none stand alone")
	}
	for _, entry := range list {
		if entry == Any || entry == None {
			s.any = entry == Any
			continue
		}
		base, wild := strings.CutSuffix(entry, ":*")
		origin, err := normal(base)
		if err != nil || wild && hasPort(base) {
			return nil, fmt.Errorf("%.100q: must be an origin like https://app.example or http://localhost:3000, where the port may be *; or * or none", entry)
		}
		if wild {
			s.anyPort[origin] = true
		} else {
			s.exact[origin] = true
		}
	}
	return s, nil
}

// normal returns an origin as browsers send it: in lower case, without the scheme's default port.
func normal(origin string) (string, error) {
	u, err := url.Parse(origin)
	if err != nil {
		return "", err
	}
	if u.Scheme == "" || u.Hostname() == "" || strings.Contains(u.Host, "*") || u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return "", errors.New("not an origin")
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host, nil
}

func hasPort(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Port() != ""
}

// Allows reports whether pages of origin, the value of the header Origin, may use the surface.
func (s *Set) Allows(origin string) bool {
	switch {
	case s == nil || origin == "":
		return false
	case s.any:
		return true
	}
	origin, err := normal(origin)
	if err != nil {
		return false
	}
	if s.exact[origin] {
		return true
	}
	base := origin
	if u, err := url.Parse(origin); err == nil && u.Port() != "" {
		base = strings.TrimSuffix(origin, ":"+u.Port())
	}
	return s.anyPort[base]
}

// AllowsRequest reports whether the client may open the WebSocket that r asks for. A page may if
// its origin is allowed or has the surface's own host. A request without Origin may too: it comes
// from a program that is no browser.
func (s *Set) AllowsRequest(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || s.Allows(origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// CORS are the header values that depend on the surface: Methods that pages may use, request
// headers that are Allowed besides the simple ones, and response headers that are Exposed to pages.
type CORS struct {
	Methods, Allowed, Exposed string
}

// Headers calls set for each CORS header of the response to a request of method with this Origin. A
// page that is not allowed gets only Vary, and its browser keeps the response from it.
func (s *Set) Headers(c CORS, method, origin string, set func(name, value string)) {
	if s == nil || !s.any { // a shared cache must not give one page's response to another
		set("Vary", "Origin")
	}
	if !s.Allows(origin) {
		return
	}
	if s.any {
		origin = Any
	}
	set("Access-Control-Allow-Origin", origin)
	if method == http.MethodOptions {
		set("Access-Control-Allow-Methods", c.Methods)
		set("Access-Control-Allow-Headers", c.Allowed)
		set("Access-Control-Max-Age", "86400")
	} else if c.Exposed != "" {
		set("Access-Control-Expose-Headers", c.Exposed)
	}
}
