package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mintlake/mintlake/internal/testkit/certs"
)

// pair is the files of a certificate, which may be exchanged.
type pair struct {
	authority *certs.Authority
	cert, key string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{certs.New(t), filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")}
	p.put(t, "first")
	return p
}

// put exchanges both files for those of a certificate of this name.
func (p *pair) put(t *testing.T, name string) {
	t.Helper()
	issued := p.authority.Issue(name, time.Now().Add(time.Hour))
	require.NoError(t, os.Rename(issued.CertFile, p.cert))
	require.NoError(t, os.Rename(issued.KeyFile, p.key))
}

// trust is a client's side.
func (p *pair) trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(p.authority.Cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// TestTLSAndPlainShareThePort: gRPC, WebSocket and HTTP, each in both ways.
func TestTLSAndPlainShareThePort(t *testing.T) {
	p := newPair(t)
	f := start(t, Config{CertFile: p.cert, KeyFile: p.key})
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: p.trust(), ForceAttemptHTTP2: true}}
	t.Cleanup(secure.CloseIdleConnections)

	conn, err := grpc.NewClient(f.Addr(), grpc.WithTransportCredentials(credentials.NewTLS(p.trust())))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	overTLS, err := pb.NewGeyserClient(conn).Subscribe(f.context(t))
	require.NoError(t, err)
	f.setFilters(t, overTLS, filters{"all": {}})
	plain := f.subscribe(t, filters{"all": {}})
	sockets := []*websocket.Conn{f.dial(t), nil}
	sockets[1], _, err = websocket.Dial(t.Context(), "wss://"+f.Addr()+"/?apiKey="+f.key, &websocket.DialOptions{HTTPClient: secure})
	require.NoError(t, err)
	t.Cleanup(func() { sockets[1].CloseNow() })
	for _, socket := range sockets {
		require.Contains(t, f.call(t, socket, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{}]}`), `"result":1`)
	}

	f.publish(tx{number: 1, keys: []byte{1}})
	for _, stream := range []pb.Geyser_SubscribeClient{overTLS, plain} {
		n, _ := next(t, stream)
		require.EqualValues(t, 1, n)
	}
	for _, socket := range sockets {
		_, message, err := socket.Read(f.context(t))
		require.NoError(t, err)
		require.Contains(t, string(message), "transactionNotification")
	}
	// Clients that speak both kinds of HTTP get the one in which the stream answers them.
	for _, url := range []string{"http://", "https://"} {
		answer, err := secure.Get(url + f.Addr() + "/healthz")
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusOK, answer.StatusCode, url)
	}
}

// TestTheCertificateIsExchangedWhileClientsAreConnected: who comes next is shown the new one, and
// nobody is cut off.
func TestTheCertificateIsExchangedWhileClientsAreConnected(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPair(t)
	f := start(t, Config{CertFile: p.cert, KeyFile: p.key})
	shown := func() string {
		conn, err := (&tls.Dialer{Config: p.trust()}).DialContext(f.context(t), "tcp", f.Addr())
		require.NoError(t, err)
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	require.Equal(t, "first", shown())
	socket, _, err := websocket.Dial(t.Context(), "wss://"+f.Addr()+"/?apiKey="+f.key,
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: p.trust()}}})
	require.NoError(t, err)
	t.Cleanup(func() { socket.CloseNow() })

	p.put(t, "second")
	require.Eventually(t, func() bool { return shown() == "second" }, patience, 50*time.Millisecond)
	require.Contains(t, f.call(t, socket, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), "pong", "who was connected goes on")
}

// TestAConnectionThatDoesNotBeginIsEnded: one that says nothing, and TLS handshakes that stop or go
// on for ever. Others are served meanwhile.
func TestAConnectionThatDoesNotBeginIsEnded(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPair(t)
	f := start(t, Config{CertFile: p.cert, KeyFile: p.key, beginTimeout: 5 * time.Second})
	record := []byte{22, 3, 1, 2, 0} // of 512 bytes, which do not come
	var all sync.WaitGroup
	for name, sent := range map[string][]byte{"nothing": {}, "a part of a record": record, "a part of a preface": []byte("PR")} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", f.Addr())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write(sent)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		dripping, stop := context.WithCancel(t.Context())
		go func() { // a byte now and then must not be a reason to wait on
			for len(sent) == len(record) && dripping.Err() == nil {
				if _, err := conn.Write([]byte{1}); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
		all.Go(func() {
			defer stop()
			answer, err := io.ReadAll(conn)
			assert.Equal(t, name == "nothing", strings.HasPrefix(string(answer), "HTTP/1.1 408 "), "%s: %s", name, answer)
			assert.True(t, err == nil || errors.Is(err, syscall.ECONNRESET), "%s: %v", name, err)
		})
	}
	// Within TLS it is told, too.
	secure, err := (&tls.Dialer{Config: p.trust()}).DialContext(f.context(t), "tcp", f.Addr())
	require.NoError(t, err)
	defer secure.Close()
	answer, err := io.ReadAll(secure)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 408 "), "%s", answer)
	all.Wait()

	require.InDelta(t, 1, testutil.ToFloat64(f.metrics.connectionsEnded.WithLabelValues(endedHandshake)), 0)
	require.InDelta(t, 3, testutil.ToFloat64(f.metrics.connectionsEnded.WithLabelValues(endedSilent)), 0)
}

// TestTLSIsRefusedAtOnceWhereThereIsNone: a client of TLS need not wait for its time to be over.
func TestTLSIsRefusedAtOnceWhereThereIsNone(t *testing.T) {
	f := start(t, Config{})
	_, err := (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(f.context(t), "tcp", f.Addr())
	require.ErrorContains(t, err, "handshake failure")
}
