// Package wsclient reads from WebSocket clients that may be slow or hostile, and closes their
// connections.
//
// In: a connection. Out: text messages, and a close that waits no longer than the given time.
package wsclient

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// ReadText waits for the client's next message. It returns false if the client has gone or ctx has
// ended. It also returns false if the message is not text; then it closes the connection with that
// reason.
func ReadText(ctx context.Context, conn *websocket.Conn) ([]byte, bool) {
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

// CloseWithin runs closeIt, which tells the client why the connection is closed, and waits at most
// patience for it to return: a client that does not read cannot be told. After that closeIt goes on
// in a goroutine.
func CloseWithin(patience time.Duration, closeIt func() error) {
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
