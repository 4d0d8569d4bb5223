package state

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// base is the checkpoint below a Fold, as its file has it: accounts, pools and pairs that were
// certain at its slot. Most pools are neither traded nor asked for in a day. So a Fold enters a
// pair when something of it changes, and a Snapshot reads the others from here.
//
// It is immutable except for what it remembers, and safe for concurrent use.
type base struct {
	venues venue.List
	// heads are the accounts without their data, headSize bytes each, in the order of their keys.
	// data has the data of all, in the same order.
	heads, data []byte
	// pools are grouped by pair. needs are the accounts that they need, grouped by pool.
	pools []storedPool
	needs []uint32
	// pairs are in order. asked are those that were asked for, the oldest first.
	pairs []storedPair
	asked []uint32

	// firsts says where the accounts begin whose keys begin with two bytes; one more than there are
	// such beginnings.
	firsts []uint32
	// ownersOf says where the pairs with a pool that owns an account begin in owners; one more than
	// there are accounts.
	ownersOf, owners []uint32
	// shared says of each account whether a pool needs it that does not own it.
	shared []bool

	// remembered are the accounts that were read, and listed the pairs.
	remembered []atomic.Pointer[account]
	listed     []atomic.Pointer[listed]
}

// storedPool is a pool in a base. account is that at its address, needs the first of its needs, of
// which the first own ones are its own. asked says that it is no pool that was found, but an
// address where the pair may have one.
type storedPool struct {
	account, needs uint32
	own            uint8
	asked          bool
}

// storedPair is a pair in a base. a and b are the accounts of its mints, pools is its first pool. A
// pair that was asked for is listed.
type storedPair struct {
	a, b, pools uint32
	asked       bool
}

// Where the parts of an account lie in heads: its key, slot, write_version, transaction, flags,
// owner, lamports, and where its data ends.
const (
	headSlot        = 32
	headOrder       = headSlot + 8
	headTransaction = headOrder + 8
	headFlags       = headTransaction + 8
	headOwner       = headFlags + 1
	headLamports    = headOwner + 32
	headEnd         = headLamports + 8
	headSize        = headEnd + 8
)

// index makes what is not in the file.
func (b *base) index() {
	count := b.len()
	b.shared, b.ownersOf = make([]bool, count), make([]uint32, count+1)
	b.remembered, b.listed = make([]atomic.Pointer[account], count), make([]atomic.Pointer[listed], len(b.pairs))
	b.firsts = make([]uint32, 1<<16+1)
	for i := range uint32(count) {
		b.firsts[beginning(b.head(i))+1] = i + 1
	}
	for i := range b.firsts[1:] {
		b.firsts[i+1] = max(b.firsts[i+1], b.firsts[i])
	}
	for n, p := range b.pools {
		for at, i := range b.needsOf(n) {
			if at < int(p.own) {
				b.ownersOf[i]++
			} else {
				b.shared[i] = true
			}
		}
	}
	total := uint32(0)
	for i, owners := range b.ownersOf {
		total += owners
		b.ownersOf[i] = total // where they end, from which the next loop counts down
	}
	b.owners = make([]uint32, total)
	for n := range b.pairs {
		first, end := b.poolsOf(n)
		for p := first; p < end; p++ {
			for _, i := range b.needsOf(p)[:b.pools[p].own] {
				b.ownersOf[i]--
				b.owners[b.ownersOf[i]] = uint32(n)
			}
		}
		if pair := b.pairs[n]; pair.asked {
			b.shared[pair.a], b.shared[pair.b] = true, true
		}
	}
}

// bytes returns how many bytes its accounts count as, see Fold.Bytes.
func (b *base) bytes() int64 { return int64(len(b.data)) + int64(b.len())*versionBytes }

// len returns how many accounts there are.
func (b *base) len() int { return len(b.heads) / headSize }

func (b *base) head(i uint32) []byte { return b.heads[int(i)*headSize:][:headSize] }

func (b *base) key(i uint32) pubkey.Key { return pubkey.Key(b.head(i)) }

// poolsOf returns where the pools of a pair begin and end.
func (b *base) poolsOf(pair int) (first, end int) {
	end = len(b.pools)
	if pair+1 < len(b.pairs) {
		end = int(b.pairs[pair+1].pools)
	}
	return int(b.pairs[pair].pools), end
}

// needsOf returns the accounts that a pool needs.
func (b *base) needsOf(pool int) []uint32 {
	end := len(b.needs)
	if pool+1 < len(b.pools) {
		end = int(b.pools[pool+1].needs)
	}
	return b.needs[b.pools[pool].needs:end]
}

// ownersAt returns the pairs with a pool that owns an account.
func (b *base) ownersAt(i uint32) []uint32 { return b.owners[b.ownersOf[i]:b.ownersOf[i+1]] }

// find returns which account has a key.
func (b *base) find(key pubkey.Key) (i uint32, ok bool) {
	if b.len() == 0 {
		return 0, false
	}
	from, end := b.firsts[beginning(key[:])], b.firsts[beginning(key[:])+1]
	at := sort.Search(int(end-from), func(i int) bool { return bytes.Compare(b.head(from + uint32(i))[:headSlot], key[:]) >= 0 })
	i = from + uint32(at)
	return i, i < end && b.key(i) == key
}

// beginning returns the first two bytes of a key.
func beginning(key []byte) int { return int(key[0])<<8 | int(key[1]) }

// findPair returns which pair has two mints.
func (b *base) findPair(p pair) (n int, ok bool) {
	a, hasA := b.find(p.a)
	c, hasB := b.find(p.b)
	if !hasA || !hasB {
		return 0, false
	}
	return slices.BinarySearchFunc(b.pairs, storedPair{a: a, b: c}, compareStored)
}

// end returns where the data of an account ends.
func (b *base) end(i uint32) uint64 { return binary.LittleEndian.Uint64(b.head(i)[headEnd:]) }

// slotOf returns the slot of an account's version.
func (b *base) slotOf(i uint32) uint64 { return binary.LittleEndian.Uint64(b.head(i)[headSlot:]) }

// orderOf returns the write_version of an account's version.
func (b *base) orderOf(i uint32) uint64 { return binary.LittleEndian.Uint64(b.head(i)[headOrder:]) }

// has returns whether an account has a flag.
func (b *base) has(i uint32, flag byte) bool { return b.head(i)[headFlags]&flag != 0 }

// dataOf returns the data of an account. It holds the memory of the base.
func (b *base) dataOf(i uint32) []byte {
	from := uint64(0)
	if i > 0 {
		from = b.end(i - 1)
	}
	return b.data[from:b.end(i):b.end(i)]
}

// read returns an account; nil if it does not exist. It holds the memory of the base.
func (b *base) read(i uint32) *solana.Account {
	if !b.has(i, flagExists) {
		return nil
	}
	head := b.head(i)
	return &solana.Account{
		Owner: pubkey.Key(head[headOwner:]), Lamports: binary.LittleEndian.Uint64(head[headLamports:]),
		Executable: b.has(i, flagExecutable), Data: b.dataOf(i),
	}
}

// copied returns an account that does not hold the memory of the base.
func (b *base) copied(i uint32) *solana.Account {
	a := b.read(i)
	if a != nil {
		a.Data = bytes.Clone(a.Data)
	}
	return a
}

// account returns a copied account that a pool needs, but does not own. It is always the same one.
func (b *base) account(i uint32) *account {
	if a := b.remembered[i].Load(); a != nil {
		return a
	}
	if a := (&account{Account: b.copied(i)}); b.remembered[i].CompareAndSwap(nil, a) {
		return a
	}
	return b.remembered[i].Load()
}

// version returns an account to be changed.
func (b *base) version(i uint32) version {
	v := version{slot: b.slotOf(i), order: b.orderOf(i), transaction: binary.LittleEndian.Uint64(b.head(i)[headTransaction:]), read: b.has(i, flagRead)}
	if b.shared[i] {
		v.account = b.account(i).Account
	} else {
		v.account = b.copied(i)
	}
	return v
}

// outside returns an account that a pool needs, but does not own; nil if there is none of the key.
func (b *base) outside(key pubkey.Key) *account {
	i, ok := b.find(key)
	if !ok || !b.shared[i] {
		return nil
	}
	return b.account(i)
}

// pairOf returns the mints of a pair.
func (b *base) pairOf(n int) pair { return pair{b.key(b.pairs[n].a), b.key(b.pairs[n].b)} }

// list returns what a snapshot has of a pair; nil if the base does not have it.
func (b *base) list(p pair) *listed {
	n, ok := b.findPair(p)
	if !ok {
		return nil
	}
	if l := b.listed[n].Load(); l != nil {
		return l
	}
	l := &listed{complete: true, asked: b.pairs[n].asked}
	for at, end := b.poolsOf(n); at < end; at++ {
		e, certain := b.entry(p, at)
		if e != nil {
			l.entries = append(l.entries, e)
		}
		l.complete = l.complete && certain
	}
	if !b.listed[n].CompareAndSwap(nil, l) {
		return b.listed[n].Load()
	}
	return l
}

// entry returns what a snapshot has of a pool; nil if it has no pool. It is not certain if this
// version of the program needs other accounts than that which wrote the file.
func (b *base) entry(p pair, n int) (e *entry, certain bool) {
	stored := b.pools[n]
	one, ok := b.open(p, stored)
	if !ok {
		return nil, stored.asked
	}
	keys, own := one.wants()
	needs := b.needsOf(n)
	if own != int(stored.own) || !slices.EqualFunc(keys, needs, func(key venue.Key, i uint32) bool { return key == b.key(i) }) {
		return nil, false
	}
	e = &entry{venue: one.venue.Name(), ref: one.ref, from: storedSource{b, n}}
	for _, i := range needs[:own] {
		e.slot = max(e.slot, b.slotOf(i))
	}
	return e, true
}

// storedSource has the accounts of a pool of a base.
type storedSource struct {
	*base
	pool int
}

func (s storedSource) own(key venue.Key) (*solana.Account, bool) {
	for _, i := range s.needsOf(s.pool)[:s.pools[s.pool].own] {
		if s.key(i) == key {
			return s.read(i), true
		}
	}
	return nil, false
}

func (s storedSource) others() int { return len(s.needsOf(s.pool)) - int(s.pools[s.pool].own) }

func (s storedSource) other(i int) venue.Key {
	return s.key(s.needsOf(s.pool)[int(s.pools[s.pool].own)+i])
}

// open returns the pool of a pair; ok is false if there is none at the address.
func (b *base) open(p pair, stored storedPool) (one *pool, ok bool) {
	opened := b.read(stored.account)
	if opened == nil {
		return nil, false
	}
	one = &pool{address: b.key(stored.account), venue: b.venues.Owner(opened.Owner), opened: opened, asked: stored.asked}
	if one.venue == nil {
		return nil, false
	}
	ref, err := one.venue.Open(one.address, opened.Data, p.a, p.b)
	if err != nil {
		return nil, false
	}
	mints := ref.Mints()
	one.ref = ref
	return one, pairOf(mints[0], mints[1]) == p
}

func compareStored(x, y storedPair) int {
	if x.a != y.a {
		return int(x.a) - int(y.a)
	}
	return int(x.b) - int(y.b)
}
