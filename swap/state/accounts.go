package state

import (
	"cmp"
	"slices"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// version is an account as a slot left it.
type version struct {
	slot uint64
	// order is the write_version: of two writes in a slot, the later has the greater.
	order uint64
	// transaction is that which wrote it, as HashOf its signature; 0 if none is named.
	transaction uint64
	// read says that a call read the account, at the end of the slot.
	read bool
	// account is nil if it does not exist.
	account *solana.Account
}

// together returns whether two versions belong to one state: one transaction wrote both, or both
// were read in one slot.
func (v version) together(w version) bool {
	if v.slot != w.slot || v.read != w.read {
		return false
	}
	return v.read || v.transaction != 0 && v.transaction == w.transaction
}

// history has the versions of one account, one for each slot, ascending.
type history struct {
	key      venue.Key
	versions []version
	// since is the slot after which the stream has all writes; it is the constant never if the
	// account is not subscribed to yet.
	since uint64
	// users are the pools that need the account.
	users []*pool
	// shared is what the last snapshot has of the account, outside the pools' entries; nil for
	// nothing.
	shared *account
	// based says that the base has the account, and outside that pools of the base need it that do
	// not own it.
	based, outside bool
	// changed says that the account is in Fold.changed.
	changed bool
}

// never is the since of an account that is not subscribed to yet.
const never = ^uint64(0)

// add adds a version. In a slot, a reading replaces writes, and a later write an earlier one. add
// returns false if the version is not newer than the one of its slot.
func (h *history) add(v version) bool {
	at, same := slices.BinarySearchFunc(h.versions, v, func(a, b version) int { return cmp.Compare(a.slot, b.slot) })
	if !same {
		h.versions = slices.Insert(h.versions, at, v)
		return true
	}
	have := &h.versions[at]
	if have.read || !v.read && v.order <= have.order {
		return false
	}
	*have = v
	return true
}

// at returns the version that holds at the head. A version before since does not count: the stream
// may have missed a later one.
func (h *history) at(t *tree) (version, bool) {
	for _, v := range slices.Backward(h.versions) {
		if v.slot < h.since {
			break
		}
		if v.slot <= t.root || t.fork[v.slot] {
			return v, true
		}
	}
	return version{}, false
}

// prune drops what a new root makes useless: versions of slots that lost, and of those up to the
// root all but the last. lost returns whether a slot up to the root is on a fork that lost.
func (h *history) prune(root uint64, lost func(slot uint64) bool) {
	kept := h.versions[:0]
	for _, v := range h.versions {
		if v.slot <= root && lost(v.slot) {
			continue
		}
		if len(kept) > 0 && v.slot <= root {
			kept = kept[:0]
		}
		kept = append(kept, v)
	}
	clear(h.versions[len(kept):])
	h.versions = kept
}
