package transfer

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// StateKind is what an instruction did to an account, beside its balance.
type StateKind uint8

// The kinds. After Opened, Revoked, and Spent of all that was approved, an account has no delegate.
const (
	// Opened is InitializeAccount after the same transaction closed the account. Other openings
	// show in the transaction's balances.
	Opened StateKind = iota + 1
	// Frozen and Thawed are FreezeAccount and ThawAccount.
	Frozen
	Thawed
	// Approved lets Delegate spend Amount: Approve, ApproveChecked.
	Approved
	// Revoked is Revoke, and SetAuthority of the owner.
	Revoked
	// Spent means that Delegate, who is not the owner, moved Amount out of the account. Delegate
	// need not be the account's delegate, because the mint's permanent delegate can move tokens
	// too. What was approved before tells whether it is.
	Spent
	// Unclear means that from here on the instructions do not tell how much a delegate may spend.
	// Either the owner was approved, so that the owner's transfers count as a delegate's, or
	// somebody spent an amount that is not known.
	Unclear
)

// Wire returns the kind as it is on chain.balances.v1, which has the same numbers.
func (k StateKind) Wire() eventspb.AccountStateKind { return eventspb.AccountStateKind(k) }

// StateChange is a change of an account beside its balance.
type StateChange struct {
	Place   Place
	Kind    StateKind
	Account pubkey.Key
	// Mint is zero if the transaction does not tell it.
	Mint pubkey.Key
	// Delegate and Amount are set for Approved and Spent.
	Delegate pubkey.Key
	Amount   uint64
}

// noted is a StateChange while the transaction is read. life is one of walk.lives.
type noted struct {
	place    Place
	kind     StateKind
	life     int
	delegate pubkey.Key
	amount   uint64
}

func (w *walk) note(place Place, kind StateKind, life int, delegate pubkey.Key, amount uint64) {
	if life != None {
		w.noted = append(w.noted, noted{place, kind, life, delegate, amount})
	}
}

// state reads an instruction about an account's delegate, or about whether it is frozen.
func (w *walk) state(call *chain.Call, place Place, c *borsh.Reader) {
	at := w.at(account(call, 0))
	if at == None {
		return
	}
	switch call.Data[0] {
	case tagFreezeAccount:
		w.learn(at, w.key(call, 1))
		w.note(place, Frozen, at, pubkey.Key{}, 0)
	case tagThawAccount:
		w.learn(at, w.key(call, 1))
		w.note(place, Thawed, at, pubkey.Key{}, 0)
	case tagRevoke:
		w.note(place, Revoked, at, pubkey.Key{}, 0)
	case tagApprove:
		w.approve(place, at, w.key(call, 1), c)
	case tagApproveChecked:
		w.learn(at, w.key(call, 1))
		w.approve(place, at, w.key(call, 2), c)
	}
}

func (w *walk) approve(place Place, at int, delegate pubkey.Key, c *borsh.Reader) {
	amount := c.U64()
	switch {
	case c.Err() != nil: // malformed: the instruction cannot have succeeded
	case delegate.IsZero() || delegate == w.lives[at].owner:
		w.note(place, Unclear, at, pubkey.Key{}, 0)
	default:
		w.note(place, Approved, at, delegate, amount)
	}
}

// wasClosed reports whether the transaction closed an account.
func (w *walk) wasClosed(account int) bool {
	for i := range w.lives {
		if w.lives[i].account == account && w.lives[i].closed {
			return true
		}
	}
	return false
}

// spend notes the movements that somebody other than the owner made. settle must have run before,
// because spend needs the amounts. A movement from an account to itself spends nothing:
// process_transfer of both programs leaves delegates as they are.
func (w *walk) spend() {
	for i := range w.flows {
		f := &w.flows[i]
		if f.from == None || f.from == f.to || !w.isKey(f.authority) {
			continue
		}
		switch mover := w.tx.Keys[f.authority]; {
		case mover == f.fromOwner:
		case f.known:
			w.note(f.place, Spent, f.from, mover, f.amount)
		default:
			w.note(f.place, Unclear, f.from, pubkey.Key{}, 0)
		}
	}
}

// states returns all changes of accounts beside their balances.
func (w *walk) states() []StateChange {
	w.spend()
	if len(w.noted) == 0 {
		return nil
	}
	all := make([]StateChange, len(w.noted))
	for i := range w.noted {
		n := &w.noted[i]
		l := &w.lives[n.life]
		all[i] = StateChange{
			Place: n.place, Kind: n.kind, Account: w.tx.Keys[l.account], Mint: l.mint, Delegate: n.delegate, Amount: n.amount,
		}
	}
	return all
}
