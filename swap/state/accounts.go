package state

import (
	"slices"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// version is an account as a slot left it.
type version struct {
	slot uint64
	// bank is the bank that wrote it or, for an account that a call read, slot.reading. It is nil
	// if the version is final.
	bank *bank
	// order is the write_version: of two writes in a slot, the later has the greater.
	order uint64
	// transaction is HashOf the signature of the transaction that wrote it; 0 if the stream named
	// none.
	transaction uint64
	// read says that a call read the account, at the end of the slot.
	read bool
	// account is nil if it does not exist.
	account *solana.Account
}

// history has the versions of one account, at most one for each bank, in the order of slots. Within
// a slot, the version that a call read is last.
type history struct {
	key      venue.Key
	versions []version
	// since is the slot after which the stream tells all writes. It is the constant never if the
	// account is not subscribed to yet.
	since uint64
	// unnamed says that a filter of the subscription covers the account, which therefore need not
	// be named: see byKind.
	unnamed bool
	// users are the pools that need the account.
	users []*pool
	// shared is what the last snapshot has of the account outside the pools' entries; nil if it has
	// nothing.
	shared *account
	// changed says that the account is in Fold.changed.
	changed bool
}

// never is the since of an account that is not subscribed to yet.
const never = ^uint64(0)

// add adds a version. A bank has one version: a reading replaces a write, and a later write an
// earlier one. added says that the bank had none. ok is false if the bank's version is as new as v
// or newer, and stays.
func (h *history) add(v version) (added, ok bool) {
	at := len(h.versions)
	for i := at - 1; i >= 0 && h.versions[i].slot >= v.slot; i-- {
		have := &h.versions[i]
		if have.slot == v.slot && have.bank == v.bank {
			if have.read || !v.read && v.order <= have.order {
				return false, false
			}
			*have = v
			return false, true
		}
		if have.slot > v.slot || have.read && !v.read {
			at = i
		}
	}
	h.versions = slices.Insert(h.versions, at, v)
	return true, true
}

// at returns the version that holds at the head. It returns false if it is not certain which one
// that is.
func (h *history) at() (version, bool) {
	for i := len(h.versions) - 1; i >= 0; i-- {
		v := &h.versions[i]
		if !h.counts(v) {
			break
		}
		if v.bank == nil || v.bank.fork {
			return *v, true
		}
	}
	return version{}, false
}

// counts returns whether a version is certain to be the last of its bank. It is not certain up to
// the slot since, because the stream may not have told a later version.
func (h *history) counts(v *version) bool { return v.slot > h.since || v.read && v.slot == h.since }

// prune drops what a new root makes useless: versions of slots that lost, and of those up to the
// root all but the last, which is final.
func (h *history) prune(root uint64) {
	kept := h.versions[:0]
	for _, v := range h.versions {
		if v.slot <= root && v.bank != nil {
			if !v.bank.fork {
				continue
			}
			v.bank = nil
		}
		if len(kept) > 0 && v.slot <= root {
			kept = kept[:0]
		}
		kept = append(kept, v)
	}
	clear(h.versions[len(kept):])
	h.versions = kept
}

// remove drops the version of a bank.
func (h *history) remove(b *bank) {
	h.versions = slices.DeleteFunc(h.versions, func(v version) bool { return v.bank == b })
}
