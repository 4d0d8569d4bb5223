package state

import (
	"slices"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// version is an account as a slot left it.
type version struct {
	slot uint64
	// bank is that which wrote it, or the slot's reading; nil if it is final.
	bank *bank
	// order is the write_version: of two writes in a slot, the later has the greater.
	order uint64
	// transaction is that which wrote it, as HashOf its signature; 0 if none is named.
	transaction uint64
	// read says that a call read the account, at the end of the slot.
	read bool
	// account is nil if it does not exist.
	account *solana.Account
}

// history has the versions of one account, one for each bank, by slot. Of a slot, a reading is
// last.
type history struct {
	key      venue.Key
	versions []version
	// since is the slot after which the stream has all writes; it is the constant never if the
	// account is not subscribed to yet.
	since uint64
	// unnamed says that a subscription has the account without its address: see byKind.
	unnamed bool
	// users are the pools that need the account.
	users []*pool
	// shared is what the last snapshot has of the account, outside the pools' entries; nil for
	// nothing.
	shared *account
	// changed says that the account is in Fold.changed.
	changed bool
}

// never is the since of an account that is not subscribed to yet.
const never = ^uint64(0)

// add adds a version. Of a bank, a reading replaces writes, and a later write an earlier one. added
// says that there was none, and ok is false if the version is not newer than the one of its bank.
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

// at returns the version that holds at the head, if it counts.
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

// counts returns whether a version is certain to be the last of its bank. The stream may have
// missed a later one up to since.
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
