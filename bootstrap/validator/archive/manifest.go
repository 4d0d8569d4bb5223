package archive

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mintlake/mintlake/solana/lattice"
)

// Manifest is what the file snapshots/SLOT/SLOT of an archive says of the bank and of the account
// storages. The layout is that of Agave 2.0 to 4.2 (runtime/src/serde_snapshot.rs): fields that are
// of no use here are skipped.
type Manifest struct {
	Slot, ParentSlot uint64
	// Hash is the bank hash.
	Hash, ParentHash [32]byte
	// LastBlockhash is the last one of the queue of recent blockhashes.
	LastBlockhash  [32]byte
	HardForks      []HardFork
	Transactions   uint64
	Signatures     uint64
	TickHeight     uint64
	Capitalization uint64
	BlockHeight    uint64
	// GenesisTime is in Unix seconds.
	GenesisTime int64
	// DeltaHash is the hash of the accounts that the slot changed. It is zero since SIMD-0223.
	DeltaHash [32]byte
	// Storages ascend by slot; a slot has one.
	Storages []StorageEntry
	// Lattice is nil in a snapshot from before SIMD-0215.
	Lattice *lattice.Hash
	// BlockID is nil before Agave 4.
	BlockID *[32]byte
}

// HardFork is a slot at which validators agreed to go on with new software.
type HardFork struct{ Slot, Count uint64 }

// StorageEntry is the file accounts/SLOT.ID of an archive.
type StorageEntry struct {
	Slot, ID uint64
	// Length is the bytes of the file that hold accounts; what follows is room that was not used.
	Length int64
}

const (
	// maxStorages bounds a manifest: a node has a storage for each slot of an epoch, 432,000, and
	// some for older ones.
	maxStorages = 4 << 20
	// maxStorageBytes bounds a storage (MAXIMUM_APPEND_VEC_FILE_SIZE of Agave).
	maxStorageBytes = 16 << 30
	// maxManifestBytes bounds a manifest. That of mainnet-beta has some hundred megabytes: the
	// stakes of several epochs.
	maxManifestBytes = 16 << 30
	// maxHardForks is well above what any cluster has had.
	maxHardForks = 10_000
)

// ReadManifest reads a manifest of size bytes. An error names the field.
func ReadManifest(r io.Reader, size int64) (*Manifest, error) {
	if size > maxManifestBytes {
		return nil, fmt.Errorf("a manifest of %d bytes is more than the %d that are read", size, int64(maxManifestBytes))
	}
	d := &decoder{r: bufio.NewReaderSize(r, 64<<10), left: size}
	m := new(Manifest)
	m.readBank(d)
	m.readStorages(d)
	m.readExtra(d)
	if d.err != nil {
		return nil, d.err
	}
	if d.left != 0 {
		return nil, fmt.Errorf("%d bytes follow the fields that this version knows: it is of a newer Agave", d.left)
	}
	return m, nil
}

func (m *Manifest) readBank(d *decoder) {
	m.readBlockhashes(d)
	d.skipList("ancestors", 8+8)
	m.Hash, m.ParentHash, m.ParentSlot = d.hash("bank hash"), d.hash("parent hash"), d.u64("parent slot")
	forks := d.count("hard forks", 8+8)
	if forks > maxHardForks {
		d.fail("hard forks", fmt.Errorf("%d of them", forks))
		forks = 0
	}
	for range forks {
		m.HardForks = append(m.HardForks, HardFork{Slot: d.u64("hard fork"), Count: d.u64("hard fork")})
	}
	m.Transactions, m.TickHeight = d.u64("transactions"), d.u64("tick height")
	m.Signatures, m.Capitalization = d.u64("signatures"), d.u64("capitalization")
	d.skip("max tick height", 8)
	if d.flag("hashes per tick") {
		d.skip("hashes per tick", 8)
	}
	d.skip("ticks per slot, time of a slot", 8+16)
	m.GenesisTime = int64(d.u64("genesis time"))
	d.skip("slots per year, accounts' bytes", 8+8)
	m.Slot = d.u64("slot")
	d.skip("epoch", 8)
	m.BlockHeight = d.u64("block height")
	// The next fields have a fixed length each; schedule is that of an epoch schedule.
	const schedule = 8 + 8 + 1 + 8 + 8
	d.skip("leader, fees", 32+8+8)
	d.skip("fee governor", 4*8+1)
	d.skip("rent", 8)
	d.skip("rent collector", 8+schedule+8+8+8+1)
	d.skip("epoch schedule", schedule)
	d.skip("inflation", 6*8)
	skipStakes(d, delegation)
	d.skipList("unused accounts", 32)
	d.skipList("unused accounts", 32)
	d.skipList("unused accounts", 32+8)
	d.readOldStakes()
	d.flag("is_delta")
}

// readOldStakes reads the field in which Agave 1.x kept the stakes of epochs. Since 2.0 it is
// empty.
func (d *decoder) readOldStakes() {
	if n := d.u64("epoch stakes"); n != 0 {
		d.fail("epoch stakes", errors.New("they are in the place of Agave 1.x: snapshots of 2.0 and later are read"))
	}
}

func (m *Manifest) readBlockhashes(d *decoder) {
	d.skip("last blockhash's index", 8)
	if d.flag("last blockhash") {
		m.LastBlockhash = d.hash("last blockhash")
	} else if d.err == nil {
		d.fail("last blockhash", errors.New("there is none"))
	}
	d.skipList("blockhashes", 32+3*8)
	d.skip("age of blockhashes", 8)
}

// delegation is the size of a stake delegation: voter, stake, two epochs, rate. stake is the size
// of one with the credits that were observed.
const (
	delegation = 32 + 8 + 8 + 8 + 8
	stake      = delegation + 8
)

// skipStakes leaves out the stakes of a bank or of an epoch. Each delegation has each bytes.
func skipStakes(d *decoder, each int64) {
	const fixed = 32 + 8 + 8 // address, stake, lamports
	const after = 32 + 1 + 8 // owner, executable, rent epoch
	for range d.count("vote accounts", fixed+8+after) {
		if d.err != nil {
			return
		}
		d.skip("vote account", fixed)
		d.skip("vote account", int64(d.count("vote account's data", 1)))
		d.skip("vote account", after)
	}
	d.skipList("delegations", 32+each)
	d.skip("stakes", 8+8)
	d.skipList("stake history", 4*8)
}

func (m *Manifest) readStorages(d *decoder) {
	count := d.count("storages", 8+8+16)
	if count > maxStorages {
		d.fail("storages", fmt.Errorf("%d of them, and at most %d are read", count, maxStorages))
	}
	for range count {
		entry := StorageEntry{Slot: d.u64("storage")}
		if files := d.u64("storage"); files != 1 && d.err == nil {
			d.fail("storage", fmt.Errorf("slot %d has %d files, not one", entry.Slot, files))
		}
		entry.ID = d.u64("storage")
		length := d.u64("storage")
		if length > maxStorageBytes {
			d.fail("storage", fmt.Errorf("that of slot %d has %d bytes", entry.Slot, length))
		}
		if d.err != nil {
			return
		}
		entry.Length = int64(length)
		m.Storages = append(m.Storages, entry)
	}
	m.checkStorages(d)
	d.skip("write version", 8)
	if slot := d.u64("slot of the accounts"); slot != m.Slot && d.err == nil {
		d.fail("slot of the accounts", fmt.Errorf("it is %d, and the bank's %d", slot, m.Slot))
	}
	m.DeltaHash = d.hash("accounts' delta hash")
	d.skip("accounts' hash, counts", 32+5*8)
	if !d.ended() {
		d.skipList("roots", 8)
	}
	if !d.ended() {
		d.skipList("roots with hashes", 8+32)
	}
}

func (m *Manifest) checkStorages(d *decoder) {
	slices.SortFunc(m.Storages, func(a, b StorageEntry) int { return cmp.Compare(a.Slot, b.Slot) })
	for i, entry := range m.Storages {
		if i > 0 && m.Storages[i-1].Slot == entry.Slot {
			d.fail("storage", fmt.Errorf("slot %d has two", entry.Slot))
		}
		if entry.Slot > m.Slot {
			d.fail("storage", fmt.Errorf("slot %d is beyond the bank's slot %d", entry.Slot, m.Slot))
		}
	}
}

// readExtra reads the fields that later versions have added at the end, in the order in which they
// were added.
func (m *Manifest) readExtra(d *decoder) {
	for _, read := range []func(){
		func() { d.skip("lamports per signature", 8) },
		func() { d.skipOption("incremental persistence", 8+32+8+32+8) },
		func() { d.skipOption("epoch accounts hash", 32) },
		func() { skipEpochStakes(d) },
		func() { m.readLattice(d) },
		func() {
			if d.flag("block id") {
				id := d.hash("block id")
				m.BlockID = &id
			}
		},
	} {
		if d.ended() {
			return
		}
		read()
	}
}

func (d *decoder) skipOption(what string, n int64) {
	if d.flag(what) {
		d.skip(what, n)
	}
}

func skipEpochStakes(d *decoder) {
	for range d.count("epoch stakes", 8+4) {
		d.skip("epoch", 8)
		if variant := d.u32("epoch stakes"); variant != 0 {
			d.fail("epoch stakes", fmt.Errorf("variant %d is not known", variant))
		}
		if d.err != nil {
			return
		}
		skipStakes(d, stake)
		d.skip("total stake", 8)
		for range d.count("nodes", 32+8+8) {
			if d.err != nil {
				return
			}
			d.skip("node", 32)
			d.skipList("node's vote accounts", 32)
			d.skip("node's stake", 8)
		}
		d.skipList("authorized voters", 32+32)
	}
}

func (m *Manifest) readLattice(d *decoder) {
	if !d.flag("lattice hash") {
		return
	}
	var raw [lattice.Size]byte
	for i := 0; i < len(raw); i += 32 {
		copy(raw[i:], d.take("lattice hash", 32))
	}
	m.Lattice = lattice.FromBytes(&raw)
}
