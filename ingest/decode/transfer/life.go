package transfer

import "github.com/mintlake/mintlake/schemas/pubkey"

// life is a token account from its opening, or from the start of the transaction, until it is
// closed, or until the end of the transaction. An account can have several.
type life struct {
	// account is its place among the keys.
	account int
	// mint and owner are zero if the transaction does not tell them. The owner can change.
	mint, owner pubkey.Key
	// start and finish are the amounts at its start and its end, if they are known.
	start, finish     uint64
	started, finished bool
	// closed means that an instruction ended it.
	closed bool
	// in and out are the sums of the movements whose amounts are known. A sum that exceeds 64 bits
	// sets over.
	in, out uint64
	over    bool
	// unknown counts movements whose amount is not known, fees those whose fee is not.
	unknown, fees int
}

// isKey reports whether an index of a call is one of the transaction's keys.
func (w *walk) isKey(account int) bool { return account >= 0 && account < min(len(w.tx.Keys), maxKeys) }

// live starts a life of an account.
func (w *walk) live(account int, l life) int {
	l.account = account
	w.lives = append(w.lives, l)
	w.current[account] = len(w.lives) - 1
	return w.current[account]
}

// at returns the life of an account; None if the index is beyond the keys. If the account was not
// there before and no instruction opened it, the balance after the transaction tells its mint and
// owner: then the source left out the instruction that opened it.
func (w *walk) at(account int) int {
	if !w.isKey(account) {
		return None
	}
	if w.current[account] != None {
		return w.current[account]
	}
	for i := range w.tx.PostBalances {
		if b := &w.tx.PostBalances[i]; b.AccountIndex == account {
			return w.live(account, life{mint: b.Mint, owner: b.Owner})
		}
	}
	return w.live(account, life{})
}

// open starts the life of an account that an instruction initialises.
func (w *walk) open(account int, mint, owner pubkey.Key) int {
	if !w.isKey(account) {
		return None
	}
	return w.live(account, life{mint: mint, owner: owner, started: true})
}

// shut ends the life of an account.
func (w *walk) shut(at int) {
	l := &w.lives[at]
	l.finish, l.finished, l.closed = 0, true, true
	w.current[l.account] = None
}
