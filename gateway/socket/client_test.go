package socket

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

func TestCloseWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		begin := time.Now()
		closeWithin(time.Second, func() error { <-hangs; return nil })
		require.Equal(t, time.Second, time.Since(begin))
		close(hangs)
		begin = time.Now()
		closeWithin(time.Second, func() error { return nil })
		require.Zero(t, time.Since(begin))
	})
}

func TestOnlyTextIsRead(t *testing.T) {
	read := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		for {
			message, ok := readText(r.Context(), conn)
			if !ok {
				return
			}
			read <- string(message)
		}
	}))
	defer server.Close()
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte("{}")))
	require.Equal(t, "{}", <-read)
	require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, []byte{1}))
	_, _, err = conn.Read(t.Context())
	require.Equal(t, websocket.StatusUnsupportedData, websocket.CloseStatus(err))
}
