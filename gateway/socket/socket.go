// Package socket serves a client over a WebSocket: what the transaction stream and the
// subscriptions have in common.
//
// In: a request whose host, origin and key were checked; messages of the client. Out: answers and
// whatever else the client is to get. Guarantees: a client that is slow, silent or hostile holds up
// nobody but itself, and is told why its session ends. Messages, pings and error answers have
// rates. A panic ends its session only.
package socket

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/internal/steady"
)

// What a client may send over one connection: a burst, and a rate per second. Further messages
// wait, further pings get no pong. The first RefusalsFree error answers come at once, further ones
// at Config.RefusalsPerSecond: web3.js repeats a refused call at once, some five hundred times a
// second.
const (
	CallsFree      = 1_000
	CallsPerSecond = 200
	PingsFree      = 100
	PingsPerSecond = 10
	RefusalsFree   = 10
)

// Timings say how long a client may take, and at which rate it gets error answers.
type Timings struct {
	// RefusalsPerSecond is the rate of error answers.
	RefusalsPerSecond float64
	// PingInterval is the time between pings to the client. WriteTimeout is how long it may take to
	// accept a message, and to answer a ping. GoodbyeTimeout is how long it may take to accept the
	// reason why its session ends.
	PingInterval, WriteTimeout, GoodbyeTimeout time.Duration
}

// Usual are the timings of all WebSockets, unless a test has others.
func Usual() Timings { return Timings{1, 15 * time.Second, 10 * time.Second, time.Second} }

// Config of a session. All fields but Logger and Panics are required.
type Config struct {
	Timings

	// MessageBytes bounds one message of the client.
	MessageBytes int64
	Logger       *slog.Logger
	Panics       prometheus.Counter
}

// Client is what a session serves.
type Client interface {
	// Handle performs a message. It returns the answer, nil for none, and whether that is an error
	// answer.
	Handle(text []byte) (answer []byte, refused bool)
	// Answer passes an answer of Handle on to Send.
	Answer(ctx context.Context, answer []byte)
	// Send sends what the client is to get, pings included, until the connection fails or ctx ends.
	Send(ctx context.Context)
}

// Session is one WebSocket.
type Session struct {
	*Ending
	cfg    Config
	lease  *keys.Lease
	conn   *websocket.Conn
	frames *frameConn
	// pinged is when the last ping was sent, as steady.Now gives it; 0 if a pong or a message came
	// after it.
	pinged                 atomic.Int64
	calls, pings, refusals *rate.Limiter
}

// New returns a session that is not connected yet. The caller may end it with ending. lease is that
// of the client's key: it counts the bytes that are sent, and the session ends when the lease ends.
// A nil lease counts nothing and does not end.
func New(cfg Config, lease *keys.Lease, ending *Ending) *Session {
	return &Session{
		Ending: ending, cfg: cfg, lease: lease,
		calls: rate.NewLimiter(CallsPerSecond, CallsFree), pings: rate.NewLimiter(PingsPerSecond, PingsFree),
		refusals: rate.NewLimiter(rate.Limit(cfg.RefusalsPerSecond), RefusalsFree),
	}
}

// Accept upgrades the request, or answers why it cannot.
func (s *Session) Accept(w http.ResponseWriter, r *http.Request) error {
	upgrade := &upgrader{ResponseWriter: w}
	// No compression: for each client it would cost more than everything else together.
	conn, err := websocket.Accept(upgrade, r, &websocket.AcceptOptions{
		// The caller has checked the origin: the library's patterns know no schemes.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
		OnPongReceived:     func(context.Context, []byte) { s.pinged.Store(0) },
		OnPingReceived:     func(context.Context, []byte) bool { return s.pings.Allow() },
	})
	if err != nil {
		return err
	}
	conn.SetReadLimit(s.cfg.MessageBytes)
	s.conn, s.frames = conn, upgrade.conn
	s.frames.lease = s.lease
	return nil
}

// Run serves the client until the client leaves or breaks the protocol, End is called, the lease of
// the client's key ends, or something panics.
func (s *Session) Run(ctx context.Context, client Client) {
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	over := make(chan struct{}, 2)
	for _, work := range []func(){func() { s.receive(ctx, client) }, func() { client.Send(ctx) }} {
		both.Go(func() {
			defer panics.Catch(s.cfg.Logger, s.cfg.Panics, s.panicked)
			work()
			over <- struct{}{}
		})
	}
	select {
	case <-over:
	case <-s.Ended():
		s.sayGoodbye()
	case <-s.lease.Ended():
		s.End(s.lease.Why())
		s.sayGoodbye()
	}
	cancel()              // ends receive: the library closes a connection whose read is canceled
	_ = s.conn.CloseNow() // ends a write that waits for the client
	both.Wait()
}

func (s *Session) panicked() { s.End(ErrInternal) }

// sayGoodbye closes the connection with the reason why the session ends. It waits at most
// GoodbyeTimeout for the client to read the reason.
func (s *Session) sayGoodbye() {
	code := websocket.StatusPolicyViolation
	switch {
	case errors.Is(s.Why(), ErrStops):
		code = websocket.StatusGoingAway
	case errors.Is(s.Why(), ErrInternal):
		code = websocket.StatusInternalError
	}
	closeWithin(s.cfg.GoodbyeTimeout, func() error {
		s.frames.stop()
		return s.conn.Close(code, s.Why().Error())
	})
}

// receive reads and performs the client's messages until the connection fails. It waits if the
// client sends messages too fast or gets error answers too fast. It waits before it answers, so a
// client that calls again only after an answer is slowed down, too.
func (s *Session) receive(ctx context.Context, client Client) {
	for {
		text, ok := readText(ctx, s.conn)
		if !ok {
			return
		}
		s.pinged.Store(0) // the client lives, though its pong may come behind calls that wait here
		if s.calls.Wait(ctx) != nil {
			return
		}
		var answer []byte
		var refused bool
		handled := make(chan bool, 1)
		// A goroutine of its own handles the message. It needs a deep stack, which this goroutine
		// would keep until the client leaves.
		go func() {
			defer close(handled)
			defer panics.Catch(s.cfg.Logger, s.cfg.Panics, s.panicked)
			answer, refused = client.Handle(text)
			handled <- true
		}()
		if !<-handled { // it panicked, so Run ends the session
			<-ctx.Done()
			return
		}
		if refused && s.refusals.Wait(ctx) != nil {
			return
		}
		if answer != nil {
			client.Answer(ctx, answer)
		}
	}
}

// RefusalDelay returns how long an error answer must wait that a Client sends by itself, because it
// was not ready when Handle returned. The answer counts for Timings.RefusalsPerSecond.
func (s *Session) RefusalDelay() time.Duration { return s.refusals.Reserve().Delay() }

// Pings returns a ticker that says when to call Ping. The caller stops it.
func (s *Session) Pings() *time.Ticker { return time.NewTicker(s.cfg.PingInterval) }

var errNoPong = errors.New("no pong came")

// Ping sends a ping, unless the last ping is unanswered; a pong or any message answers it. If the
// last ping has been unanswered for longer than WriteTimeout, Ping returns errNoPong.
func (s *Session) Ping() error {
	now := steady.Now()
	switch at := s.pinged.Load(); {
	case at == 0:
		s.pinged.Store(now)
		return s.write(framePing, nil)
	case now-at > int64(s.cfg.WriteTimeout):
		return errNoPong
	}
	return nil
}

// Write sends a message.
func (s *Session) Write(text []byte) error { return s.write(frameText, text) }

func (s *Session) write(kind byte, payload []byte) error {
	f := NewFrames()
	defer f.Release()
	f.add(kind, payload)
	return s.Flush(f)
}

// Flush sends the frames and empties f.
func (s *Session) Flush(f *Frames) error {
	if len(f.Bytes) == 0 {
		return nil
	}
	defer func() { f.Bytes = f.Bytes[:0] }()
	return s.frames.send(s.cfg.WriteTimeout, f.Bytes)
}
