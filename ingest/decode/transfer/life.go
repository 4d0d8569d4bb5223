package transfer

import "github.com/mintlake/mintlake/schemas/pubkey"

// life is a token account from its opening, or from the start of the transaction, until it is
// closed, or until the end of the transaction. An account that is closed and opened again in the
// transaction has several lives.
type life struct {
	// account is the account's index among the keys.
	account int
	// mint and owner are zero if the transaction does not tell them. The owner can change.
	mint, owner pubkey.Key
	// start and finish are the amounts at the start and the end of the life. started and finished
	// mean that they are known.
	start, finish     uint64
	started, finished bool
	// closed means that an instruction ended the life.
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

// startLife adds l as the present life of an account, and returns its index.
func (w *walk) startLife(account int, l life) int {
	l.account = account
	w.lives = append(w.lives, l)
	w.current[account] = len(w.lives) - 1
	return w.current[account]
}

// at returns the index of an account's present life; None if account is beyond the keys. An account
// without a life was not there before the transaction, and no instruction has opened it: the source
// has left out the instruction that opened it. Then at starts a life, whose mint and owner are
// those of the balance after the transaction.
func (w *walk) at(account int) int {
	if !w.isKey(account) {
		return None
	}
	if w.current[account] != None {
		return w.current[account]
	}
	for i := range w.tx.PostBalances {
		if b := &w.tx.PostBalances[i]; b.AccountIndex == account {
			return w.startLife(account, life{mint: b.Mint, owner: b.Owner})
		}
	}
	return w.startLife(account, life{})
}

// open starts the life of an account that an instruction initialises.
func (w *walk) open(account int, mint, owner pubkey.Key) int {
	if !w.isKey(account) {
		return None
	}
	return w.startLife(account, life{mint: mint, owner: owner, started: true})
}

// endLife ends a life, because an instruction closed the account.
func (w *walk) endLife(at int) {
	l := &w.lives[at]
	l.finish, l.finished, l.closed = 0, true, true
	w.current[l.account] = None
}
