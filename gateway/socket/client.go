package socket

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// readText waits for the client's next message. It returns false if the client has gone or ctx has
// ended. It also returns false if the message is not text; then it has closed the connection and
// told the client why.
func readText(ctx context.Context, conn *websocket.Conn) ([]byte, bool) {
	kind, message, err := conn.Read(ctx)
	if err != nil {
		return nil, false
	}
	if kind != websocket.MessageText {
		_ = conn.Close(websocket.StatusUnsupportedData, "messages are JSON text")
		return nil, false
	}
	return message, true
}

// closeWithin runs closeIt, which tells the client why the connection is closed, and waits at most
// patience for it to return: a client that does not read cannot be told. If closeIt takes longer,
// it goes on in its goroutine.
func closeWithin(patience time.Duration, closeIt func() error) {
	closed := make(chan struct{})
	go func() {
		_ = closeIt()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(patience):
	}
}
