package snapshot

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

const pemType = "PRIVATE KEY"

// NewKey makes a signing key and writes it to path: PKCS #8 in PEM, as openssl reads it, readable
// by its owner only. It refuses a file that exists.
func NewKey(path string) (ed25519.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	err = errors.Join(pem.Encode(file, &pem.Block{Type: pemType, Bytes: der}), file.Sync(), file.Close())
	if err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	return public, nil
}

// ReadKey reads a key that NewKey wrote. The error never contains any part of the key.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != pemType {
		return nil, fmt.Errorf("read key: %s is no PEM file with a %s", path, pemType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read key: %s is no PKCS #8 key", path)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read key: %s is no Ed25519 key", path)
	}
	return key, nil
}
