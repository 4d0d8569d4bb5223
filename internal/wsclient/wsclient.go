// Package wsclient talks with WebSocket clients that may be slow or hostile.
//
// In: a connection. Out: text messages, and a close that waits no longer than it is told to.
package wsclient

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// ReadText waits for the client's next message. It is false when the client has gone, ctx has
// ended, or the message is not text, which closes the connection with that reason.
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

// CloseWithin runs closeIt, which tells the client why, and waits for it until patience is over: a
// client that does not read cannot be told.
func CloseWithin(patience time.Duration, closeIt func() error) {
	told := make(chan struct{})
	go func() {
		_ = closeIt()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(patience):
	}
}
