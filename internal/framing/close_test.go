package framing_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/framing"
)

func TestCloseAfterChunked(t *testing.T) {
	server := httptest.NewServer(framing.CloseAfterChunked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})))
	defer server.Close()
	const next = "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	for head, answers := range map[string]int{
		// the connection is kept
		"Content-Length: 3\r\n\r\nabc":                                             2,
		"Transfer-Encoding: chunked\r\n\r\n" + chunks:                              1,
		"Content-Length: 90\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks:        1,
		"Transfer-Encoding: chunked\r\nContent-Length: 90\r\n\r\n" + "0\r\n\r\n":   1,
		"Content-Length: 3\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n" + chunks: 1,
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\n"+head+next)
		require.NoError(t, err)
		got, _ := io.ReadAll(conn) // a reset after the answer is an end as well
		_ = conn.Close()
		require.Equal(t, answers, strings.Count(string(got), "HTTP/1.1 200"), "%q:\n%s", head, got)
	}
}
