// Package snapshot writes a registry to Parquet files under a signed manifest, and reads such files
// into another registry.
//
// In: the facts in ClickHouse, or a folder with a snapshot, which is hostile until its signature
// and hashes are checked.
// Out: facts-NNNN.parquet, tokens.parquet, manifest.json, manifest.json.sig; or records of
// registry.enrichments.v1.
// Guarantees: a snapshot holds every fact at its own position, so an import gives the same
// registry, whatever it knew before and however often it runs. Nothing is written to Kafka before
// all that will be is verified. The manifest comes last: a folder without one is no snapshot.
package snapshot

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Names in a snapshot's folder.
const (
	ManifestName  = "manifest.json"
	SignatureName = ManifestName + ".sig"
)

// Format is the version of the manifest and of the files' rows. A reader refuses one that it does
// not know.
const Format = 1

// Kinds of files.
const (
	kindFacts  = "facts"
	kindTokens = "tokens"
)

// Limits of a manifest that is read.
const (
	maxManifestBytes = 16 << 20
	maxFiles         = 100_000
)

// Manifest describes what a snapshot holds.
type Manifest struct {
	Format    int    `json:"format"`
	CreatedAt string `json:"created_at"`
	// Slot is the highest slot of any fact.
	Slot uint64 `json:"slot"`
	// GenesisHash is that of the registry's chain, in base58; empty if the exporter did not know
	// it.
	GenesisHash string `json:"genesis_hash,omitempty"`
	// Root is the registry's root over the facts of the files: docs/registry-root.md.
	Root   Root   `json:"root"`
	Counts Counts `json:"counts"`
	// Schema are the columns of each kind of file, in order.
	Schema map[string][]Column `json:"schema"`
	Files  []File              `json:"files"`
	// PublicKey is the signer's key in base58; empty in an unsigned snapshot.
	PublicKey string `json:"public_key,omitempty"`
}

// Root is a root.Root in JSON. Version says of which version Hash is. This binary writes 1, because
// readers of earlier releases check no other version.
type Root struct {
	Version int      `json:"version"`
	Slot    uint64   `json:"slot"`
	Tokens  int      `json:"tokens"`
	Hash    root.Sum `json:"hash"`
	// HashV2 is the hash of version 2; missing in a snapshot of an earlier release.
	HashV2 *root.Sum `json:"hash_v2,omitempty"`
}

// Counts are sums over the files.
type Counts struct {
	Mints  int64 `json:"mints"`
	Facts  int64 `json:"facts"`
	Tokens int64 `json:"tokens"`
}

// Column is a column of a Parquet file.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// File is one file of the snapshot.
type File struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

var (
	fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,100}\.parquet$`)
	hexHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Why a snapshot is refused. The errors of an import wrap one of them.
var (
	// ErrManifest is a manifest that cannot be read, or contradicts itself.
	ErrManifest = errors.New("snapshot's manifest is malformed")
	// ErrSignature is a signature that is missing, wrong, or not by a trusted key.
	ErrSignature = errors.New("snapshot's signature is not trusted")
	// ErrContent is a file that differs from what the manifest states.
	ErrContent = errors.New("snapshot's file is not what its manifest says")
)

// ParseManifest reads a manifest; errors wrap ErrManifest.
func ParseManifest(raw []byte) (*Manifest, error) {
	m := new(Manifest)
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if m.Format != Format {
		return nil, fmt.Errorf("%w: format %d, this binary reads %d", ErrManifest, m.Format, Format)
	}
	if len(m.Files) > maxFiles {
		return nil, fmt.Errorf("%w: over %d files", ErrManifest, maxFiles)
	}
	names := map[string]bool{}
	rows := map[string]int64{}
	for _, file := range m.Files {
		switch {
		case !fileName.MatchString(file.Name) || names[file.Name]:
			return nil, fmt.Errorf("%w: file name %q", ErrManifest, file.Name)
		case !hexHash.MatchString(file.SHA256):
			return nil, fmt.Errorf("%w: %s: sha256 is not 64 hexadecimal digits", ErrManifest, file.Name)
		case file.Rows < 0 || file.Bytes < 0:
			return nil, fmt.Errorf("%w: %s: negative size", ErrManifest, file.Name)
		}
		names[file.Name] = true
		rows[file.Kind] += file.Rows
	}
	if rows[kindFacts] != m.Counts.Facts || rows[kindTokens] != m.Counts.Tokens {
		return nil, fmt.Errorf("%w: the files' rows are not its counts", ErrManifest)
	}
	return m, nil
}

func (m *Manifest) files(kind string) []File {
	return slices.DeleteFunc(slices.Clone(m.Files), func(f File) bool { return f.Kind != kind })
}

// signedMessage returns the bytes that the signature covers. The prefix keeps the signature from
// being valid for anything else that the key signs.
func signedMessage(manifest []byte) []byte {
	return append([]byte("mintlake snapshot v1\n"), manifest...)
}

// sign returns the signature file of a manifest.
func sign(key ed25519.PrivateKey, manifest []byte) []byte {
	signature := ed25519.Sign(key, signedMessage(manifest))
	return append([]byte(base64.StdEncoding.EncodeToString(signature)), '\n')
}

// checkSignature returns nil when one of the trusted keys signed the manifest.
func checkSignature(manifest, signature []byte, trusted []ed25519.PublicKey) error {
	raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(signature)))
	if err != nil || len(raw) != ed25519.SignatureSize {
		return fmt.Errorf("%w: no signature in %s", ErrSignature, SignatureName)
	}
	for _, key := range trusted {
		if ed25519.Verify(key, signedMessage(manifest), raw) {
			return nil
		}
	}
	return fmt.Errorf("%w: none of the %d trusted keys signed it", ErrSignature, len(trusted))
}

// ParsePublicKey reads a key as `mintlake keys snapshot` prints it: base58 of 32 bytes.
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	key, err := pubkey.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("public key %q: must be 32 bytes in base58", text)
	}
	return key[:], nil
}

// PublicKeyText is the inverse of ParsePublicKey.
func PublicKeyText(key ed25519.PublicKey) string { return pubkey.Key(key).String() }
