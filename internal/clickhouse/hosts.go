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

// retryAway is how long a host that did not answer is tried after all others.
const retryAway = 30 * time.Second

// AccessError says that a host cannot be used until somebody changes a setting: a wrong password, a
// certificate that is not trusted, or no TLS where the server wants it.
type AccessError struct {
	// Addr is the host, host:port.
	Addr string
	// Advice says what is wrong and what to do.
	Advice string
	// Err is the error of the connection.
	Err error
	// Passing says that the server may also just be stopping, so the error is retryable.
	Passing bool
}

// Error implements error.
func (e *AccessError) Error() string {
	return fmt.Sprintf("clickhouse at %s: %s (%s)", e.Addr, e.Advice, firstLine(e.Err))
}

// Unwrap implements error.
func (e *AccessError) Unwrap() error { return e.Err }

// firstLine returns the first line of an error. Errors of a ClickHouse server may have many.
func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// hostsError has the errors of all hosts of a data source name.
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

// hosts connects to the first host that answers, and remembers the hosts that did not answer.
type hosts struct {
	logger *slog.Logger

	mu   sync.Mutex
	away map[string]time.Time // when each host that is away failed last, by address
}

func newHosts(logger *slog.Logger) *hosts {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &hosts{logger: logger, away: map[string]time.Time{}}
}

// dial is a DialStrategy of clickhouse-go: it tries the hosts one after the other. Hosts that
// failed before another one answered are noted as away. If no host answers, none is noted.
func (h *hosts) dial(ctx context.Context, connID int, opt *ch.Options, dial ch.Dial) (ch.DialResult, error) {
	var failed hostsError
	order := h.order(connID, opt)
	for i, addr := range order {
		result, err := dialWithin(ctx, addr, opt, len(order)-i, dial)
		if err == nil {
			h.noteBack(addr)
			h.noteAway(order[:i], failed.failures, addr)
			return result, nil
		}
		failed.failures = append(failed.failures, explain(addr, opt, err))
		if ctx.Err() != nil {
			break
		}
	}
	return ch.DialResult{}, &failed
}

// dialWithin connects to addr. left is how many hosts can still be tried, addr included. If there
// are others, dialWithin uses only a share of the timeout, because a host that drops packets would
// use up all of it.
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

// order returns the hosts in the order of connection_open_strategy, a parameter of the data source
// name. Hosts that failed less than retryAway ago come last.
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

// noteAway notes that the hosts addrs failed before the host used answered. It logs each host that
// was not away before.
func (h *hosts) noteAway(addrs []string, failures []error, used string) {
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

// noteBack notes that a host answers.
func (h *hosts) noteBack(addr string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.away[addr]; known {
		delete(h.away, addr)
		h.logger.Info("clickhouse host is back", "addr", addr)
	}
}

// Codes of a refused login, from ClickHouse's src/Common/ErrorCodes.cpp.
const (
	codeUnknownUser          = 192
	codeWrongPassword        = 193
	codeRequiredPassword     = 194
	codeAuthenticationFailed = 516
)

// explain adds to the error of a failed connection what an operator can do about it. An error that
// may pass by itself gets only the host's address.
func explain(addr string, opt *ch.Options, err error) error {
	if advice := advise(addr, opt, err); advice != "" {
		return &AccessError{Addr: addr, Advice: advice, Err: err}
	}
	if opt.TLS != nil && hungUp(err) {
		return &AccessError{Addr: addr, Advice: noTLS, Err: err, Passing: true}
	}
	return fmt.Errorf("clickhouse at %s: %w", addr, err)
}

// advise returns what an operator can do about err. It returns an empty string if err may pass by
// itself.
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
		return "" // there was no connection: nothing listens there, or nobody waits any more
	case opt.Protocol == ch.HTTP && (errors.As(err, &silent) && silent.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return "" // an HTTP server is busy; a native client may be at an HTTP port, see below
	case tlsclient.Speaks(addr):
		return "this port seems to want TLS: clickhouse.dsn must be https://…, or clickhouse://…?secure=true"
	case opt.Protocol == ch.Native && tlsclient.SpeaksHTTP(addr):
		return "this port seems to be that of HTTP: name the native one (9000), or begin clickhouse.dsn with http://"
	}
	return ""
}

const noTLS = "this port seems to speak no TLS: name the TLS port (8443 for https://, 9440 for clickhouse://), or use http://, or take secure=true away"

// hungUp reports whether the server closed the connection. ClickHouse does so on a port without TLS
// when the client begins with TLS.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// adviseTLS is advise for a connection with TLS.
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

// refusedLogin reports whether ClickHouse, or a proxy in front of it, refused the login.
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
