// Package tlsserver configures TLS for a server whose certificate files may be replaced while it
// runs.
//
// In: PEM files of a certificate, with its chain, and its private key. Out: a tls.Config, and when
// the certificate expires. Guarantees: never less than TLS 1.2; files that cannot be read, or do
// not belong together, never replace the certificate that was read before; no error contains a part
// of a key.
//
// gRPC's certprovider/pemfile does the same, but logs the key if the files do not belong together.
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

// checkEvery is how often the files are checked for changes while there are handshakes.
const checkEvery = time.Second

// Certificate is a server's certificate, which follows its files.
type Certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	every             time.Duration

	pair atomic.Pointer[tls.Certificate]

	// mu is held while the files are checked. No handshake waits for it: a disk may be slow.
	mu   sync.Mutex
	last time.Time // when the files were last checked
	seen [2]stamp  // of the files when they were last read, successfully or not
}

// stamp changes when a file changes. The stamp of a symbolic link is that of its target.
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
	c := &Certificate{certFile: certFile, keyFile: keyFile, logger: logger, every: checkEvery, last: time.Now()}
	c.seen, _ = c.stamps() // on an error, the read below fails too
	pair, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("cert_file and key_file: %w", err)
	}
	c.pair.Store(pair)
	return c, nil
}

// Config returns the configuration of a server that speaks protocols, the preferred one first.
func (c *Certificate) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
}

// Expires returns when the certificate expires.
func (c *Certificate) Expires() time.Time { return c.current().Leaf.NotAfter }

// current returns the certificate. It reads the files again if they have changed. While another
// handshake checks the files, it returns the last certificate.
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
	case seen != c.seen: // logged once; maybe only one of the two files has been replaced yet
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
	if pair.Leaf == nil { // with GODEBUG=x509keypairleaf=0
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, err
		}
	}
	return &pair, nil
}

// stamps returns the stamps of both files. If one cannot be read, it returns zero stamps and the
// error.
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
