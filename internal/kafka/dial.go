package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mintlake/mintlake/internal/tlsclient"
)

const (
	connectTimeout = 3 * time.Second
	// probeTimeout bounds the probe whether a port that closed the connection wants a login.
	probeTimeout = 2 * time.Second
)

// SecurityError is a connection that cannot work until somebody changes a setting: the broker wants
// TLS or a login, or does not speak TLS, or a certificate is refused.
type SecurityError struct {
	// Addr is the broker, host:port.
	Addr string
	// Advice says what is wrong and what to do.
	Advice string
	// Err is the error of the connection.
	Err error
}

// Error implements error.
func (e *SecurityError) Error() string {
	return fmt.Sprintf("kafka at %s: %s (%v)", e.Addr, e.Advice, e.Err)
}

// Unwrap implements error.
func (e *SecurityError) Unwrap() error { return e.Err }

// dialer opens the connections of one client. kafka-go reports that an open connection ended, but
// not why. So the dialer keeps the first SecurityError that an open connection meets, and returns
// it for every later dial. A SecurityError of a TLS handshake is returned by that dial and not
// kept.
type dialer struct {
	tls *tls.Config
	// login is true if the client logs in. If it is false and a broker closes the connection, the
	// broker is asked whether it wants a login.
	login bool
	// encrypted is true once a TLS handshake succeeded. All clients of a Security share it. It is
	// nil if tls is.
	encrypted *atomic.Bool
	found     atomic.Pointer[SecurityError]
}

// dial opens a connection to a broker, with TLS if it is configured, and watches how the broker
// begins.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if found := d.found.Load(); found != nil {
		return nil, found
	}
	conn, err := d.open(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, explain: d.explain(addr), found: &d.found}, nil
}

// open dials and makes the TLS handshake if TLS is configured.
func (d *dialer) open(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, addr)
	if err != nil || d.tls == nil {
		return conn, err
	}
	config := d.tls.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	encrypted := tls.Client(conn, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, explainHandshake(addr, err, d.encrypted.Load())
	}
	d.encrypted.Store(true)
	return encrypted, nil
}

// explain returns the function that a watchedConn calls. If answered is false, first has the first
// bytes that the broker sent, or err is the error in their place. If answered is true, the broker
// has answered once, and err is the error in place of its next answer. The function returns nil if
// it finds no wrong setting.
func (d *dialer) explain(addr string) func(answered bool, first []byte, err error) *SecurityError {
	return func(answered bool, first []byte, err error) *SecurityError {
		switch {
		case answered:
			return d.explainHangup(addr, err)
		case d.tls == nil:
			return explainSilence(addr, first, err)
		default:
			// A TLS 1.3 server refuses a client's certificate only after the client has finished
			// the handshake.
			return explainAlert(addr, err)
		}
	}
}

// explainHandshake adds what an operator can do about a failed handshake. An error that may be
// transient is only wrapped. A port without TLS hangs up, and so does a broker that stops, or the
// proxy before it: so a hang-up is transient if an earlier handshake succeeded.
func explainHandshake(addr string, err error, earlier bool) error {
	var notTLS tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &notTLS), hungUp(err) && !earlier:
		return &SecurityError{addr, "this port seems to speak no TLS: name the brokers' TLS port, or turn kafka.tls.enabled off", err}
	case errors.As(err, &untrusted):
		return &SecurityError{addr, "the broker's certificate is not trusted: see kafka.tls.ca_file and kafka.tls.server_name", err}
	}
	if refused := explainAlert(addr, err); refused != nil {
		return refused
	}
	return fmt.Errorf("tls handshake with kafka at %s: %w", addr, err)
}

// explainAlert returns nil if the error is not a refusal by the broker.
func explainAlert(addr string, err error) *SecurityError {
	if tlsclient.Refused(err) {
		return &SecurityError{addr, "the broker refused this client: see kafka.tls.cert_file and kafka.tls.key_file", err}
	}
	return nil
}

// hungUp reports whether the other side ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// watchedConn watches the broker's first two answers, because a wrong setting shows there: the
// first one, and the one to the request after it. Later reads are passed through.
type watchedConn struct {
	net.Conn

	// explain: see dialer.explain.
	explain func(answered bool, first []byte, err error) *SecurityError
	found   *atomic.Pointer[SecurityError]
	// answered: the broker has answered once. asked: a request was sent after that. settled: that
	// request was answered too, so nothing is watched any more.
	answered, asked, settled atomic.Bool
}

// Write implements net.Conn.
func (c *watchedConn) Write(p []byte) (int, error) {
	if !c.settled.Load() && c.answered.Load() {
		c.asked.Store(true)
	}
	return c.Conn.Write(p) // an io.Writer passes on errors as they are
}

// Read implements net.Conn.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.settled.Load() {
		return n, err // an io.Reader passes on io.EOF as it is
	}
	answered, asked := c.answered.Load(), c.asked.Load()
	if !answered || asked && n == 0 {
		if found := c.explain(answered, p[:n], err); found != nil {
			c.found.CompareAndSwap(nil, found)
			return 0, found
		}
	}
	if n > 0 {
		c.answered.Store(true)
		c.settled.Store(asked)
	}
	return n, err // an io.Reader passes on io.EOF as it is
}

// tlsAlert and tlsMajor are the first two bytes of a TLS server's answer to bytes that are no
// handshake: a record of type alert, version 3.x.
const tlsAlert, tlsMajor = 21, 3

var errTLSAlert = errors.New("it answers with a TLS alert")

// explainSilence returns a SecurityError if a port that was spoken to in plain text wants TLS. A
// TLS alert proves that. A broker that only ends the connection may have other reasons, so the port
// is asked whether it speaks TLS.
func explainSilence(addr string, first []byte, err error) *SecurityError {
	switch {
	case len(first) >= 2 && first[0] == tlsAlert && first[1] == tlsMajor:
		err = errTLSAlert
	case len(first) > 0, !hungUp(err), !tlsclient.Speaks(addr):
		return nil
	}
	return &SecurityError{addr, "this port seems to want TLS: set kafka.tls.enabled", err}
}
