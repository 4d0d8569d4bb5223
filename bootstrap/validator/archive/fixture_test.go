package archive_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/validator/archive"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
)

// expected is what Agave's own serializer put into the fixture, as its generator tells.
type expected struct {
	Bank struct {
		Slot         uint64 `json:"slot"`
		ParentSlot   uint64 `json:"parent_slot"`
		BlockHeight  uint64 `json:"block_height"`
		Hash         string `json:"hash"`
		ParentHash   string `json:"parent_hash"`
		Transactions uint64 `json:"transaction_count"`
		Signatures   uint64 `json:"signature_count"`
		TickHeight   uint64 `json:"tick_height"`
		GenesisTime  int64  `json:"genesis_creation_time"`
		Lamports     uint64 `json:"capitalization"`
		HardForks    []archive.HardFork
		BlockID      string `json:"block_id"`
		Lattice      string `json:"accounts_lt_hash"`
		Blockhash    string `json:"last_blockhash"`
	} `json:"bank_fields"`
	Accounts []struct {
		Slot       uint64 `json:"slot"`
		FileID     uint64 `json:"file_id"`
		Pubkey     string `json:"pubkey"`
		Lamports   uint64 `json:"lamports"`
		Owner      string `json:"owner"`
		Executable bool   `json:"executable"`
		DataLength int    `json:"data_len"`
		SHA256     string `json:"data_sha256"`
		Lattice    string `json:"account_lt_hash_first_32_hex"`
	} `json:"accounts"`
	Live []int `json:"live_indices"`
}

func text(hash [32]byte) string { return pubkey.Key(hash).String() }

func open(t testing.TB, name string) *archive.Reader {
	file, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	r, err := archive.Open(file)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// TestFixtureOfAgave reads a snapshot that Agave 4.2's serializer wrote (Syndica/sig): its fields,
// accounts, lattice hash and bank hash are what the generator says.
func TestFixtureOfAgave(t *testing.T) {
	const name = "test-snapshot-v4.2.0-beta.1"
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	var want expected
	require.NoError(t, json.Unmarshal(raw, &want))

	r := open(t, name+".tar.zst")
	m, bank := r.Manifest(), &want.Bank
	require.Equal(t, []uint64{bank.Slot, bank.ParentSlot, bank.BlockHeight, bank.Transactions, bank.Signatures, bank.TickHeight, bank.Lamports},
		[]uint64{m.Slot, m.ParentSlot, m.BlockHeight, m.Transactions, m.Signatures, m.TickHeight, m.Capitalization})
	require.Equal(t, bank.GenesisTime, m.GenesisTime)
	require.Equal(t, []string{bank.Hash, bank.ParentHash, bank.Blockhash, bank.BlockID},
		[]string{text(m.Hash), text(m.ParentHash), text(m.LastBlockhash), text(*m.BlockID)})
	require.Equal(t, []archive.HardFork{{Slot: 10, Count: 1}, {Slot: 50, Count: 1}}, m.HardForks)
	lattices := m.Lattice.Bytes()
	require.Equal(t, bank.Lattice, hex.EncodeToString(lattices[:]))
	require.Equal(t, bank.Hash, text(m.BankHash()))

	var hasher lattice.Hasher
	hashes := []lattice.Hash{}
	each(t, r, func(storage *archive.Storage, _ uint32, a *lattice.Account) {
		require.Less(t, len(hashes), len(want.Accounts))
		told := want.Accounts[len(hashes)]
		require.Equal(t, []uint64{told.Slot, told.FileID, told.Lamports}, []uint64{storage.Slot, storage.ID, a.Lamports})
		require.Equal(t, []string{told.Pubkey, told.Owner}, []string{a.Address.String(), a.Owner.String()})
		require.Equal(t, told.Executable, a.Executable)
		require.Len(t, a.Data, told.DataLength)
		sum := sha256.Sum256(a.Data)
		require.Equal(t, told.SHA256, hex.EncodeToString(sum[:]))
		hash := *hasher.Account(a)
		raw := hash.Bytes()
		require.Equal(t, told.Lattice, hex.EncodeToString(raw[:32]))
		hashes = append(hashes, hash)
	})
	require.Len(t, hashes, len(want.Accounts))
	var sum lattice.Hash
	for _, i := range want.Live {
		sum.Add(&hashes[i])
	}
	require.Equal(t, *m.Lattice, sum)
}

// each reads the rest of an archive.
func each(t testing.TB, r *archive.Reader, see func(*archive.Storage, uint32, *lattice.Account)) {
	var chunk archive.Chunk
	for {
		storage, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		for {
			err := storage.Fill(&chunk)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			for place, account := range chunk.Accounts() {
				see(storage, place, account)
			}
		}
	}
}

// TestPairOfALocalValidator reads a full snapshot and an incremental one over it that an Agave 3
// validator wrote. The newest version of each account counts; the sum of those is the lattice hash
// of the incremental's manifest, and its BLAKE3 hash is in the file's name.
func TestPairOfALocalValidator(t *testing.T) {
	const full, incremental = "snapshot-1-5pgMpQj4MZYWauD1VnoNfmGAdUQCe6VVCSCQMNbDoxf7.tar.zst",
		"incremental-snapshot-1-4-43FT6mnmRW9XbxpCzqH3ogYexHXboG7d8vmf3gBLvLrR.tar.zst"
	type version struct {
		slot uint64
		hash lattice.Hash
	}
	live := map[pubkey.Key]version{}
	for _, file := range []string{full, incremental} {
		r := open(t, file)
		var hasher lattice.Hasher
		each(t, r, func(storage *archive.Storage, _ uint32, a *lattice.Account) {
			if storage.Slot >= live[a.Address].slot {
				live[a.Address] = version{storage.Slot, *hasher.Account(a)}
			}
		})
		var sum lattice.Hash
		for _, v := range live {
			sum.Add(&v.hash)
		}
		m := r.Manifest()
		name, err := archive.ParseName(file)
		require.NoError(t, err)
		require.Equal(t, file == incremental, name.Incremental)
		require.Equal(t, m.Slot, name.Slot)
		require.Equal(t, *m.Lattice, sum)
		require.Equal(t, name.Hash.String(), text(sum.Checksum()))
		require.Equal(t, text(m.Hash), text(m.BankHash()))
	}
}
