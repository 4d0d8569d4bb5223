package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowRequest is what a slow client begins to send; it never sends the rest.
type slowRequest struct{ name, bytes string }

const (
	slowHeader = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
	slowBody   = "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n["
)

// slowRequests of each surface. A client of Kafka that sends half a frame is one too.
func slowRequests(surface string) []slowRequest {
	switch surface {
	case "kafka":
		return []slowRequest{{"half a length", "\x00\x00"}, {"half a frame", "\x00\x00\x10\x00\x00\x12\x00\x00"}}
	case "stream":
		return []slowRequest{
			{"header", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "}, {"half a preface", "PRI * HTTP/2.0\r\n\r\nSM"},
			{"no settings", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, {"body", fmt.Sprintf(slowBody, "/")},
		}
	}
	path := "/"
	switch surface {
	case "api":
		path = "/tokens/batch"
	case "metrics":
		path = "/metrics"
	}
	return []slowRequest{{"header", slowHeader}, {"body", fmt.Sprintf(slowBody, path)}}
}

// slowPatience is how long a server may wait for the rest of a request that has begun.
const slowPatience = 90 * time.Second

// TestHostileSlowClients: clients that send a byte now and then hold no port. Each is turned away,
// and others are served meanwhile.
func TestHostileSlowClients(t *testing.T) {
	up := underAttack(t, 3000)
	perKind := most(200, 25)
	var all sync.WaitGroup
	for _, surface := range surfaces {
		for _, request := range slowRequests(surface) {
			conns := make([]net.Conn, perKind)
			for n := range conns {
				conns[n] = up.attack(t, surface, slowPatience)
				_, err := io.WriteString(conns[n], request.bytes)
				require.NoError(t, err)
			}
			for _, conn := range conns {
				all.Go(func() {
					drip(conn)
					// An answer may come before the end; what counts is that the end comes.
					_, err := io.Copy(io.Discard, conn)
					assert.False(t, errors.Is(err, os.ErrDeadlineExceeded), "%s keeps a client that is slow with its %s", surface, request.name)
				})
			}
		}
	}
	all.Wait()
}

// drip sends a byte each second until the connection ends, so that a server that waits anew after
// each byte is found out.
func drip(conn net.Conn) {
	go func() {
		for {
			time.Sleep(time.Second)
			if _, err := conn.Write([]byte{'a'}); err != nil {
				return
			}
		}
	}()
}
