package archive

import (
	"crypto/sha256"
	"encoding/binary"
)

// BankHash computes the bank's hash from its fields and a lattice hash: SHA-256 of parent hash,
// signatures and last blockhash; of that and the lattice hash; and where the bank crosses hard
// forks, of that and their number (Bank::hash_internal_state of Agave). While SIMD-0223 was not
// active, the accounts' delta hash followed the parent hash.
func (m *Manifest) BankHash() [32]byte {
	first := sha256.New()
	_, _ = first.Write(m.ParentHash[:])
	if m.DeltaHash != [32]byte{} {
		_, _ = first.Write(m.DeltaHash[:])
	}
	_, _ = first.Write(binary.LittleEndian.AppendUint64(nil, m.Signatures))
	_, _ = first.Write(m.LastBlockhash[:])
	sum := first.Sum(nil)
	if m.Lattice != nil {
		raw := m.Lattice.Bytes()
		next := sha256.Sum256(append(sum, raw[:]...))
		sum = next[:]
	}
	if crossed := m.crossedForks(); crossed > 0 {
		next := sha256.Sum256(binary.LittleEndian.AppendUint64(sum, crossed))
		sum = next[:]
	}
	return [32]byte(sum)
}

// crossedForks counts the hard forks between the parent and the bank.
func (m *Manifest) crossedForks() (crossed uint64) {
	for _, fork := range m.HardForks {
		if fork.Slot > m.ParentSlot && fork.Slot <= m.Slot {
			crossed += fork.Count
		}
	}
	return crossed
}
