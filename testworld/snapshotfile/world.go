package snapshotfile

import (
	"encoding/binary"
	"iter"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/bulk"
	"github.com/mintlake/mintlake/testworld/chain"
)

// World is the accounts of a made-up cluster: the mints and metadata of a bulk chain among token
// accounts and wallets, in the sizes that mainnet-beta has most of. Some accounts have older
// versions, in the storage before or in the same one; some were closed.
type World struct {
	// Chain has the mints; every fourth of the first accounts is one, with its metadata behind it.
	Chain *bulk.Chain
	// Others is how many token accounts and wallets there are.
	Others int
	// PerStorage is about how many accounts a storage has; default 20,000.
	PerStorage int
	// KeepAll closes no account.
	KeepAll bool
}

// perGroup is how many other accounts come with one mint.
func (w *World) perGroup() int { return max(1, w.Others/max(1, w.Chain.Mints)) }

func (w *World) perStorage() int {
	if w.PerStorage == 0 {
		return 20_000
	}
	return w.PerStorage
}

// groups are a mint, its metadata, and other accounts: they are in one storage.
func (w *World) groupsPerStorage() int { return max(1, w.perStorage()/(w.perGroup()+2)) }

// Storages returns the storages, whose slots end at slot.
func (w *World) Storages(slot uint64) []Storage {
	count := (w.Chain.Mints + w.groupsPerStorage() - 1) / w.groupsPerStorage()
	storages := make([]Storage, count+1) // the first has only older versions
	for i := range storages {
		storages[i] = Storage{Slot: slot - uint64(count-i)*3, ID: uint64(1000 + i), Accounts: w.storage(i)}
	}
	return storages
}

// Closed reports that the n-th mint was closed: its newest version has no lamports. Metadata count
// as the mint behind theirs.
func (w *World) Closed(n int) bool { return !w.KeepAll && n%97 == 5 }

// hasOlder reports that an account has an older version, in the storage before.
func hasOlder(n int) bool { return n%11 == 3 || n%97 == 5 }

// hasDouble reports that an account has an older version in the same storage.
func hasDouble(n int) bool { return n%101 == 7 }

func (w *World) storage(number int) iter.Seq[*lattice.Account] {
	return func(yield func(*lattice.Account) bool) {
		for account, older := range w.groups(number) {
			if older && !yield(account) {
				return
			}
		}
		for account, older := range w.groups(number - 1) {
			if !older && !yield(account) {
				return
			}
		}
	}
}

// groups yields the accounts of a storage's groups: older versions, which belong into the storage
// before, and the others.
func (w *World) groups(number int) iter.Seq2[*lattice.Account, bool] {
	return func(yield func(*lattice.Account, bool) bool) {
		first := number * w.groupsPerStorage()
		for n := max(0, first); n < min(first+w.groupsPerStorage(), w.Chain.Mints); n++ {
			if !w.group(n, yield) {
				return
			}
		}
	}
}

func (w *World) group(n int, yield func(*lattice.Account, bool) bool) bool {
	mint := &lattice.Account{Lamports: 1_461_600}
	mint.Address, mint.Owner, mint.Data = w.Chain.MintAccount(n)
	if !w.versions(n, mint, yield) {
		return false
	}
	if address, owner, data, ok := w.Chain.MetadataAccount(n); ok {
		metadata := &lattice.Account{Address: address, Owner: owner, Data: data, Lamports: 5_616_720}
		if !w.versions(n+1, metadata, yield) {
			return false
		}
	}
	for i := range w.perGroup() {
		if number := n*w.perGroup() + i; !w.versions(number, other(number, mint.Address), yield) {
			return false
		}
	}
	return true
}

// versions yields all versions of an account, the newest last.
func (w *World) versions(n int, account *lattice.Account, yield func(*lattice.Account, bool) bool) bool {
	older := *account
	older.Data = append([]byte{}, account.Data...)
	for i := range older.Data {
		if i >= 36 && i < 44 { // the supply of a mint
			older.Data[i] ^= 0x55
		}
	}
	older.Lamports++
	if hasOlder(n) && !yield(&older, true) {
		return false
	}
	if hasDouble(n) && !yield(&older, false) {
		return false
	}
	if w.Closed(n) {
		account.Lamports, account.Data, account.Owner = 0, nil, pubkey.Key{}
	}
	return yield(account, false)
}

// other makes a token account of 165 bytes, as most accounts are, or a wallet without data.
func other(n int, mint pubkey.Key) *lattice.Account {
	account := &lattice.Account{Lamports: 2_039_280 + uint64(n), Address: chain.MadeUp("other", uint64(n))}
	if n%8 == 7 {
		return account // owned by the system program, the zero key
	}
	account.Owner = tokenaccount.ProgramToken
	account.Data = make([]byte, 165)
	owner := chain.MadeUp("wallet", uint64(n))
	copy(account.Data, mint[:])
	copy(account.Data[32:], owner[:])
	binary.LittleEndian.PutUint64(account.Data[64:], uint64(n)*77)
	account.Data[108] = 1 // initialised
	return account
}

// Sum is the lattice hash of the newest versions, as the function Sum makes of Storages, without
// keeping them.
func (w *World) Sum() *lattice.Hash {
	sum := new(lattice.Hash)
	var hasher lattice.Hasher
	for number := range w.Chain.Mints/w.groupsPerStorage() + 1 {
		var last *lattice.Account // of two versions in one storage the later one counts
		for account, older := range w.groups(number) {
			if older {
				continue
			}
			if last != nil && last.Address != account.Address {
				sum.Add(hasher.Account(last))
			}
			copied := *account
			last = &copied
		}
		if last != nil {
			sum.Add(hasher.Account(last))
		}
	}
	return sum
}
