package snapshotfile

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/mintlake/mintlake/solana/lattice"
)

// writer appends bincode.
type writer struct{ out []byte }

func (w *writer) u64(values ...uint64) {
	for _, value := range values {
		w.out = binary.LittleEndian.AppendUint64(w.out, value)
	}
}
func (w *writer) raw(parts ...[]byte) {
	for _, part := range parts {
		w.out = append(w.out, part...)
	}
}
func (w *writer) zero(n int) { w.out = append(w.out, make([]byte, n)...) }

func filled(b byte) []byte {
	out := make([]byte, 32)
	for i := range out {
		out[i] = b
	}
	return out
}

// Values of the bank that no test looks at for themselves.
const (
	signatures = 6789
	forkSlots  = 2
)

func (s *Snapshot) parent() uint64 { return s.Slot - 1 }

// BankHash is the hash that the manifest says: over a hard fork at the snapshot's own slot.
func (s *Snapshot) BankHash() [32]byte {
	w := writer{}
	w.raw(filled(0x22))
	w.u64(signatures)
	w.raw(filled(0x41))
	hash := sha256.Sum256(w.out)
	if s.Lattice != nil {
		raw := s.Lattice.Bytes()
		hash = sha256.Sum256(append(hash[:], raw[:]...))
	}
	return sha256.Sum256(binary.LittleEndian.AppendUint64(hash[:], 3))
}

// Manifest returns the bytes of the manifest.
func (s *Snapshot) Manifest() []byte {
	w := &writer{}
	w.u64(2) // blockhashes
	w.raw([]byte{1}, filled(0x41))
	w.u64(2)
	for i := range uint64(2) {
		w.raw(filled(0x40 + byte(i)))
		w.u64(5000, i+1, 1_784_165_180_256)
	}
	w.u64(300)
	w.u64(1, s.parent(), 0) // ancestors
	hash := s.BankHash()
	w.raw(hash[:], filled(0x22))
	w.u64(s.parent())
	w.u64(forkSlots, 10, 1, s.Slot, 3)                     // hard forks
	w.u64(12345, s.Slot*64, signatures, 1<<40, s.Slot*64)  // counts
	w.raw([]byte{1})                                       // hashes per tick
	w.u64(12500, 64, 400_000_000, 0, 1_700_000_000, 0, 77) // time
	epoch := s.Slot / 432_000
	if s.Release == Agave4 {
		epoch = 0
	}
	w.u64(s.Slot, epoch, s.Slot)
	w.raw(filled(0x55)) // leader
	w.zero(8 + 8 + 33)  // fees
	w.zero(8 + 8 + 33 + 8 + 17)
	w.zero(33 + 48) // schedule, inflation
	w.stakes(false)
	w.u64(1)
	w.raw(filled(1))
	w.u64(0, 1)
	w.raw(filled(2))
	w.u64(7)
	w.u64(0) // old stakes of epochs
	w.raw([]byte{1})
	s.storages(w)
	s.extra(w)
	return w.out
}

func (w *writer) stakes(withCredits bool) {
	w.u64(1)
	w.raw(filled(0x60))
	w.u64(3_000_000, 42_000_000, 5)
	w.raw([]byte("voted"), filled(0x61), []byte{0})
	w.u64(0)
	w.u64(2)
	for i := range byte(2) {
		w.raw(filled(0x70+i), filled(0x60))
		w.u64(1_000_000, 1, 1<<64-1, 0)
		if withCredits {
			w.u64(99)
		}
	}
	w.u64(42, 2)
	w.u64(1, 2, 1_200_000, 300_000, 150_000)
}

func (s *Snapshot) storages(w *writer) {
	w.u64(uint64(len(s.Storages)))
	for _, storage := range s.Storages {
		w.u64(storage.Slot, 1, storage.ID, uint64(storage.length()))
	}
	w.u64(0, s.Slot)
	w.zero(64 + 5*8)
	w.u64(1, s.Slot) // roots
	w.u64(0)
}

func (s *Snapshot) extra(w *writer) {
	w.u64(6000)
	w.raw([]byte{1}) // of an incremental snapshot's persistence
	w.zero(8 + 32 + 8 + 32 + 8)
	w.raw([]byte{0})
	w.u64(1, s.Slot/432_000) // stakes of epochs
	w.zero(4)
	w.stakes(true)
	w.u64(5_000_000, 1)
	w.raw(filled(0x61))
	w.u64(1)
	w.raw(filled(0x60))
	w.u64(3_000_000, 1)
	w.raw(filled(0x60), filled(0x60))
	if s.Lattice == nil {
		return // before SIMD-0215
	}
	raw := s.Lattice.Bytes()
	w.raw([]byte{1}, raw[:])
	if s.Release == Agave4 {
		w.raw([]byte{1}, filled(0x33))
	}
}

// Sum returns the lattice hash of the newest versions of all accounts: of two, that of the later
// slot, or that which stands later in the same storage. It keeps them all in memory.
func Sum(storages ...Storage) *lattice.Hash {
	type version struct {
		slot uint64
		hash lattice.Hash
	}
	newest := map[[32]byte]version{}
	var hasher lattice.Hasher
	for _, storage := range storages {
		for account := range storage.Accounts {
			if held, found := newest[account.Address]; !found || storage.Slot >= held.slot {
				newest[account.Address] = version{storage.Slot, *hasher.Account(account)}
			}
		}
	}
	sum := new(lattice.Hash)
	for _, v := range newest {
		sum.Add(&v.hash)
	}
	return sum
}
