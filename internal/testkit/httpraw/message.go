// Package httpraw makes HTTP/1 messages that are valid, nearly valid and not valid, and tells what
// servers understand of them.
//
// In: a random source. Out: the bytes of a connection; the requests that a server read from them.
// Guarantees: the same source makes the same messages. Every message ends with whole requests of
// paths of their own, so that a server that takes too much or too little for a body shows it.
package httpraw

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// tail is what follows each message. A server that sees the end of a body elsewhere reads other
// requests here, or a part of them as that body.
const tail = "GET /next HTTP/1.1\r\nHost: a\r\n\r\nPOST /last HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nlast"

// Message returns the bytes of a connection: one or two requests with up to four mutations of the
// grammar or of single bytes, and the two valid requests of tail. valid is the number of all
// requests if there are no mutations, otherwise 0.
func Message(r *rand.Rand) (message []byte, valid int) {
	mutations := r.IntN(4)
	m := &maker{r: r, left: mutations, rate: 4 + r.IntN(12)}
	valid = 1 + r.IntN(2)
	for n := range valid {
		m.request(n)
	}
	flip := r.IntN(4) == 0
	if flip {
		m.flip()
	}
	if valid += 2; flip || m.left < mutations {
		valid = 0
	}
	return append(m.out, tail...), valid
}

// maker writes one message. At each point of the grammar it takes the usual form, or another one
// while mutations are left.
type maker struct {
	r    *rand.Rand
	out  []byte
	left int // how many mutations are left
	rate int // each point of the grammar is mutated with a chance of 1 in rate
}

func (m *maker) put(texts ...string) {
	for _, text := range texts {
		m.out = append(m.out, text...)
	}
}

func (m *maker) pick(list []string) string { return list[m.r.IntN(len(list))] }

// or returns usual, or one of others.
func (m *maker) or(usual string, others []string) string {
	if m.left == 0 || m.r.IntN(m.rate) > 0 {
		return usual
	}
	m.left--
	return m.pick(others)
}

// Forms other than the usual one, by point of the grammar.
var (
	lineEnds = []string{"\n", "\r", "\r\r\n", "\r\n\n", "\n\r\n", " \r\n", "\t\r\n", "\x00\r\n", "\x0b\r\n", "\r\n ", "\r\n\t", "\r\n\r\n", "", "\r\x00\n", "\x85", "\u2028"}
	leads    = []string{"\r\n", "\n", "\r", "\r\n\r\n", " ", "\t", "\x00", "\x0b", "\xef\xbb\xbf", ":"}
	gaps     = []string{"  ", "\t", "\x0b", "\x0c", "", "\r", "\n", "\r\n ", "\x00", "\xa0", "\x1f"}
	versions = []string{"HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "HTTP/1.10", "HTTP/01.1", "http/1.1", "HTTP/1.1\x00", "HTTP/1,1", "HTTP/1", "", "HTTP/1.1 HTTP/1.1", "HTTP /1.1", "HTTP/+1.1"}
	targets  = []string{"http://a/%d", "http://b/%d", "//a/%d", "/%d#x", "/%d?a=b", "/%d%%0d%%0a", "/\x00%d", "/%d\x7f", "/%d\x80", "/%d\xff", "/a b/%d", "/a\t%d", "*", "%d", "/%d\\", "http:/%d", "/../%d", "/%d\x0b", "a:%d", "/%d HTTP/1.1\r\nX: y"}
	methods  = []string{"PUT", "DELETE", "HEAD", "OPTIONS", "get", "Get", "GET\x00", "G\tET", " GET", "\x0bGET", "GET:", "G(T", ""}
	spaces   = []string{"", "  ", "\t", " \t ", "\x0b", "\x0c", "\x00", "\r", "\n", "\r\n ", "\r\n\t", "\n ", "\xa0", "\x85", "\x1f", "\u00a0"}
	colons   = []string{" :", "\t:", "::", "", "\x00:", "\x0b:", "\r:", "\n:", "\r\n :", ";", "=", ": :", "\xa0:"}
	names    = []string{" %s", "\t%s", "\x0b%s", "\x00%s", "%s\x00", "x%s", "%sx", "\"%s\"", "(%s)", "%s,", "\xef\xbb\xbf%s", "%s\xff", "\r%s", "\n%s", "x\x00: y\r\n%s", "x y: z\r\n%s", "x: y\n%s", "x: y\r%s", "x: \x00\r\n%s", "x:\r\n%s", ": y\r\n%s", "nocolon\r\n%s", "x: y\r\n z\r\n%s"}
	lengths  = []string{"+%d", "-%d", "0x%x", "%d,%[1]d", "%d, %[1]d", "%d 0", "0%d", "000000000000000000000%d", "", "%d;", "%d.0", "%de0", "\x0b%d", "%d\x0b", "\x00%d", "%d\x00", "1844674407370955161%d", "\"%d\"", "_%d", "%d_0", "\u0661", "0, %d", "%d\r\n 0", "%d\n0", "%d\r0", "1%d", "0", "1", "5"}
	codings  = []string{"Chunked", "CHUNKED", "chunked, chunked", "gzip, chunked", "chunked, gzip", "chunked, identity", "identity, chunked", "identity", "xchunked", "chunkedx", "chunked;q=1", "chunked;", "\"chunked\"", ",chunked", "chunked,", "\x0bchunked", "chunked\x0b", "\x0cchunked", "\x00chunked", "chunked\x00", "chunked\r\n ", "\r\n chunked", "chu\r\n nked", "\nchunked", "chunked\n", "\rchunked", "chunked\r", "\u00a0chunked", "\x85chunked", "\xa0chunked", "", "trailers", "cow", "deflate", "ch\x00unked", "chun\u212aed"}
	sizes    = []string{"0%x", "00000000%x", "0000000000000000%x", "10000000000000000%x", "0x%x", "+%x", "-%x", " %x", "%x ", "%x\t", "\t%x", "%x\x0b", "\x0b%x", "%x\x00", "", "%xg", "%x_", "_%x", "%x,", "\"%x\"", "1%x", "%x0", "%x\r", "%x\xa0", "\r\n%x", "\n%x"}
	exts     = []string{";a", ";a=b", ";a=\"b\"", ";", ";;", " ;a", "\t;a=b", "; a = b", ";a=b;c=d", ";\n", ";a\nb", ";\r", ";a\rb", ";a=\"\r\n\"", ";\x00", ";a=\"\n", ";\x0b", "\n", ";a=\xff", ";a\r\r", ";\r\r", " ", "  ", ";a=\"\\\"\"", ";a\x7f"}
	trailers = []string{"X: y\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "X : y\r\n", "nocolon\r\n", " X: y\r\n", "X: y\n", "X: y\r", "X: \x00\r\n", "\x00: y\r\n", "X: y\r\n z\r\n", ": y\r\n", "Host: b\r\n", "\n", "\r", " \r\n", "GET /smuggled HTTP/1.1\r\nHost: a\r\n"}
	extras   = []string{"Connection: keep-alive", "Connection: close", "Content-Length: 0", "Content-Length: 7", "Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Transfer-Encoding:", "Content_Length: 7", "Transfer_Encoding: chunked", "Trailer: X", "Trailer: Content-Length", "Host: b", "Keep-Alive: 5", "TE: chunked", "Connection: Transfer-Encoding", "Connection: Content-Length", "HTTP2-Settings: AA", "X: y", "Proxy-Connection: keep-alive", "X-A:\tb\t", "X: \x7f", "X: \xff", "X: \x01"}
	ends     = []string{"\n", "", "\r", "XX", "\r\n\r\n", "\n\n", "\r\r\n", "X\r\n", " \r\n", "\x00"}
	// contents are bodies. If a server ends a body too early, it takes the rest for a request.
	contents = []string{"", "a", "abc", "0\r\n\r\n", "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "\r\n", "\n", "5\r\n", "0123456789abcdef0123456789"}
)

// request writes the nth request.
func (m *maker) request(n int) {
	kind := m.r.IntN(3) // 0: no body, 1: a body with a length, 2: a body in chunks
	method := "POST"
	if kind == 0 {
		method = "GET"
	}
	target := m.or("/%d", targets)
	if strings.Contains(target, "%d") {
		target = fmt.Sprintf(target, n)
	}
	m.put(m.or("", leads), m.or(method, methods), m.or(" ", gaps), target, m.or(" ", gaps), m.or("HTTP/1.1", versions), m.or("\r\n", lineEnds))
	content := m.pick(contents)
	fields := [][2]string{{m.or("Host", []string{"host", "X-Host", "Host\x00"}), m.or("a", []string{"", "a b", "a\x00", "a/b", "a, b", "a:80", "[::1]"})}}
	switch kind {
	case 1:
		length := m.or("%d", lengths)
		if strings.Contains(length, "%") {
			length = fmt.Sprintf(length, len(content))
		}
		fields = append(fields, [2]string{"Content-Length", length})
	case 2:
		fields = append(fields, [2]string{"Transfer-Encoding", m.or("chunked", codings)})
	}
	for _, field := range fields {
		m.field(field[0], field[1])
	}
	m.put(m.or("\r\n", lineEnds))
	switch kind {
	case 1:
		m.put(content)
	case 2:
		m.chunks(content)
	}
}

// field writes a field, and perhaps others around it.
func (m *maker) field(name, value string) {
	extra := func() {
		if m.r.IntN(6) == 0 {
			m.put(m.or("X-A: b", extras), m.or("\r\n", lineEnds))
		}
	}
	extra()
	for range 1 + len(m.or("", []string{"x"})) { // a mutation writes the field twice
		m.put(fmt.Sprintf(m.or("%s", names), name), m.or(":", colons), m.or(" ", spaces), value, m.or("", spaces), m.or("\r\n", lineEnds))
	}
	extra()
}

// chunks writes content as a chunked body, with chunks of any lengths.
func (m *maker) chunks(content string) {
	size := func(n int) {
		text := m.or("%x", sizes)
		if strings.Contains(text, "%") {
			text = fmt.Sprintf(text, n)
		}
		m.put(text, m.or("", exts), m.or("\r\n", lineEnds))
	}
	for len(content) > 0 {
		n := 1 + m.r.IntN(len(content))
		size(n)
		m.put(content[:n], m.or("\r\n", ends))
		content = content[n:]
	}
	size(0)
	m.put(m.or("", trailers), m.or("\r\n", lineEnds))
}

// flip replaces, inserts or deletes a byte.
func (m *maker) flip() {
	const bytes = "\x00\t\n\x0b\x0c\r :;,=0aF\"\x7f\x80\x85\xa0\xff"
	at, b := m.r.IntN(len(m.out)), bytes[m.r.IntN(len(bytes))]
	switch m.r.IntN(3) {
	case 0:
		m.out[at] = b
	case 1:
		m.out = append(m.out[:at], append([]byte{b}, m.out[at:]...)...)
	case 2:
		m.out = append(m.out[:at], m.out[at+1:]...)
	}
}
