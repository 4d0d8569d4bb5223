package state

import (
	"cmp"
	"slices"

	"github.com/mintlake/mintlake/internal/solana"
)

// version is an account as a slot left it.
type version struct {
	slot uint64
	// order is the write_version: of two writes in a slot the greater one is the later.
	order uint64
	// transaction that wrote it, as a hash of its signature; 0 if none is named.
	transaction uint64
	// read says that the account was read at the end of the slot, by a call.
	read bool
	// account is nil when it does not exist.
	account *solana.Account
}

// together says whether two versions are of one state: one transaction wrote both, or one slot's
// reading has both.
func (v version) together(w version) bool {
	if v.slot != w.slot || v.read != w.read {
		return false
	}
	return v.read || v.transaction != 0 && v.transaction == w.transaction
}

// history is the versions of one account by slot, ascending: one a slot.
type history struct {
	versions []version
	// since is the slot behind which all writes are told; never before the account was subscribed.
	since uint64
	// users are the pools that need the account.
	users []*pool
}

// never is the slot of an account that is not subscribed yet.
const never = ^uint64(0)

// add takes a version in; false if it says nothing new.
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

// at is the version that holds at the head. One from before the subscription may have been followed
// by another that was not told.
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

// prune drops what a new root makes useless: versions of slots that lost, and all but the last of
// those up to the root. lost tells of a slot up to the root.
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
