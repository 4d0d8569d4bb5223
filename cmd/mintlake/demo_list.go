package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/mintlake/mintlake/bootstrap/tokenlist"
)

// demoList returns a list of tokens, its signature in base64, and who signed it.
type demoList func() (file, signature []byte, signer ed25519.PublicKey)

// listDemo reads the demo chain's own list of tokens, as `bootstrap tokenlist --trust` would: so
// the registry has verified tokens, by a signature. Reading it again changes nothing.
func (s *system) listDemo(ctx context.Context) error {
	if s.demoList == nil {
		return nil
	}
	file, signature, signer := s.demoList()
	list, err := tokenlist.Parse(bytes.NewReader(file), tokenlist.Options{Trust: []ed25519.PublicKey{signer}, Signature: signature})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	loader, err := tokenlist.NewLoader(s.writers.For("bootstrap"), []*tokenlist.List{list})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return loader.Run(ctx)
}
