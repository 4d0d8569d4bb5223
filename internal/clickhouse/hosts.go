package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/mintlake/mintlake/internal/tlsclient"
)

// retryAway is how long a host that did not answer comes after all others.
const retryAway = 30 * time.Second

// AccessError is a host that cannot be used before somebody changes a setting: wrong password, a
// certificate that is not trusted, no TLS where it is wanted.
type AccessError struct {
	// Addr is the host, host:port.
	Addr string
	// Advice says what is wrong and what to do.
	Advice string
	// Err is what the connection ended with.
	Err error
	// Passing says that it may also be a server that stops just now.
	Passing bool
}

// Error implements error.
func (e *AccessError) Error() string {
	return fmt.Sprintf("clickhouse at %s: %s (%s)", e.Addr, e.Advice, firstLine(e.Err))
}

// Unwrap implements error.
func (e *AccessError) Unwrap() error { return e.Err }

// firstLine drops what a server's long messages say behind their first line.
func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// hostsError is what every host of a data source name said.
type hostsError struct{ failures []error }

// Error implements error.
func (e *hostsError) Error() string {
	texts := make([]string, len(e.failures))
	for i, failure := range e.failures {
		texts[i] = failure.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap implements error.
func (e *hostsError) Unwrap() []error { return e.failures }

// hosts connects to the first host that answers and remembers those that did not.
type hosts struct {
	logger *slog.Logger

	mu   sync.Mutex
	away map[string]time.Time // when it failed last
}

func newHosts(logger *slog.Logger) *hosts {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &hosts{logger: logger, away: map[string]time.Time{}}
}

// dial is a clickhouse-go DialStrategy.
func (h *hosts) dial(ctx context.Context, connID int, opt *ch.Options, dial ch.Dial) (ch.DialResult, error) {
	var failed hostsError
	order := h.order(connID, opt)
	for i, addr := range order {
		result, err := dialWithin(ctx, addr, opt, len(order)-i, dial)
		if err == nil {
			h.back(addr)
			h.tell(order[:i], failed.failures, addr)
			return result, nil
		}
		failed.failures = append(failed.failures, explain(addr, opt, err))
		if ctx.Err() != nil {
			break
		}
	}
	return ch.DialResult{}, &failed
}

// dialWithin leaves time for the hosts behind this one: a host that swallows packets must not use
// up all of it.
func dialWithin(ctx context.Context, addr string, opt *ch.Options, left int, dial ch.Dial) (ch.DialResult, error) {
	if left <= 1 {
		return dial(ctx, addr, opt)
	}
	share := *opt
	share.DialTimeout = opt.DialTimeout / time.Duration(len(opt.Addr))
	ctx, cancel := context.WithTimeout(ctx, share.DialTimeout)
	defer cancel()
	return dial(ctx, addr, &share)
}

// order is the order of the data source name's connection_open_strategy, with hosts that were away
// a moment ago at its end.
func (h *hosts) order(connID int, opt *ch.Options) []string {
	n := len(opt.Addr)
	begin := 0
	switch opt.ConnOpenStrategy {
	case ch.ConnOpenRoundRobin:
		begin = connID % n
	case ch.ConnOpenRandom:
		begin = rand.IntN(n) //nolint:gosec // spreads load
	case ch.ConnOpenInOrder:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	first, last := make([]string, 0, n), []string(nil)
	for i := range n {
		addr := opt.Addr[(begin+i)%n]
		if failed, known := h.away[addr]; known && time.Since(failed) < retryAway {
			last = append(last, addr)
		} else {
			first = append(first, addr)
		}
	}
	return append(first, last...)
}

// tell remembers hosts that failed while another one answered, and logs each when it goes away.
func (h *hosts) tell(addrs []string, failures []error, used string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, addr := range addrs {
		_, known := h.away[addr]
		h.away[addr] = time.Now()
		if !known {
			h.logger.Warn("clickhouse host is away, another one is used", "addr", addr, "used", used, "err", failures[i])
		}
	}
}

func (h *hosts) back(addr string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.away[addr]; known {
		delete(h.away, addr)
		h.logger.Info("clickhouse host is back", "addr", addr)
	}
}

// Codes of ClickHouse's src/Common/ErrorCodes.cpp that refuse a login.
const (
	codeUnknownUser          = 192
	codeWrongPassword        = 193
	codeRequiredPassword     = 194
	codeAuthenticationFailed = 516
)

// explain says what an operator can do about a connection that failed. What may pass by itself only
// gets the host's name.
func explain(addr string, opt *ch.Options, err error) error {
	if advice := advise(addr, opt, err); advice != "" {
		return &AccessError{Addr: addr, Advice: advice, Err: err}
	}
	if opt.TLS != nil && hungUp(err) {
		return &AccessError{Addr: addr, Advice: noTLS, Err: err, Passing: true}
	}
	return fmt.Errorf("clickhouse at %s: %w", addr, err)
}

func advise(addr string, opt *ch.Options, err error) string {
	if refusedLogin(err) {
		return "the login is refused: see user and password of clickhouse.dsn, or clickhouse.username and clickhouse.password"
	}
	var exception *ch.Exception
	if errors.As(err, &exception) {
		return ""
	}
	if opt.TLS != nil {
		return adviseTLS(err)
	}
	var op *net.OpError
	var silent net.Error
	switch {
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, context.Canceled):
		return "" // nobody answered
	case opt.Protocol == ch.HTTP && (errors.As(err, &silent) && silent.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return "" // a server that is busy; the native protocol waits at a port of HTTP, too
	case tlsclient.Speaks(addr):
		return "this port seems to want TLS: clickhouse.dsn must be https://…, or clickhouse://…?secure=true"
	case opt.Protocol == ch.Native && tlsclient.SpeaksHTTP(addr):
		return "this port seems to be that of HTTP: name the native one (9000), or begin clickhouse.dsn with http://"
	}
	return ""
}

const noTLS = "this port seems to speak no TLS: name the TLS port (8443 for https://, 9440 for clickhouse://), or use http://, or take secure=true away"

// hungUp says whether the server ended the connection, as ClickHouse's plain ports do with who
// begins in TLS.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func adviseTLS(err error) string {
	var notTLS tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &notTLS), errors.Is(err, http.ErrSchemeMismatch):
		return noTLS
	case errors.As(err, &untrusted):
		return "the server's certificate is not trusted: see clickhouse.tls.ca_file and clickhouse.tls.server_name"
	case tlsclient.Refused(err):
		return "the server refused this client's certificate: see clickhouse.tls.cert_file and clickhouse.tls.key_file"
	}
	return ""
}

// refusedLogin knows ClickHouse's codes, and the status of a proxy before it.
func refusedLogin(err error) bool {
	var exception *ch.Exception
	if errors.As(err, &exception) {
		switch exception.Code {
		case codeUnknownUser, codeWrongPassword, codeRequiredPassword, codeAuthenticationFailed:
			return true
		}
		return false
	}
	var answer *ch.HTTPError
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
}
