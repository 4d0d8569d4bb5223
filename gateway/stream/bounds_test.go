package stream

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/access/proxies"
)

// from dials from an address of its own on loopback.
func from(address string) func(ctx context.Context, addr string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(ctx, "tcp", addr)
	}
}

// hold opens n connections that say nothing. Others than these must be gone soon, or held before.
func (f *fixture) hold(t *testing.T, address string, n, before int) (conns []net.Conn) {
	t.Helper()
	require.Eventually(t, func() bool { return f.open.Open() == before }, patience, time.Millisecond)
	for range n {
		conn, err := from(address)(t.Context(), f.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
	}
	require.Eventually(t, func() bool { return f.open.Open() == before+n }, patience, time.Millisecond)
	return conns
}

// awaitRefusals waits until nobody is being told why it is turned away: a few are at one time.
func (f *fixture) awaitRefusals(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return f.refusals.Open() == 0 }, patience, time.Millisecond)
}

// ask is a gRPC call from an address.
func (f *fixture) ask(t *testing.T, address string, secure credentials.TransportCredentials) error {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+f.Addr(), grpc.WithTransportCredentials(secure), grpc.WithContextDialer(from(address)))
	require.NoError(t, err)
	defer conn.Close()
	_, err = pb.NewGeyserClient(conn).Ping(f.context(t), &pb.PingRequest{Count: 1})
	return err
}

// httpFrom speaks HTTP from an address.
func httpFrom(t *testing.T, address string, secure *tls.Config) *http.Client {
	transport := &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true, DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return from(address)(ctx, addr)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestOneMoreConnectionIsRefusedWithTheReason: in what the client speaks, plain and within TLS. The
// connections of one address are no other's matter.
func TestOneMoreConnectionIsRefusedWithTheReason(t *testing.T) {
	p := newPair(t)
	f := start(t, Config{MaxConnections: 6, MaxConnectionsPerAddress: 3, CertFile: p.cert, KeyFile: p.key})
	held := f.hold(t, "127.0.0.2", 3, 0)
	refused := func(address string, code int, reason string) {
		t.Helper()
		for scheme, secure := range map[string]credentials.TransportCredentials{"http": insecure.NewCredentials(), "https": credentials.NewTLS(p.trust())} {
			f.awaitRefusals(t)
			err := f.ask(t, address, secure)
			require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
			require.ErrorContains(t, err, reason)

			f.awaitRefusals(t)
			http1 := httpFrom(t, address, p.trust())
			for _, probe := range []string{"/healthz", "/readyz"} {
				answer, err := http1.Get(scheme + "://" + f.Addr() + probe)
				require.NoError(t, err)
				answer.Body.Close()
				require.Equal(t, http.StatusOK, answer.StatusCode, "probes are answered beyond the limits")
				require.True(t, answer.Close)
			}

			f.awaitRefusals(t)
			answer, err := http1.Get(scheme + "://" + f.Addr() + "/status")
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			answer.Body.Close()
			require.Equal(t, code, answer.StatusCode)
			require.Equal(t, "5", answer.Header.Get("Retry-After"))
			require.Contains(t, string(body), reason)

			f.awaitRefusals(t)
			_, answer, err = websocket.Dial(t.Context(), scheme+"://"+f.Addr()+"/?apiKey="+f.key, &websocket.DialOptions{HTTPClient: http1})
			require.Error(t, err)
			require.Equal(t, code, answer.StatusCode)
		}
	}
	refused("127.0.0.2", http.StatusTooManyRequests, "as many connections of your address as it may: 3")
	require.NoError(t, f.ask(t, "127.0.0.3", insecure.NewCredentials()), "another address has its own")

	f.hold(t, "127.0.0.3", 3, 3)
	refused("127.0.0.4", http.StatusServiceUnavailable, "as many connections as it may: 6")

	require.NoError(t, held[0].Close())
	require.Eventually(t, func() bool { return f.ask(t, "127.0.0.4", insecure.NewCredentials()) == nil }, patience, 10*time.Millisecond)
	require.Positive(t, testutil.ToFloat64(f.metrics.connectionsEnded.WithLabelValues(endedAddress)))
	require.Positive(t, testutil.ToFloat64(f.metrics.connectionsEnded.WithLabelValues(endedFull)))
}

// TestManyThatAreTurnedAwayCostNothing: each is told why, whether or not it says something, and
// none stays. Others are served meanwhile.
func TestManyThatAreTurnedAwayCostNothing(t *testing.T) {
	f := start(t, Config{MaxConnectionsPerAddress: 5})
	f.hold(t, "127.0.0.2", 5, 0)
	for range 200 {
		conn, err := from("127.0.0.2")(t.Context(), f.Addr())
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		defer func() {
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusTooManyRequests, answer.StatusCode)
			answer.Body.Close()
		}()
	}
	require.NoError(t, f.ask(t, "127.0.0.3", insecure.NewCredentials()))
	require.LessOrEqual(t, f.open.Open(), 5+1, "the five, and the one that was served")
}

// TestATrustedProxyHasOnlyTheBoundOfAll: its connections are many clients'.
func TestATrustedProxyHasOnlyTheBoundOfAll(t *testing.T) {
	trusted, err := proxies.Parse([]string{"127.0.0.2"})
	require.NoError(t, err)
	f := start(t, Config{MaxConnectionsPerAddress: 1, TrustedProxies: trusted})
	f.hold(t, "127.0.0.2", 20, 0)
	require.NoError(t, f.ask(t, "127.0.0.2", insecure.NewCredentials()))
}

// TestAddressesOfIPv6CountByTheirNetwork: a client has its 64 bits whole.
func TestAddressesOfIPv6CountByTheirNetwork(t *testing.T) {
	b := newBounds(10, 1, nil)
	at := func(address string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(address), Port: 1} }
	refused := func(address string) bool {
		_, why := b.enter(at(address))
		return why != nil
	}
	require.False(t, refused("2001:db8::1"))
	require.True(t, refused("2001:db8::2"))
	require.False(t, refused("2001:db8:0:1::1"))
	require.False(t, refused("::ffff:192.0.2.1"))
	require.True(t, refused("192.0.2.1"), "the same address, written in two ways")
	b.Leave(at("2001:db8::1"))
	require.False(t, refused("2001:db8::2"))
	require.Equal(t, 3, b.Open())
}

// TestAConnectionThatAsksForNothingGoes: although it answers every ping.
func TestAConnectionThatAsksForNothingGoes(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := start(t, Config{idleTimeout: 500 * time.Millisecond})
	conn, err := from("127.0.0.2")(t.Context(), f.Addr())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	frames := http2.NewFramer(conn, conn)
	require.NoError(t, frames.WriteSettings())
	told := false
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				require.NoError(t, frames.WriteSettingsAck())
			}
		case *http2.PingFrame:
			if err := frames.WritePing(true, frame.Data); err != nil {
				t.Log(err)
			}
		case *http2.GoAwayFrame:
			told = true
		}
	}
	require.True(t, told)
	require.Eventually(t, func() bool { return f.open.Open() == 0 }, patience, time.Millisecond)
}
