package transfer

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxKeys is how many keys a transaction can have: instructions name them by one byte.
const maxKeys = 256

// Programs whose instructions are read.
var (
	tokenProgram      = pubkey.MustParse(schemas.ProgramToken)
	token22Program    = pubkey.MustParse(schemas.ProgramToken2022)
	associatedProgram = pubkey.MustParse(schemas.ProgramAssociatedToken)
	systemProgram     = pubkey.MustParse(schemas.ProgramSystem)
)

// Wrapped SOL of the two token programs. Token-2022's is hardly used.
var (
	nativeMint   = pubkey.MustParse(schemas.MintWrappedSOL)
	nativeMint22 = pubkey.MustParse(schemas.MintWrappedSOL2022)
)

func isNative(mint *pubkey.Key) bool { return *mint == nativeMint || *mint == nativeMint22 }

// program is what a key is to the walk.
type program uint8

const (
	other program = iota
	token
	token22
	associated
	system
)

// flow is one movement while the transaction is read. from and to are lives; None if there is none.
type flow struct {
	place    Place
	kind     Kind
	mint     pubkey.Key
	from, to int
	// fromOwner and toOwner are the owners of the accounts at the time of the movement.
	fromOwner, toOwner pubkey.Key
	// authority is the index among the keys of the account that signed for the movement; None for
	// kinds that no delegate can make.
	authority int
	amount    uint64
	known     bool
	// hint is the amount that the lamports tell, if hinted. Not all lamports come by instructions,
	// so it may be wrong.
	hint   uint64
	hinted bool
	fee    uint64
	// feeKnown is false while a fee is possible and not known.
	feeKnown bool
}

// walk reads one transaction. It is reused for other transactions.
type walk struct {
	tx       *chain.Transaction
	rent     uint64
	programs [maxKeys]program
	lives    []life
	// current has the index of each account's present life, by the account's index; None if the
	// account has no life now.
	current  [maxKeys]int
	flows    []flow
	lamports lamports
	noted    []noted
}

// begin prepares the walk for a transaction. It returns false if the transaction names no token
// program.
func (w *walk) begin(tx *chain.Transaction, rent uint64) bool {
	any := false
	for i := range tx.Keys[:min(len(tx.Keys), maxKeys)] {
		w.programs[i] = kindOf(&tx.Keys[i])
		any = any || w.programs[i] == token || w.programs[i] == token22
	}
	if !any {
		return false
	}
	w.tx, w.rent = tx, rent
	w.lives, w.flows = w.lives[:0], w.flows[:0]
	w.noted = w.noted[:0]
	w.lamports = lamports{}
	for i := range w.current {
		w.current[i] = None
	}
	for i := range tx.PreBalances {
		b := &tx.PreBalances[i]
		if b.AccountIndex >= 0 && b.AccountIndex < maxKeys {
			w.startLife(b.AccountIndex, life{mint: b.Mint, owner: b.Owner, start: b.Amount, started: true})
		}
	}
	return true
}

func kindOf(key *pubkey.Key) program {
	switch *key {
	case tokenProgram:
		return token
	case token22Program:
		return token22
	case associatedProgram:
		return associated
	case systemProgram:
		return system
	default:
		return other
	}
}

// end gives the accounts that are still open the balances after the transaction.
func (w *walk) end() {
	for i := range w.tx.PostBalances {
		b := &w.tx.PostBalances[i]
		if b.AccountIndex < 0 || b.AccountIndex >= maxKeys || w.current[b.AccountIndex] == None {
			continue
		}
		if l := &w.lives[w.current[b.AccountIndex]]; l.mint == b.Mint {
			l.finish, l.finished = b.Amount, true
		}
	}
}

// call reads one call. It takes a Batch apart.
func (w *walk) call(call *chain.Call, place Place) {
	if !w.isKey(call.ProgramIndex) {
		return
	}
	switch kind := w.programs[call.ProgramIndex]; kind {
	case token, token22:
		w.tokens(call, place, kind == token22)
	case associated:
		w.associated(call)
	case system:
		w.lamports.system(call)
	case other:
	}
}

// transfers returns all movements.
func (w *walk) transfers() []Transfer {
	if len(w.flows) == 0 {
		return nil
	}
	all := make([]Transfer, len(w.flows))
	for i := range w.flows {
		f := &w.flows[i]
		all[i] = Transfer{
			Place: f.place, Kind: f.kind, Mint: f.mint,
			From: w.side(f.from, f.fromOwner), To: w.side(f.to, f.toOwner),
			Amount: f.amount, Known: f.known, Fee: f.fee, FeeKnown: f.feeKnown,
		}
	}
	return all
}

func (w *walk) side(at int, owner pubkey.Key) Side {
	if at == None {
		return Side{}
	}
	return Side{Account: w.tx.Keys[w.lives[at].account], Owner: owner}
}
