package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowRequest is what a slow client begins to send; it never sends the rest. drip is what it sends
// each second, one byte where it is empty.
type slowRequest struct{ name, bytes, drip string }

const (
	slowHeader    = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
	slowBody      = "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n["
	slowHandshake = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	// websocketOpen is a whole handshake; the key is RFC 6455's example.
	websocketOpen = slowHandshake + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	// The first bytes of masked frames, RFC 6455 section 5.2: a text of 4096 bytes, a text that
	// other frames go on with, and a frame without bytes that does.
	frameLong, frameFirst, frameEmpty = "\x81\xfe\x10\x00\x00\x00\x00\x00{", "\x01\x81\x00\x00\x00\x00{", "\x00\x80\x00\x00\x00\x00"
)

// slowWebSockets are clients that are slow with a handshake, or once it is over. None answers
// pings.
func slowWebSockets() []slowRequest {
	return []slowRequest{
		{name: "handshake", bytes: slowHandshake + "X-Slow: "}, {name: "frame's head", bytes: websocketOpen + "\x81\xfe", drip: "\x10"},
		{name: "frame", bytes: websocketOpen + frameLong}, {name: "fragments", bytes: websocketOpen + frameFirst, drip: frameEmpty},
	}
}

// slowRequests of each surface. A client of Kafka that sends half a frame is one too.
func slowRequests(surface string) []slowRequest {
	switch surface {
	case "kafka":
		return []slowRequest{{name: "half a length", bytes: "\x00\x00"}, {name: "half a frame", bytes: "\x00\x00\x10\x00\x00\x12\x00\x00"}}
	case "stream":
		return append(slowWebSockets(), slowRequest{name: "header", bytes: "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "},
			slowRequest{name: "half a preface", bytes: "PRI * HTTP/2.0\r\n\r\nSM"}, slowRequest{name: "no settings", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
			slowRequest{name: "body", bytes: fmt.Sprintf(slowBody, "/")})
	}
	path := map[string]string{"api": "/tokens/batch", "metrics": "/metrics", "admin": "/session"}[surface]
	requests := []slowRequest{{name: "header", bytes: slowHeader}, {name: "body", bytes: fmt.Sprintf(slowBody, cmp.Or(path, "/"))}}
	if slices.Contains(webSockets, surface) {
		requests = append(requests, slowWebSockets()...)
	}
	return requests
}

// slowPatience is how long a server may wait for the rest of a request that has begun.
const slowPatience = 90 * time.Second

// TestHostileSlowClients: clients that send a byte now and then hold no port. Each is turned away,
// and others are served meanwhile.
func TestHostileSlowClients(t *testing.T) {
	t.Parallel() // it waits for what servers give up
	up := underAttack(t, 3000)
	perKind := most(200, 25)
	var all sync.WaitGroup
	for _, surface := range attacked {
		for _, request := range slowRequests(surface) {
			conns := make([]net.Conn, perKind)
			if surface == "admin" { // it serves 64 at a time, and others wait for their turn
				conns = conns[:25]
			}
			for n := range conns {
				conns[n] = up.attack(t, surface, slowPatience)
				_, err := io.WriteString(conns[n], request.bytes)
				require.NoError(t, err)
			}
			for _, conn := range conns {
				all.Go(func() {
					drip(conn, cmp.Or(request.drip, "a"))
					// An answer may come before the end; what counts is that the end comes.
					_, err := io.Copy(io.Discard, conn)
					assert.False(t, errors.Is(err, os.ErrDeadlineExceeded), "%s keeps a client that is slow with its %s", surface, request.name)
				})
			}
		}
	}
	all.Wait()
}

// drip sends a little each second until the connection ends, so that a server that waits anew after
// each byte is found out.
func drip(conn net.Conn, little string) {
	go func() {
		for {
			time.Sleep(time.Second)
			if _, err := io.WriteString(conn, little); err != nil {
				return
			}
		}
	}()
}
