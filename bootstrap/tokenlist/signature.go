package tokenlist

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
)

// ErrSignature is wrapped when a list is not signed by a trusted key.
var ErrSignature = errors.New("signature")

// Signature is who signed a list's file.
type Signature struct {
	Signer ed25519.PublicKey
	// Bytes is the Ed25519 signature over the bytes of the file.
	Bytes []byte
}

// verify returns the signature of a file if it is by one of the trusted keys. If there are no
// trusted keys, it checks nothing and returns nil.
func verify(file, signature []byte, trusted []ed25519.PublicKey) (*Signature, error) {
	if len(trusted) == 0 {
		return nil, nil
	}
	if signature == nil {
		return nil, fmt.Errorf("%w: the list is not signed", ErrSignature)
	}
	raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(signature)))
	if err != nil || len(raw) != ed25519.SignatureSize {
		return nil, fmt.Errorf("%w: must be %d bytes in base64", ErrSignature, ed25519.SignatureSize)
	}
	for _, key := range trusted {
		if ed25519.Verify(key, file, raw) {
			return &Signature{Signer: key, Bytes: raw}, nil
		}
	}
	return nil, fmt.Errorf("%w: none of the %d trusted keys signed the list", ErrSignature, len(trusted))
}
