package snapshot

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Trust is whose snapshots are accepted.
type Trust struct {
	Keys []ed25519.PublicKey
	// Insecure accepts a snapshot without a trusted signature. Hashes are still checked.
	Insecure bool
}

// open reads and checks the manifest of a folder. It also returns the manifest's hash.
func open(folder string, trust Trust) (*Manifest, [sha256.Size]byte, error) {
	var id [sha256.Size]byte
	raw, err := readBounded(filepath.Join(folder, ManifestName))
	if err != nil {
		return nil, id, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if !trust.Insecure {
		signature, err := readBounded(filepath.Join(folder, SignatureName))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, id, fmt.Errorf("%w: it is not signed", ErrSignature)
		}
		if err != nil {
			return nil, id, err
		}
		if err := checkSignature(raw, signature, trust.Keys); err != nil {
			return nil, id, err
		}
	}
	manifest, err := ParseManifest(raw)
	return manifest, sha256.Sum256(raw), err
}

// readBounded reads a file of at most maxManifestBytes.
func readBounded(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	raw, err := io.ReadAll(io.LimitReader(in, maxManifestBytes+1))
	if err == nil && len(raw) > maxManifestBytes {
		err = fmt.Errorf("%s: over %d bytes", filepath.Base(path), maxManifestBytes)
	}
	return raw, err
}

// verifier checks the files against the manifest.
type verifier struct {
	folder   string
	manifest *Manifest
	onFact   func()

	mint  pubkey.Key
	state registry.State
	mints int64
	facts int64
	slot  uint64
	root  root.Builder
}

// verify reads the bytes of every file for the hash, and then the rows of the files of facts for
// the counts and the root.
func (v *verifier) verify(ctx context.Context) error {
	for _, file := range v.manifest.Files {
		if err := v.checkHash(ctx, file); err != nil {
			return err
		}
	}
	for _, file := range v.manifest.files(kindFacts) {
		before := v.facts
		err := readRows(filepath.Join(v.folder, file.Name), 0, func(row *factRow) error {
			if v.facts%10_000 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			return v.row(file.Name, row)
		})
		if err != nil {
			return err
		}
		if got := v.facts - before; got != file.Rows {
			return fmt.Errorf("%w: %s has %d rows, not %d", ErrContent, file.Name, got, file.Rows)
		}
	}
	v.endMint()
	return v.compare()
}

// compare compares the sums over all rows with the manifest.
func (v *verifier) compare() error {
	m := v.manifest
	found := v.root.Root(v.slot)
	hash, known := found.HashOf(m.Root.Version)
	switch {
	case v.mints != m.Counts.Mints:
		return fmt.Errorf("%w: %d mints, not %d", ErrContent, v.mints, m.Counts.Mints)
	case v.slot != m.Slot:
		return fmt.Errorf("%w: highest slot %d, not %d", ErrContent, v.slot, m.Slot)
	case known && (hash != m.Root.Hash || found.Tokens != m.Root.Tokens):
		return fmt.Errorf("%w: root %s over %d tokens, not %s over %d", ErrContent, hash, found.Tokens, m.Root.Hash, m.Root.Tokens)
	case m.Root.HashV2 != nil && *m.Root.HashV2 != found.HashV2:
		return fmt.Errorf("%w: root of version 2 %s, not %s", ErrContent, found.HashV2, *m.Root.HashV2)
	}
	return nil
}

// row adds a row to the sums. It checks that mints are in order. It also checks that the state
// takes each fact: an export writes no fact twice, and none that another fact makes dead.
func (v *verifier) row(name string, row *factRow) error {
	fact, err := row.fact()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrContent, name, err)
	}
	if fact.Mint != v.mint || v.mints == 0 {
		if v.mints > 0 && pubkey.Compare(fact.Mint, v.mint) < 0 {
			return fmt.Errorf("%w: %s: mint %s is not in order", ErrContent, name, fact.Mint)
		}
		v.endMint()
		v.mint, v.state = fact.Mint, registry.State{}
		v.mints++
	}
	if !v.state.Apply(fact) {
		return fmt.Errorf("%w: %s: %s says register %d twice", ErrContent, name, fact.Mint, fact.Register)
	}
	v.slot = max(v.slot, root.SlotOf(&fact))
	v.facts++
	v.onFact()
	return nil
}

func (v *verifier) endMint() {
	if v.mints == 0 {
		return
	}
	v.root.Add(v.mint, &v.state)
}

// checkHash compares the size and the hash of a file with the manifest.
func (v *verifier) checkHash(ctx context.Context, file File) error {
	in, err := os.Open(filepath.Join(v.folder, file.Name))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrContent, err)
	}
	defer func() { _ = in.Close() }()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(&cancellable{ctx, in}, file.Bytes+1))
	if err != nil {
		return err
	}
	if n != file.Bytes || hex.EncodeToString(hash.Sum(nil)) != file.SHA256 {
		return fmt.Errorf("%w: %s has another size or hash", ErrContent, file.Name)
	}
	return nil
}

// cancellable ends a copy with its context.
type cancellable struct {
	ctx context.Context // lives for one copy
	in  io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.in.Read(p) // io.EOF must not be wrapped
}
