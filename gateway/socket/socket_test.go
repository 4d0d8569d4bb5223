package socket

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// patience is what anything may take before it counts as hanging.
const patience = time.Minute

// echo answers each message with itself, refuses those that begin with !, and panics at a bug.
type echo struct {
	*Session
	out chan []byte
}

func (e *echo) Handle(text []byte) ([]byte, bool) {
	if string(text) == "bug" {
		panic("a bug")
	}
	return text, bytes.HasPrefix(text, []byte("!"))
}

func (e *echo) Answer(_ context.Context, answer []byte) { e.out <- answer }

func (e *echo) Send(ctx context.Context) {
	ping := e.Pings()
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case text := <-e.out:
			err = e.Write(text)
		case <-ping.C:
			err = e.Ping()
		}
		if err != nil {
			return
		}
	}
}

// serve returns a client of a session, the session's ending, and a channel that is closed after it.
func serve(t *testing.T, cfg Config) (client *websocket.Conn, ending *Ending, over chan struct{}) {
	t.Helper()
	for _, limit := range []*time.Duration{&cfg.PingInterval, &cfg.WriteTimeout, &cfg.GoodbyeTimeout} {
		if *limit == 0 {
			*limit = patience
		}
	}
	cfg.MessageBytes, cfg.Logger = 1<<10, slog.New(slog.DiscardHandler)
	if cfg.RefusalsPerSecond == 0 {
		cfg.RefusalsPerSecond = 1000
	}
	if cfg.Panics == nil {
		cfg.Panics = prometheus.NewCounter(prometheus.CounterOpts{Name: "panics_total", Help: "Panics."})
	}
	ending, over = NewEnding(), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := New(cfg, nil, ending)
		if s.Accept(w, r) == nil {
			s.Run(r.Context(), &echo{s, make(chan []byte, 4)})
			close(over)
		}
	}))
	t.Cleanup(server.Close)
	client, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { client.CloseNow() })
	return client, ending, over
}

func send(t *testing.T, client *websocket.Conn, text string) {
	t.Helper()
	require.NoError(t, client.Write(t.Context(), websocket.MessageText, []byte(text)))
}

func TestAnswers(t *testing.T) {
	client, _, over := serve(t, Config{Timings: Timings{PingInterval: 10 * time.Millisecond}})
	for _, text := range []string{"a", strings.Repeat("b", 200), "!c"} {
		send(t, client, text)
		_, got, err := client.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
	require.NoError(t, client.Close(websocket.StatusNormalClosure, ""))
	<-over
}

func TestAClientIsToldWhyItsSessionEnds(t *testing.T) {
	for why, code := range map[error]websocket.StatusCode{
		ErrStops: websocket.StatusGoingAway, ErrInternal: websocket.StatusInternalError, errors.New("too slow"): websocket.StatusPolicyViolation,
	} {
		client, ending, over := serve(t, Config{})
		require.False(t, ending.Over())
		ending.End(why)
		ending.End(errors.New("another reason"))
		_, _, err := client.Read(t.Context())
		require.Equal(t, code, websocket.CloseStatus(err), err)
		require.ErrorContains(t, err, why.Error())
		<-over
		require.True(t, ending.Over())
	}
}

func TestAPanicEndsTheSession(t *testing.T) {
	counted := prometheus.NewCounter(prometheus.CounterOpts{Name: "panics_total", Help: "Panics."})
	client, ending, over := serve(t, Config{Panics: counted})
	send(t, client, "bug")
	_, _, err := client.Read(t.Context())
	require.Equal(t, websocket.StatusInternalError, websocket.CloseStatus(err), err)
	<-over
	require.ErrorIs(t, ending.Why(), ErrInternal)
	require.EqualValues(t, 1, testutil.ToFloat64(counted))
}

func TestMessagesAreBoundedTexts(t *testing.T) {
	client, _, over := serve(t, Config{})
	send(t, client, strings.Repeat("a", 2<<10))
	_, _, err := client.Read(t.Context())
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err), err)
	<-over

	client, _, over = serve(t, Config{})
	require.NoError(t, client.Write(t.Context(), websocket.MessageBinary, []byte("a")))
	_, _, err = client.Read(t.Context())
	require.Equal(t, websocket.StatusUnsupportedData, websocket.CloseStatus(err), err)
	<-over
}

// TestASilentClientIsLeft: one that neither sends nor answers pings.
func TestASilentClientIsLeft(t *testing.T) {
	_, _, over := serve(t, Config{Timings: Timings{PingInterval: 10 * time.Millisecond, WriteTimeout: 50 * time.Millisecond}})
	select { // nothing reads, so the library answers no ping
	case <-over:
	case <-time.After(patience):
		t.Fatal("the session goes on")
	}
}

// TestErrorsAreAnsweredSlowly after the first ones.
func TestErrorsAreAnsweredSlowly(t *testing.T) {
	client, _, _ := serve(t, Config{Timings: Timings{RefusalsPerSecond: 1 / (2 * patience).Seconds()}})
	for range RefusalsFree + 1 {
		send(t, client, "!")
	}
	for range RefusalsFree {
		_, _, err := client.Read(t.Context())
		require.NoError(t, err)
	}
	late, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, err := client.Read(late)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestFrames(t *testing.T) {
	f := NewFrames()
	defer f.Release()
	f.Add([]byte("ab"), []byte("c"))
	require.Equal(t, []byte{frameText, 3, 'a', 'b', 'c'}, f.Bytes)
	require.False(t, f.Full())
	f.Add(make([]byte, framesSent))
	require.Equal(t, []byte{frameText, 127, 0, 0, 0, 0, 0, 1, 0, 0}, f.Bytes[5:15])
	require.True(t, f.Full())
}
