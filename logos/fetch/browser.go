package fetch

import (
	"net/url"
	"strings"
)

// BrowserURL writes a URL the way browsers read it (https://url.spec.whatwg.org): without line
// breaks and tabs, with slashes for backslashes, with two slashes behind http: and https:, and with
// percent-encoding for the characters that may not stand in a path or query. Of a text without the
// scheme http or https, only line breaks, tabs and surrounding white space are removed.
func BrowserURL(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }))
	scheme, rest, found := strings.Cut(text, ":")
	if !found || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return text
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	rest = strings.TrimLeft(strings.ReplaceAll(rest, `\`, "/"), "/")
	host, path, hasPath := strings.Cut(rest, "/")
	if hasPath {
		host += "/" + encoded(path)
	}
	if hasQuery {
		host += "?" + encoded(query)
	}
	return strings.ToLower(scheme) + "://" + host
}

// reference is BrowserURL for the target of a redirect, which may be relative.
func reference(text string) string {
	text = BrowserURL(text)
	if strings.Contains(text, "://") {
		return text
	}
	path, query, hasQuery := strings.Cut(text, "?")
	if path = encoded(strings.ReplaceAll(path, `\`, "/")); hasQuery {
		path += "?" + encoded(query)
	}
	return path
}

// encoded percent-encodes what may not stand in a path, query or fragment. A percent sign that
// encodes nothing is encoded too.
func encoded(text string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		c := text[i]
		_, err := url.PathUnescape(text[i:min(i+3, len(text))])
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`", c) >= 0 || c == '%' && err != nil {
			out.Write([]byte{'%', digits[c>>4], digits[c&15]})
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}

// Fetchable reports whether a text is a URI that a Fetcher with gateways would fetch. Metadata has
// texts such as "image.png" and "N/A" where a URI should be.
func Fetchable(uri string) bool {
	gateway := []*url.URL{{Scheme: "https", Host: "gateway.invalid"}}
	f := &Fetcher{cfg: Config{}.withDefaults(), ipfs: gateway, arweave: gateway}
	_, err := f.resolve(uri)
	return err == nil
}

// badPorts are the ports that browsers do not fetch from, because servers of other protocols use
// them (https://fetch.spec.whatwg.org/#port-blocking).
var badPorts = map[int]bool{
	0: true, 1: true, 7: true, 9: true, 11: true, 13: true, 15: true, 17: true, 19: true, 20: true, 21: true, 22: true, 23: true, 25: true, 37: true, 42: true,
	43: true, 53: true, 69: true, 77: true, 79: true, 87: true, 95: true, 101: true, 102: true, 103: true, 104: true, 109: true, 110: true, 111: true, 113: true,
	115: true, 117: true, 119: true, 123: true, 135: true, 137: true, 139: true, 143: true, 161: true, 179: true, 389: true, 427: true, 465: true, 512: true,
	513: true, 514: true, 515: true, 526: true, 530: true, 531: true, 532: true, 540: true, 548: true, 554: true, 556: true, 563: true, 587: true, 601: true,
	636: true, 989: true, 990: true, 993: true, 995: true, 1719: true, 1720: true, 1723: true, 2049: true, 3659: true, 4045: true, 4190: true, 5060: true,
	5061: true, 6000: true, 6566: true, 6665: true, 6666: true, 6667: true, 6668: true, 6669: true, 6679: true, 6697: true, 10080: true,
}
