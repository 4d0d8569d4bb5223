// Package tlsclient configures TLS for connections to the operator's own stores, such as Kafka and
// ClickHouse: which authorities to trust, and which certificate to present.
//
// In: PEM files. Out: a tls.Config, or an error of one line that names the setting and what is
// wrong. Speaks and SpeaksHTTP find out which protocol a port speaks.
// Guarantees: never less than TLS 1.2; a server's certificate is always verified.
package tlsclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// probeTimeout bounds Speaks and SpeaksHTTP.
const probeTimeout = 2 * time.Second

// Files are the settings. Each may be empty.
type Files struct {
	// CA is the file of the authorities that sign the servers' certificates. Empty means the
	// system's authorities.
	CA string
	// Cert and Key are the files of this client's certificate and its private key.
	Cert, Key string
	// ServerName is the name that the servers' certificates must have; empty means the host of each
	// address.
	ServerName string
}

// Load reads the files. prefix is the beginning of the settings' names in errors, such as
// "kafka.tls.".
func (f Files) Load(prefix string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("%sca_file: %w", prefix, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%sca_file: %s holds no certificate in PEM", prefix, f.CA)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, fmt.Errorf("%[1]scert_file and %[1]skey_file: one needs the other", prefix)
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("%[1]scert_file and %[1]skey_file: %[2]w", prefix, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Refused reports whether err is a TLS alert from the other side: it refuses this client's
// certificate, or wants one.
func Refused(err error) bool {
	var alert tls.AlertError
	var remote *net.OpError // how crypto/tls reports an alert that it received
	return errors.As(err, &alert) || errors.As(err, &remote) && remote.Op == "remote error"
}

// Speaks reports whether a port speaks TLS. The certificate is not verified, because nothing is
// sent.
func Speaks(addr string) bool {
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: probeTimeout},
		Config: &tls.Config{ //nolint:gosec // only asks whether the port speaks TLS
			InsecureSkipVerify: true,
		},
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
		return true
	}
	return Refused(err) // only a TLS server sends an alert
}

// SpeaksHTTP reports whether a port answers HTTP in plain text.
func SpeaksHTTP(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, probeTimeout)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(probeTimeout))
	if _, err := io.WriteString(conn, "GET /ping HTTP/1.0\r\n\r\n"); err != nil {
		return false
	}
	begin, err := bufio.NewReader(conn).Peek(len("HTTP/1."))
	return err == nil && strings.HasPrefix(string(begin), "HTTP/1.")
}
