package framing_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/framing"
)

// TestARefusalIsAnswered: the requests before the bad one are answered, the bad one gets 400, and
// the connection ends although the client sends on.
func TestARefusalIsAnswered(t *testing.T) {
	for name, server := range map[string]*underTest{"fiber": viaFiber(t, framing.Listener), "net/http": viaNetHTTP(t, framing.Listener)} {
		for _, bad := range []string{
			"GET / HTTP/1.1\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nX: y\nContent-Length: 3\r\n\r\nabc",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;\n\r\nabc\r\n0\r\n\r\n",
		} {
			conn, err := net.Dial("tcp", server.addr)
			require.NoError(t, err)
			_, err = io.WriteString(conn, "GET /first HTTP/1.1\r\nHost: a\r\n\r\n"+bad+"GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			answer, _ := io.ReadAll(conn) // a reset is an end as well
			require.NoError(t, conn.Close())
			require.Equal(t, 1, strings.Count(string(answer), "HTTP/1.1 200 OK\r\n"), "%s answers %q with\n%s", name, bad, answer)
			require.Equal(t, 1, strings.Count(string(answer), "HTTP/1.1 400 Bad Request\r\n"), "%s answers %q with\n%s", name, bad, answer)
		}
	}
}

// TestASwitchedConnectionIsNotScanned: the frames of a WebSocket are no requests.
func TestASwitchedConnectionIsNotScanned(t *testing.T) {
	l := listenLocal(t, framing.Listener)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		kind, text, err := conn.Read(r.Context())
		if err == nil {
			_ = conn.Write(r.Context(), kind, text)
		}
		_ = conn.Close(websocket.StatusNormalClosure, "")
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+l.Addr().String(), nil)
	require.NoError(t, err)
	sent := strings.Repeat("\n\x00\r", 10_000)
	require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, []byte(sent)))
	_, got, err := conn.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, sent, string(got))
	_ = conn.CloseNow()
}
