package stream

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mintlake/mintlake/gateway/socket"
)

// TestTrafficIsCountedHoweverItIsCut: a connection's bytes come in any pieces.
func TestTrafficIsCountedHoweverItIsCut(t *testing.T) {
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	frames := http2.NewFramer(&sent, nil)
	require.NoError(t, frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
	require.NoError(t, frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 70), EndHeaders: true}))
	require.NoError(t, frames.WriteData(1, false, make([]byte, 1000)))
	require.NoError(t, frames.WriteWindowUpdate(0, 5))
	require.NoError(t, frames.WriteData(1, true, nil))
	require.NoError(t, frames.WriteRSTStream(1, http2.ErrCodeCancel))
	require.NoError(t, frames.WritePing(false, [8]byte{}))
	for piece := 1; piece <= sent.Len(); piece++ {
		var sum cost
		of := traffic{http2: true}
		for rest := sent.Bytes(); len(rest) > 0; {
			n := min(piece, len(rest))
			c := of.count(rest[:n])
			sum, rest = cost{sum.frames + c.frames, sum.updates + c.updates, sum.bytes + c.bytes}, rest[n:]
		}
		require.Equal(t, cost{frames: 6, updates: 1, bytes: 1000}, sum, "in pieces of %d", piece)
	}
	require.Equal(t, cost{bytes: 7}, new(traffic).count([]byte("GET / H")))
}

// FuzzTraffic: whatever a client sends, frames and bytes together count as no more than the bytes
// sent, and no count is negative.
func FuzzTraffic(f *testing.F) {
	f.Add([]byte(http2.ClientPreface), 3)
	f.Add(append([]byte(http2.ClientPreface), 0, 0, 0, 4, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0, 0), 1)
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		of := traffic{http2: true}
		for rest := sent; len(rest) > 0; {
			n := min(max(piece, 1), len(rest))
			c := of.count(rest[:n])
			if c.bytes+c.frames+c.updates > n || c.bytes < 0 || of.left < 0 || of.got >= frameHead {
				t.Fatalf("%d bytes count as %+v", n, c)
			}
			rest = rest[n:]
		}
	})
}

// TestBudgetsDoNotComeAnewWithAConnection: a new connection goes on with what its address has left.
// Another address has a budget of its own.
func TestBudgetsDoNotComeAnewWithAConnection(t *testing.T) {
	b := newBounds(10, 5, nil)
	one, other := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2)}
	now := time.Now()
	spent, why := b.enter(one)
	require.Nil(t, why)
	require.Zero(t, spent.take(now, cost{frames: framesFree}))
	b.Leave(one)
	again, _ := b.enter(one)
	require.InDelta(t, time.Second, again.take(now, cost{frames: framesPerSecond}), float64(time.Millisecond))
	fresh, _ := b.enter(other)
	require.Zero(t, fresh.take(now, cost{frames: framesFree}))

	require.InDelta(t, 10*time.Second, newBudget().take(now, cost{frames: framesFree + 10*framesPerSecond}), float64(time.Millisecond), "more than there ever is")
	require.Zero(t, newBudget().take(now, cost{updates: updatesFree, bytes: bytesFree}))
	require.Positive(t, newBudget().take(now, cost{bytes: bytesFree + 1}))
}

// TestAFloodDoesNotOweMoreAndMore: what is refused is not taken from the budget.
func TestAFloodDoesNotOweMoreAndMore(t *testing.T) {
	b, now := newBudget(), time.Now()
	for range 1000 {
		b.take(now, cost{frames: framesFree, updates: updatesFree, bytes: bytesFree})
	}
	require.LessOrEqual(t, b.take(now, cost{frames: 1, updates: 1, bytes: 1}), longestWait+time.Second)
	now = now.Add(longestWait)
	require.Zero(t, b.take(now.Add(time.Second), cost{frames: 1, updates: 1, bytes: 1}))
}

// TestAddressesThatAreGoneAreForgotten: once their budgets are as new.
func TestAddressesThatAreGoneAreForgotten(t *testing.T) {
	b := newBounds(10, 5, nil)
	at := func(n int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, byte(n>>8), byte(n))} }
	for n := range 3 * budgetsKept {
		budget, _ := b.enter(at(n))
		if n < 100 {
			budget.take(time.Now().Add(time.Hour), cost{frames: framesFree})
		}
		b.Leave(at(n))
	}
	require.Less(t, len(b.budgets), 2*budgetsKept)
	for n := range 100 {
		require.Contains(t, b.budgets, keyOf(t, b, at(n)), "it has spent its budget")
	}
}

// TestAWaitEndsWithItsConnection, and with the server. Neither is a flood; what would have to wait
// too long is one.
func TestAWaitEndsWithItsConnection(t *testing.T) {
	for name, end := range map[string]func(*splitter, *peeked){
		"connection": func(_ *splitter, p *peeked) { _ = p.Close() },
		"server":     func(s *splitter, _ *peeked) { close(s.done) },
	} {
		m := start(t, Config{}).metrics
		floods := func() float64 { return testutil.ToFloat64(m.connectionsEnded.WithLabelValues(endedFlood)) }
		s := &splitter{metrics: m, done: make(chan struct{})}
		near, far := net.Pipe()
		defer far.Close()
		p := s.peeked(near, nil, newBudget())
		require.NoError(t, p.pay(cost{frames: framesFree}))
		waited := make(chan error, 1)
		go func() { waited <- p.pay(cost{frames: framesPerSecond * 20}) }()
		require.Eventually(t, func() bool { return testutil.ToFloat64(m.floods) > 0 }, patience, time.Millisecond)
		end(s, p)
		select {
		case err := <-waited:
			require.ErrorIs(t, err, net.ErrClosed, name)
		case <-time.After(10 * time.Second):
			t.Fatal("it waits although it is over: " + name)
		}
		require.Zero(t, floods(), name)
		require.ErrorIs(t, p.pay(cost{frames: framesPerSecond * 40}), errFlood)
		require.InDelta(t, 1, floods(), 0)
	}
}

func keyOf(t *testing.T, b *bounds, at net.Addr) any {
	t.Helper()
	key, ok := b.shared.NetworkOf(at)
	require.True(t, ok)
	return key
}

// TestAFloodIsSlowedDown: of the settings that a client sends as fast as it can, the server takes
// and acknowledges as many as one client may send. Others are served meanwhile.
func TestAFloodIsSlowedDown(t *testing.T) {
	f := start(t, Config{})
	conn, err := from("127.0.0.2")(t.Context(), f.Addr())
	require.NoError(t, err)
	defer conn.Close()
	begun := time.Now()
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	go func() {
		for frames := http2.NewFramer(conn, nil); frames.WriteSettings() == nil; {
		}
	}()
	acknowledged, slowed := 0, false
	require.NoError(t, conn.SetReadDeadline(begun.Add(patience)))
	for frames := http2.NewFramer(nil, conn); ; {
		if !slowed && acknowledged > 0 && testutil.ToFloat64(f.metrics.floods) > 0 {
			slowed = true
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Second)))
		}
		frame, err := frames.ReadFrame()
		if err != nil {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			break
		}
		if settings, ok := frame.(*http2.SettingsFrame); ok && settings.IsAck() {
			acknowledged++
		}
	}
	seconds := int(time.Since(begun)/time.Second) + 1
	require.NoError(t, f.ask(t, "127.0.0.3", insecure.NewCredentials()))
	require.True(t, slowed)
	const read = 32 << 10 / frameHead // what the server reads at one time, and pays for together
	require.LessOrEqual(t, acknowledged, framesFree+read+seconds*framesPerSecond)
}

// TestAFloodOverWebSocketIsSlowedDown: pings have no pong, and calls wait, beyond what one
// connection may send.
func TestAFloodOverWebSocketIsSlowedDown(t *testing.T) {
	f := start(t, Config{})
	mask := []byte{0, 0, 0, 0}
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	for name, c := range map[string]struct {
		frame           []byte
		kind            byte // of the answer
		free, perSecond int
	}{
		"pings": {append([]byte{0x89, 0x80}, mask...), 0x8a, socket.PingsFree, socket.PingsPerSecond},
		"calls": {append(append([]byte{0x81, 0x80 | byte(len(call))}, mask...), call...), 0x81, socket.CallsFree, socket.CallsPerSecond},
	} {
		conn, err := from("127.0.0.2")(t.Context(), f.Addr())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET /?apiKey="+f.key+" HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		require.NoError(t, err)
		reader := bufio.NewReader(conn)
		answer, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
		begun := time.Now()
		go func() { _, _ = conn.Write(bytes.Repeat(c.frame, 5000)) }()
		require.NoError(t, conn.SetReadDeadline(begun.Add(patience)))
		answers := 0
		for {
			head := make([]byte, 2)
			if _, err := io.ReadFull(reader, head); err != nil {
				break
			}
			if _, err := reader.Discard(int(head[1])); err != nil {
				break
			}
			if head[0] != c.kind {
				continue
			}
			if answers++; answers == 1 {
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Second)))
			}
		}
		require.Positive(t, answers, name)
		require.LessOrEqual(t, answers, c.free+(int(time.Since(begun)/time.Second)+1)*c.perSecond, name)
		conn.Close()
	}
}
