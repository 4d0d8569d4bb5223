package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mintlake/mintlake/internal/pause"
)

const (
	// requestTimeout bounds one request. It detects a broker that accepts connections and does not
	// answer.
	requestTimeout = 10 * time.Second
	// metadataTTL bounds how long requests still go to a broker that leads the partition no longer.
	// kafka-go refreshes its metadata at a random time below it.
	metadataTTL = 3 * time.Second

	retryMin = 50 * time.Millisecond
	retryMax = time.Second

	// logEvery is the shortest time between two log lines of one sampler with the same message.
	logEvery = 10 * time.Second
)

// client is one pool of connections. Every producer and consumer has its own, so that closing one
// ends only its own requests.
type client struct {
	*kafkago.Client

	transport   *kafkago.Transport
	connections *dialer
}

// clientID names this program in the brokers' logs, unless the configuration gives another name.
const clientID = "mintlake"

func newClient(brokers []string, clientID string, security *Security) (*client, error) {
	if len(brokers) == 0 {
		return nil, errors.New("kafka: no brokers")
	}
	for _, broker := range brokers {
		if _, _, err := net.SplitHostPort(broker); err != nil {
			return nil, fmt.Errorf("kafka: broker %q: %w", broker, err)
		}
	}
	connections := &dialer{}
	if security != nil {
		connections.tls, connections.encrypted, connections.login = security.tls, &security.encrypted, security.sasl != nil
	}
	transport := &kafkago.Transport{
		Dial:        connections.dial,
		DialTimeout: 5 * time.Second,
		IdleTimeout: 30 * time.Second,
		MetadataTTL: metadataTTL,
		ClientID:    clientID,
	}
	if security != nil {
		transport.SASL = security.sasl
	}
	return &client{
		Client:    &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: transport, Timeout: requestTimeout},
		transport: transport, connections: connections,
	}, nil
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// partitions returns the number of partitions of each topic. A topic that does not exist is an
// error.
func (c *client) partitions(ctx context.Context, topics ...string) (map[string]int, error) {
	meta, err := c.Metadata(ctx, &kafkago.MetadataRequest{Topics: topics})
	if err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	counts := make(map[string]int, len(topics))
	for _, topic := range meta.Topics {
		if topic.Error != nil {
			return nil, fmt.Errorf("read metadata of %s: %w", topic.Name, topic.Error)
		}
		counts[topic.Name] = len(topic.Partitions)
	}
	for _, topic := range topics {
		if counts[topic] == 0 {
			return nil, fmt.Errorf("read metadata of %s: %w", topic, kafkago.UnknownTopicOrPartition)
		}
	}
	return counts, nil
}

// backoff is a wait that doubles from retryMin to retryMax.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

// wait doubles the time and waits for it. It returns false if ctx ended first.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = min(max(2*b.next, retryMin), retryMax)
	return pause.For(ctx, b.next) == nil
}

// rejoinBackoff is the backoff of a member of a group. A member that must rejoin does so at once,
// but only once in a row: a coordinator that answers every join in this way is not asked without a
// pause.
type rejoinBackoff struct {
	backoff
	rejoined bool // since the last reset
}

func (b *rejoinBackoff) reset() { *b = rejoinBackoff{} }

// waitAfter waits before the member joins again after err.
func (b *rejoinBackoff) waitAfter(ctx context.Context, err error) {
	atOnce := mustRejoin(err) && !b.rejoined
	b.rejoined = true
	if !atOnce {
		b.wait(ctx)
	}
}

// retry is like the function retry, with one difference. If do fails because a connection ended,
// and the dialer has found the wrong setting that caused this, the method returns the dialer's
// SecurityError.
func (c *client) retry(ctx context.Context, failed func(error), do func(context.Context) error) error {
	return retry(ctx, failed, func(ctx context.Context) error {
		err := do(ctx)
		if found := c.connections.found.Load(); found != nil && hungUp(err) {
			return found
		}
		return err
	})
}

// retry calls do until it succeeds, fails permanently, or ctx ends. The error of an ended ctx also
// wraps the last failure.
func retry(ctx context.Context, failed func(error), do func(context.Context) error) error {
	var b backoff
	var last error
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			if last == nil { // else keep last, which says more: err may only say that ctx ended
				last = err
			}
			return endedError(ctx, last)
		}
		last = err
		failed(err)
		if !Retryable(err) {
			return explainLogin(err)
		}
		if !b.wait(ctx) {
			return endedError(ctx, err)
		}
	}
}

// endedError returns the cause of the end of ctx. The error also wraps last, the failure before the
// end, if there was one.
func endedError(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	if last == nil || errors.Is(last, cause) {
		return cause
	}
	return fmt.Errorf("%w (last error: %w)", cause, last)
}

// sampler logs each message at most once in logEvery. The next log line says how many were
// suppressed.
type sampler struct {
	logger *slog.Logger

	mu   sync.Mutex
	seen map[string]*sample
}

type sample struct {
	last       time.Time
	suppressed int
}

func newSampler(logger *slog.Logger) *sampler {
	return &sampler{logger: logger, seen: make(map[string]*sample)}
}

// trouble logs an error if it is retryable. A permanent error is not logged: it is returned to the
// caller.
func (s *sampler) trouble(err error, message string, args ...any) {
	if Retryable(err) {
		s.warn(message, append(args, "err", err)...)
	}
}

// warn logs message, which must be one of a finite set: it is the key of the sampling.
func (s *sampler) warn(message string, args ...any) {
	s.mu.Lock()
	entry := s.seen[message]
	if entry == nil {
		entry = &sample{}
		s.seen[message] = entry
	}
	if time.Since(entry.last) < logEvery {
		entry.suppressed++
		s.mu.Unlock()
		return
	}
	suppressed := entry.suppressed
	entry.last, entry.suppressed = time.Now(), 0
	s.mu.Unlock()
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	s.logger.Warn(message, args...) //nolint:sloglint // its callers give constants
}

// joined joins names for log lines and error texts.
func joined(names []string) string { return strings.Join(names, ",") }
