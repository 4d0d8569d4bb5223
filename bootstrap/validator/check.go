package validator

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/bootstrap/validator/archive"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
)

// Check says how far a snapshot was checked.
type Check string

// All checks. Accounts, lattice hash and bank hash are in one archive. If they agree, the archive
// is whole, but it may be anybody's.
const (
	// CheckSkipped is a snapshot whose accounts were not hashed, by --skip-hash.
	CheckSkipped Check = "skipped"
	// CheckConsistent is a snapshot whose accounts, lattice hash and bank hash agree.
	CheckConsistent Check = "consistent"
	// CheckVerified is a consistent snapshot whose bank hash is also what a second source states.
	CheckVerified Check = "verified"
)

func base58(hash [32]byte) string { return pubkey.Key(hash).String() }

// checkManifest checks what can be checked before the accounts are read. file is the archive's
// name, base the slot of the full snapshot below an incremental one, or 0.
func (l *Loader) checkManifest(m *archive.Manifest, file string, incremental bool, base uint64) error {
	if err := l.deps.Bounds.Read(Upstream, m.Slot); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if incremental && m.Slot <= base {
		return fmt.Errorf("%s is of slot %d, and the full snapshot below it of %d", file, m.Slot, base)
	}
	if incremental && len(m.Storages) > 0 && m.Storages[0].Slot <= base {
		return fmt.Errorf("%s has the storage of slot %d, and the full snapshot below it ends at %d: is it an incremental snapshot over that one?",
			file, m.Storages[0].Slot, base)
	}
	name, nameErr := archive.ParseName(file)
	if nameErr == nil {
		if name.Incremental != incremental {
			return fmt.Errorf("%s: a full snapshot is needed first, and an incremental one behind --incremental", file)
		}
		if name.Slot != m.Slot || name.Base != base {
			return fmt.Errorf("%s: its manifest is of slot %d, over %d", file, m.Slot, base)
		}
	}
	if l.cfg.SkipHash {
		return nil
	}
	if m.Lattice == nil {
		return fmt.Errorf("%s has no lattice hash (it is from before SIMD-0215), so it cannot be checked: --skip-hash reads it unchecked", file)
	}
	if got := m.BankHash(); got != m.Hash {
		return fmt.Errorf("%s: the bank hash is %s, and its fields make %s", file, base58(m.Hash), base58(got))
	}
	if sum := m.Lattice.Checksum(); nameErr == nil && name.Hash != pubkey.Key(sum) {
		return fmt.Errorf("%s: the lattice hash of its manifest is not that of its name: %s", file, base58(sum))
	}
	return nil
}

// checkExpected compares the bank hash of the last archive with Config.ExpectHash.
func (l *Loader) checkExpected(m *archive.Manifest) error {
	if l.cfg.ExpectHash != "" && l.cfg.ExpectHash != base58(m.Hash) {
		return fmt.Errorf("the bank hash of slot %d is %s, and --expect-hash says %s", m.Slot, base58(m.Hash), l.cfg.ExpectHash)
	}
	return nil
}

// verdict compares the accounts' lattice hash with the manifest's.
func (l *Loader) verdict(want, got *lattice.Hash) (Check, error) {
	switch {
	case l.cfg.SkipHash:
		return CheckSkipped, nil
	case want == nil:
		return "", errors.New("the manifest has no lattice hash")
	case *want != *got:
		return "", fmt.Errorf("the accounts of the snapshot are not those of its manifest: their lattice hash is %s, and the manifest says %s",
			base58(got.Checksum()), base58(want.Checksum()))
	case l.cfg.ExpectHash != "":
		return CheckVerified, nil
	}
	return CheckConsistent, nil
}
