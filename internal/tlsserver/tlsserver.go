// Package tlsserver is TLS of a server whose certificate is exchanged while it runs.
//
// In: PEM files of a certificate, with its chain, and its private key. Out: a tls.Config; from when
// on the certificate is out of date. Guarantees: never less than TLS 1.2; files that cannot be
// read, or do not fit together, never take the place of what was read before; no part of a key
// stands in an error.
//
// gRPC's certprovider/pemfile does the same, but logs the key of a pair that does not fit together.
package tlsserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// looked is how often the files are looked at while there are handshakes.
const looked = time.Second

// Certificate is what a server shows.
type Certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	every             time.Duration

	pair atomic.Pointer[tls.Certificate]

	// mu is held while the files are looked at. No handshake waits for it: a disk may be slow.
	mu   sync.Mutex
	last time.Time // of the look
	seen [2]stamp  // of the files, as they were read or failed to be
}

// stamp changes when a file does. A link to another file has that file's.
type stamp struct {
	changed time.Time
	size    int64
}

// Load reads the files. logger may be nil.
func Load(certFile, keyFile string, logger *slog.Logger) (*Certificate, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("cert_file and key_file: one needs the other")
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &Certificate{certFile: certFile, keyFile: keyFile, logger: logger, every: looked, last: time.Now()}
	c.seen, _ = c.stamps() // a file that cannot be asked cannot be read either
	pair, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("cert_file and key_file: %w", err)
	}
	c.pair.Store(pair)
	return c, nil
}

// Config is that of a server which speaks protocols, the preferred one first.
func (c *Certificate) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
}

// Expires is from when on the certificate is out of date.
func (c *Certificate) Expires() time.Time { return c.current().Leaf.NotAfter }

// current is the certificate, read again if its files changed since the last look. While another
// handshake looks, it is the last one.
func (c *Certificate) current() *tls.Certificate {
	if !c.mu.TryLock() {
		return c.pair.Load()
	}
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.last) < c.every {
		return c.pair.Load()
	}
	c.last = now
	seen, err := c.stamps()
	if err == nil && seen == c.seen {
		return c.pair.Load()
	}
	var pair *tls.Certificate
	if err == nil {
		pair, err = c.read()
	}
	switch {
	case err == nil:
		c.pair.Store(pair)
		c.logger.Info("certificate read again", "file", c.certFile, "expires", pair.Leaf.NotAfter)
	case seen != c.seen: // told once; it may be that only one of the two files was exchanged yet
		c.logger.Warn("the new certificate cannot be used, the old one stays", "file", c.certFile, "err", err)
	}
	c.seen = seen
	return c.pair.Load()
}

func (c *Certificate) read() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return nil, err
	}
	if pair.Leaf == nil { // not with GODEBUG=x509keypairleaf=0
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, err
		}
	}
	return &pair, nil
}

// stamps are the zero ones of files that cannot be asked.
func (c *Certificate) stamps() (both [2]stamp, first error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return [2]stamp{}, err
		}
		both[i] = stamp{info.ModTime(), info.Size()}
	}
	return both, nil
}
