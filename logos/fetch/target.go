package fetch

import (
	"net/url"
	"path"
	"strconv"
	"strings"
)

const (
	// maxURILength bounds the bytes of every URI but data URIs, which are bounded by the size limit
	// of the body.
	maxURILength = 2048
	// maxHostLength is the longest domain name in text form (RFC 1035).
	maxHostLength = 253
)

// target is what a URI can be fetched from.
type target struct {
	// urls are tried in order.
	urls []*url.URL
	// gateway is true if the urls are gateways to content that is addressed by its hash.
	gateway bool
	// whole is the content identifier if the URI has neither a path below the identifier nor a
	// query: only then can the body be compared with it. Otherwise it is empty.
	whole string
	// data is the payload of a data URI.
	data *dataPayload
}

// Host returns a key for the limits per host: the host:port that the URI would be fetched from
// first, in lower case. If that host is the first of our own gateways, the key is "ipfs" or "ar",
// since any gateway will do. The key is empty for data URIs and for URIs that cannot be fetched.
func (f *Fetcher) Host(uri string) string {
	found, err := f.resolve(uri)
	switch {
	case err != nil || found.data != nil:
		return ""
	case found.gateway && found.urls[0].Host == f.firstIPFS:
		return "ipfs"
	case found.gateway && found.urls[0].Host == f.firstArweave:
		return "ar"
	}
	return hostPort(found.urls[0])
}

// resolve returns the target of a URI, in any form in which tokens carry URIs. Errors are *Error of
// ClassBadURL or ClassTooLarge.
func (f *Fetcher) resolve(uri string) (target, error) {
	uri = strings.Trim(uri, "\x00 \t\r\n")
	if len(uri) >= 5 && strings.EqualFold(uri[:5], "data:") {
		payload, err := parseDataURI(uri, f.cfg.MaxBytes)
		return target{data: payload}, err
	}
	if len(uri) > maxURILength {
		return target{}, failure(ClassBadURL, "longer than %d bytes", maxURILength)
	}
	if strings.HasPrefix(uri, "//") {
		uri = "https:" + uri
	}
	if uri = BrowserURL(uri); strings.ContainsFunc(uri, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return target{}, failure(ClassBadURL, "control character")
	}
	if content, ok := contentPath(uri); ok {
		return f.gatewayTarget(content, f.ipfs, validCID)
	}
	if rest, ok := cutScheme(uri, "ar://"); ok {
		return f.gatewayTarget(rest, f.arweave, validArweaveID)
	}
	parsed, err := url.Parse(uri)
	if err != nil {
		return target{}, failure(ClassBadURL, "not a URL")
	}
	parsed.Host = strings.ToLower(parsed.Host)
	if err := f.checkURL(parsed); err != nil {
		return target{}, err
	}
	found := target{urls: []*url.URL{parsed}}
	if content, ok := gatewayContent(parsed); ok {
		// The URL names somebody else's IPFS gateway. Our gateways serve the same content if that
		// gateway is gone.
		if ours, err := f.gatewayTarget(content, f.ipfs, validCID); err == nil {
			found.urls, found.gateway = append(found.urls, ours.urls...), true
			if parsed.RawQuery == "" { // a query may ask the gateway for a smaller picture
				found.whole = ours.whole
			}
		}
	} else if content, ok := arweaveContent(parsed); ok {
		if ours, err := f.gatewayTarget(content, f.arweave, validArweaveID); err == nil {
			// Every gateway serves the same content. So arweave.net is asked only if it is one of
			// ours.
			found.urls, found.gateway = ours.urls, true
		}
	}
	return found, nil
}

func cutScheme(uri, scheme string) (string, bool) {
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return "", false
	}
	return uri[len(scheme):], true
}

// contentPath returns the "CID/path" of an ipfs URI or a bare CID. The forms ipfs://ipfs/CID and
// /ipfs/CID occur too.
func contentPath(uri string) (string, bool) {
	if rest, ok := cutScheme(uri, "ipfs:/"); ok {
		return strings.TrimPrefix(strings.TrimLeft(rest, "/"), "ipfs/"), true
	}
	if rest, ok := strings.CutPrefix(uri, "/ipfs/"); ok {
		return rest, true
	}
	first, _, _ := strings.Cut(uri, "/")
	return uri, validCID(first)
}

// WithScheme adds "ipfs://" to a text that names IPFS content without a scheme, such as "Qm…" or
// "/ipfs/Qm…": metadata often does. Other texts are returned unchanged.
func WithScheme(text string) string {
	if strings.Contains(text, ":") {
		return text
	}
	if path, ok := contentPath(text); ok {
		return "ipfs://" + path
	}
	return text
}

// gatewayContent returns the "CID/path" in the URL of any IPFS gateway, given by path
// (host/ipfs/CID) or by host (CID.ipfs.host).
func gatewayContent(u *url.URL) (string, bool) {
	if rest, ok := strings.CutPrefix(u.Path, "/ipfs/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		return rest, validCID(first)
	}
	label, rest, _ := strings.Cut(u.Hostname(), ".")
	if strings.HasPrefix(rest, "ipfs.") && validCID(label) {
		return label + u.Path, true
	}
	return "", false
}

// arweaveContent returns the "ID/path" in a URL of arweave.net.
func arweaveContent(u *url.URL) (string, bool) {
	host := strings.ToLower(u.Hostname())
	if host != "arweave.net" && !strings.HasSuffix(host, ".arweave.net") {
		return "", false
	}
	content := strings.TrimPrefix(u.Path, "/")
	first, _, _ := strings.Cut(content, "/")
	return content, u.RawQuery == "" && validArweaveID(first)
}

// gatewayTarget returns the target of content, "ID/path?query": its URL at each of the gateways.
// valid checks the ID.
func (f *Fetcher) gatewayTarget(content string, gateways []*url.URL, valid func(string) bool) (target, error) {
	content, _, _ = strings.Cut(content, "#")
	content, query, _ := strings.Cut(content, "?")
	id, rest, _ := strings.Cut(content, "/")
	if !valid(id) {
		return target{}, failure(ClassBadURL, "not a content identifier")
	}
	if len(gateways) == 0 {
		return target{}, failure(ClassBadURL, "no gateway is configured")
	}
	if decoded, err := url.PathUnescape(rest); err == nil {
		rest = decoded
	}
	// Cleaned, so that no ".." leads out of the content to another page of the gateway.
	rest = strings.TrimPrefix(path.Clean("/"+rest), "/")
	found := target{gateway: true}
	if rest == "" && query == "" {
		found.whole = id
	}
	for _, gateway := range gateways {
		u := *gateway
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + id
		if rest != "" {
			u.Path += "/" + rest
		}
		if query != "" && u.RawQuery == "" {
			u.RawQuery = query
		}
		found.urls = append(found.urls, &u)
	}
	return found, nil
}

// checkURL refuses URLs that must not be fetched. It checks the first URL and every redirect.
func (f *Fetcher) checkURL(u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return failure(ClassBadURL, "scheme is not http, https, ipfs, ar or data")
	case u.User != nil:
		return failure(ClassBadURL, "credentials in the URL")
	case u.Opaque != "" || host == "" || len(host) > maxHostLength:
		return failure(ClassBadURL, "no host")
	case strings.Contains(host, "%"):
		return failure(ClassBadURL, "IPv6 zone")
	case numericHost(host):
		return failure(ClassBadURL, "host is a number in another notation than a dotted quad")
	}
	if f.allowed[hostPort(u)] {
		return nil
	}
	if u.Port() == "" {
		return nil
	}
	// Servers of other protocols might obey a part of the request.
	port, err := strconv.Atoi(u.Port())
	if err != nil || badPorts[port] || port > 65535 {
		return failure(ClassBadURL, "port is refused")
	}
	return nil
}

// hostPort is the URL's host and port in the form that AllowPrivate lists: lower case, always with
// a port, IPv6 in brackets.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}
