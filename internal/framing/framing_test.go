package framing_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/internal/framing"
)

const chunks = "3\r\nabc\r\n0\r\n\r\n"

func check(raw string) error {
	var r fasthttp.Request
	if err := r.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
		return err
	}
	return framing.Check(&r.Header)
}

func TestCheck(t *testing.T) {
	for headers, want := range map[string]error{
		"":                             nil,
		"Content-Length: 3\r\n":        nil,
		"content-LENGTH:3 \r\n":        nil,
		"Content-Length: 3\nX-A: b\n":  nil,
		"X-Content-Length: 3\r\n":      nil,
		"Transfer-Encoding: chunked\n": nil,
		"transfer-encoding:Chunked\n":  nil,
		"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n":                      framing.ErrBoth,
		"Transfer-Encoding: chunked\r\nCONTENT-length: 3\r\n":                      framing.ErrBoth,
		"Content-Length: 3\r\nTransfer-Encoding: identity\r\n":                     framing.ErrBoth,
		"Content-Length: 4\r\nContent-Length: 3\r\n":                               framing.ErrLengths,
		"Content-Length: 3\r\nContent-Length: 3\r\n":                               framing.ErrLengths,
		"Transfer-Encoding: xchunked\r\n":                                          framing.ErrCoding,
		"Transfer-Encoding: gzip, chunked\r\n":                                     framing.ErrCoding,
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n":             framing.ErrCoding,
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n":            framing.ErrCoding,
		"Content-Length: 3\r\nX-A: b\r\n Transfer-Encoding chunked\r\nX-B: c\r\n":  framing.ErrFolded,
		"Transfer-Encoding:\r\n chunked\r\n":                                       framing.ErrFolded,
		"Content-Length: 3\r\nX-A: b\r\n\tmore\r\nTransfer-Encoding: identity\r\n": framing.ErrFolded,
	} {
		for _, method := range []string{"GET", "POST"} {
			body := chunks
			if strings.Contains(headers, ": 3") || strings.Contains(headers, ":3") {
				body = "abc" + chunks
			}
			if strings.Contains(strings.ToLower(headers), "chunked") {
				body = chunks
			}
			err := check(method + " / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body)
			require.Equal(t, want, err, "%s with %q", method, headers)
		}
	}
	require.Equal(t, framing.ErrOldChunk, check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks))
	require.NoError(t, check("POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"))
}

// FuzzCheck: what passes ends where net/http sees the end too, as far as that reads it at all.
func FuzzCheck(f *testing.F) {
	f.Add("Content-Length: 3\r\n", "abcGET / HTTP/1.1\r\n\r\n")
	f.Add("Transfer-Encoding: chunked\r\n", chunks+"GET / HTTP/1.1\r\n\r\n")
	f.Add("Content-Length: 2\r\nContent-Length: 3\r\n", "abc")
	f.Add("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", chunks)
	f.Fuzz(func(t *testing.T, headers, body string) {
		raw := "POST / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body
		var ours fasthttp.Request
		if ours.Read(bufio.NewReader(strings.NewReader(raw))) != nil || framing.Check(&ours.Header) != nil {
			return
		}
		theirs, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil || len(theirs.TransferEncoding) > 0 {
			return // how chunks are read is each library's
		}
		require.Equal(t, theirs.ContentLength, int64(len(ours.Body())))
	})
}
