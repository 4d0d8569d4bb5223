package framing

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/httpraw"
)

const (
	start  = "POST / HTTP/1.1\r\nHost: a\r\n"
	chunks = "3\r\nabc\r\n0\r\n\r\n"
	next   = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
)

// TestScanner: what is allowed passes whole, and the scanner then expects a request. What is
// refused is refused for its reason.
func TestScanner(t *testing.T) {
	for request, want := range map[string]error{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                                                           nil,
		"GET / HTTP/1.0\r\n\r\n":                                                                      nil,
		"GET /caf\xc3\xa9 HTTP/1.1\r\nHost: a\r\nX: caf\xe9\t\r\n\r\n":                                nil,
		start + "Content-Length: 3\r\n\r\nabc":                                                        nil,
		start + "content-LENGTH:\t3\r\n\r\n\x00\n\r":                                                  nil,
		start + "Content-Length: 0\r\n\r\n":                                                           nil,
		start + "X-Content-Length: 9\r\n\r\n":                                                         nil,
		start + "transfer-encoding:Chunked\r\n\r\n" + chunks:                                          nil,
		start + "Transfer-Encoding: chunked\r\n\r\n0A;a=b;c\r\n0123\r\n6789\r\n0\r\nX-Sum: y\r\n\r\n": nil,

		// line ends
		"GET / HTTP/1.1\nHost: a\r\n\r\n":                                       ErrLineEnd,
		start + "X: y\nContent-Length: 3\r\n\r\nabc":                            ErrLineEnd,
		start + "Content-Length: 3\r\n\nabc":                                    ErrLineEnd,
		start + "X: y\rContent-Length: 3\r\n\r\nabc":                            ErrControl,
		start + "X: y\r\r\n\r\n":                                                ErrControl,
		start + "Transfer-Encoding: chunked\r\n\r\n3;a\nbc\r\nabc\r\n0\r\n\r\n": ErrLineEnd,
		start + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n":         ErrLineEnd,
		start + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n":         ErrLineEnd,
		start + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\r\n":             ErrLineEnd,
		start + "X: " + strings.Repeat("y", usualLine):                          ErrLineEnd,
		// control characters
		start + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunks: ErrControl,
		start + "Transfer-Encoding: chunked\x0c\r\n\r\n" + chunks: ErrControl,
		start + "Transfer-Encod\x00ing: chunked\r\n\r\n" + chunks: ErrControl,
		start + "X: \x00\r\n\r\n":                                 ErrControl,
		start + "X: \x7f\r\n\r\n":                                 ErrControl,
		"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n":                   ErrControl,
		// request lines
		"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n": ErrRequestLine,
		"GET  / HTTP/1.1\r\nHost: a\r\n\r\n":    ErrRequestLine,
		"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n":  ErrRequestLine,
		"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n":    ErrRequestLine,
		"GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n": ErrRequestLine,
		"GET / HTTP/1.1 \r\nHost: a\r\n\r\n":    ErrRequestLine,
		"GET / HTTP/1.2\r\nHost: a\r\n\r\n":     ErrRequestLine,
		"GET /\r\n":                             ErrRequestLine,
		"G(T / HTTP/1.1\r\nHost: a\r\n\r\n":     ErrRequestLine,
		// fields
		start + "Transfer-Encoding : chunked\r\n\r\n" + chunks:         ErrField,
		start + "X: y\r\n Transfer-Encoding: chunked\r\n\r\n" + chunks: ErrField,
		start + "Transfer-Encoding: chunked\r\n \r\n" + chunks:         ErrField,
		start + ": y\r\n\r\n":                   ErrField,
		start + "nocolon\r\n\r\n":               ErrField,
		start + "X\xa0: y\r\n\r\n":              ErrField,
		start + "Host: b\r\n\r\n":               ErrHost,
		"GET / HTTP/1.1\r\nHost: a\xa0\r\n\r\n": ErrHost,
		// lengths and codings
		start + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc":                                ErrLength,
		start + "Content-Length: 3, 3\r\n\r\nabc":                                                  ErrLength,
		start + "Content-Length: +3\r\n\r\nabc":                                                    ErrLength,
		start + "Content-Length: 0x3\r\n\r\nabc":                                                   ErrLength,
		start + "Content-Length: 3 \r\n\r\nabc":                                                    ErrLength,
		start + "Content-Length: 1_0\r\n\r\nabc":                                                   ErrLength,
		start + "Content-Length:\r\n\r\nabc":                                                       ErrLength,
		start + "Content-Length: 9223372036854775808\r\n\r\nabc":                                   ErrLength,
		start + "Transfer-Encoding: xchunked\r\n\r\n" + chunks:                                     ErrCoding,
		start + "Transfer-Encoding: identity\r\n\r\n":                                              ErrCoding,
		start + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks:                                ErrCoding,
		start + "Transfer-Encoding: chunked \r\n\r\n" + chunks:                                     ErrCoding,
		start + "Transfer-Encoding: \xa0chunked\r\n\r\n" + chunks:                                  ErrCoding,
		start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks:        ErrCoding,
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks: ErrCoding,
		start + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks:                 ErrBoth,
		start + "Transfer-Encoding: chunked\r\nCONTENT-length: 3\r\n\r\n" + chunks:                 ErrBoth,
		// chunks
		start + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n":               ErrChunk,
		start + "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n":                ErrChunk,
		start + "Transfer-Encoding: chunked\r\n\r\n\r\n3\r\nabc\r\n0\r\n\r\n":             ErrChunk,
		start + "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n": ErrChunk,
		start + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n":                ErrChunk,
		start + "Transfer-Encoding: chunked\r\n\r\n3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n":      ErrChunk,
		start + "Transfer-Encoding: chunked\r\n\r\n0\r\n folded\r\n\r\n":                  ErrField,
		start + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 3\r\n\r\n":        ErrField,
	} {
		s := scanner{longest: usualLine}
		good, err := s.scan([]byte(request + next))
		require.Equal(t, want, err, "%q", request)
		if want == nil {
			require.Equal(t, len(request+next), good, "%q", request)
			require.Equal(t, requestLine, s.state, "%q", request)
			continue
		}
		require.Less(t, good, len(request+next), "%q", request)
	}
}

// TestScannerInPieces: it does not matter in which pieces the bytes come.
func TestScannerInPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for range 3000 {
		message, _ := httpraw.Message(random)
		whole, pieces := scanner{longest: usualLine}, scanner{longest: usualLine}
		good, bad := whole.scan(message)
		at, err := 0, error(nil)
		for at < len(message) && err == nil {
			var passed int
			passed, err = pieces.scan(message[at : at+1+random.IntN(min(40, len(message)-at))])
			at += passed
		}
		require.Equal(t, bad, err, "%q", message)
		require.Equal(t, good, at, "%q", message)
	}
}
