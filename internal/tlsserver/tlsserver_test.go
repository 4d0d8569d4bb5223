package tlsserver

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/certs"
)

// files are a certificate where a server looks for it.
type files struct {
	t         *testing.T
	cert, key string
	clock     time.Time
}

func newFiles(t *testing.T) *files {
	dir := t.TempDir()
	return &files{t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), time.Now().Add(-time.Hour)}
}

// put exchanges a file. Its time is always another, whatever the file system's clock.
func (f *files) put(to, from string) {
	f.t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(f.t, err)
	require.NoError(f.t, os.WriteFile(to, text, 0o600))
	f.clock = f.clock.Add(time.Second)
	require.NoError(f.t, os.Chtimes(to, f.clock, f.clock))
}

// shown is the name on the certificate that a client is shown.
func shown(t *testing.T, c *Certificate) string {
	t.Helper()
	pair, err := c.Config("h2").GetCertificate(&tls.ClientHelloInfo{})
	require.NoError(t, err)
	return pair.Leaf.Subject.CommonName
}

// TestACertificateIsReadAgain: when its files change, and only as a pair that fits together.
func TestACertificateIsReadAgain(t *testing.T) {
	authority, f := certs.New(t), newFiles(t)
	first, second := authority.Issue("first", time.Now().Add(time.Hour)), authority.Issue("second", time.Now().Add(2*time.Hour))
	f.put(f.cert, first.CertFile)
	f.put(f.key, first.KeyFile)
	var log bytes.Buffer
	c, err := Load(f.cert, f.key, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	c.every = 0
	require.Equal(t, "first", shown(t, c))

	f.put(f.cert, second.CertFile)
	for range 3 {
		require.Equal(t, "first", shown(t, c), "the key is still the old one")
	}
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
	f.put(f.key, second.KeyFile)
	require.Equal(t, "second", shown(t, c))
	require.WithinDuration(t, time.Now().Add(2*time.Hour), c.Expires(), time.Minute)

	require.NoError(t, os.Remove(f.key))
	require.Equal(t, "second", shown(t, c), "files that are gone for a moment change nothing")
	f.put(f.key, first.KeyFile)
	f.put(f.cert, first.CertFile)
	require.Equal(t, "first", shown(t, c))
	key, err := os.ReadFile(first.KeyFile)
	require.NoError(t, err)
	require.NotContains(t, log.String(), string(key[30:60]))
}

// TestTheFilesAreNotLookedAtForEachHandshake: a flood of them costs no system calls.
func TestTheFilesAreNotLookedAtForEachHandshake(t *testing.T) {
	authority, f := certs.New(t), newFiles(t)
	first, second := authority.Issue("first", time.Now().Add(time.Hour)), authority.Issue("second", time.Now().Add(time.Hour))
	f.put(f.cert, first.CertFile)
	f.put(f.key, first.KeyFile)
	c, err := Load(f.cert, f.key, nil)
	require.NoError(t, err)
	c.every = time.Hour
	f.put(f.cert, second.CertFile)
	f.put(f.key, second.KeyFile)
	require.Equal(t, "first", shown(t, c))
	c.last = time.Now().Add(-2 * time.Hour)
	require.Equal(t, "second", shown(t, c))
}

// TestNoHandshakeWaitsForTheDisk: while one looks at the files, others show what was read last.
func TestNoHandshakeWaitsForTheDisk(t *testing.T) {
	f := newFiles(t)
	first := certs.New(t).Issue("first", time.Now().Add(time.Hour))
	f.put(f.cert, first.CertFile)
	f.put(f.key, first.KeyFile)
	c, err := Load(f.cert, f.key, nil)
	require.NoError(t, err)
	c.mu.Lock() // another handshake looks
	defer c.mu.Unlock()
	name := make(chan string, 1)
	go func() { name <- c.current().Leaf.Subject.CommonName }()
	select {
	case got := <-name:
		require.Equal(t, "first", got)
	case <-time.After(10 * time.Second):
		t.Fatal("it waits")
	}
}

func TestAServerWithoutAGoodCertificateDoesNotStart(t *testing.T) {
	authority := certs.New(t)
	one, other := authority.Issue("one", time.Now().Add(time.Hour)), authority.Issue("other", time.Now().Add(time.Hour))
	for name, pair := range map[string][2]string{
		"only one": {one.CertFile, ""}, "no file": {"/nowhere.pem", one.KeyFile}, "another's key": {one.CertFile, other.KeyFile}, "no key": {one.CertFile, one.CertFile},
	} {
		_, err := Load(pair[0], pair[1], nil)
		require.ErrorContains(t, err, "cert_file and key_file", name)
	}
}
