// Package certs makes certificate authorities and certificates for tests of TLS.
//
// In: a test. Out: certificates for 127.0.0.1 and a name, and their PEM files, which are deleted
// after the test.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	// Cert is the authority's own certificate. File is the path of its PEM file.
	Cert *x509.Certificate
	File string

	t   testing.TB
	key *ecdsa.PrivateKey
}

// Issued is a certificate with its key, and their PEM files.
type Issued struct {
	Pair              tls.Certificate
	CertFile, KeyFile string
}

// New makes an authority that is valid for an hour.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	a.must(err)
	a.Cert, err = x509.ParseCertificate(der)
	a.must(err)
	a.File = a.write("CERTIFICATE", der)
	return a
}

// Issue signs a certificate for 127.0.0.1 and name, which servers and clients may use. It is valid
// until end.
func (a *Authority) Issue(name string, end time.Time) Issued {
	a.t.Helper()
	key := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: end, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.Cert, &key.PublicKey, a.key)
	a.must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	a.must(err)
	return Issued{
		Pair:     tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		CertFile: a.write("CERTIFICATE", der), KeyFile: a.write("PRIVATE KEY", private),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	return key
}

func (a *Authority) write(kind string, der []byte) string {
	a.t.Helper()
	file := filepath.Join(a.t.TempDir(), "x.pem")
	a.must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return file
}

func (a *Authority) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("make a certificate: %v", err)
	}
}
