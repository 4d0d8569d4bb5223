// Package transfer finds the movements of tokens in transactions.
//
// In: transactions of blocks, from any source. Out: one Transfer for each instruction of the token
// programs that moves, makes or removes tokens, at any depth and in Batches, in the order of
// execution; and one StateChange for each that changes who may spend from an account, or whether it
// is frozen. Guarantees: pure and deterministic. Failed and vote transactions contribute nothing.
// Hostile input never panics. What a transaction does not tell stays unknown: it is never guessed.
package transfer

import (
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Kind is what moved the tokens.
type Kind uint8

// The kinds. Those that make tokens have no From, those that remove them no To.
const (
	// Move takes tokens from one account to another: Transfer, TransferChecked,
	// TransferCheckedWithFee.
	Move Kind = iota + 1
	// Mint makes tokens: MintTo, MintToChecked.
	Mint
	// Burn removes tokens: Burn, BurnChecked, the permissioned forms.
	Burn
	// Open makes wrapped SOL of what a new account has above its rent: InitializeAccount.
	Open
	// Sync makes wrapped SOL of lamports that came in: SyncNative.
	Sync
	// Unwrap pays wrapped SOL out as lamports: UnwrapLamports.
	Unwrap
	// Close pays an account's wrapped SOL out as lamports: CloseAccount. Accounts of other mints
	// are empty when they are closed, and make no Transfer.
	Close
	// Harvest moves withheld fees from an account to its mint. No balance changes:
	// HarvestWithheldTokensToMint. To is not set, as a mint is no token account.
	Harvest
	// WithdrawWithheld moves withheld fees to an account: WithdrawWithheldTokensFromMint, and
	// FromAccounts.
	WithdrawWithheld
	// Deposit moves tokens from an account's balance to its confidential balance.
	Deposit
	// Withdraw moves tokens from an account's confidential balance to its balance.
	Withdraw
)

// Side is the account that tokens left or reached. Both keys are zero if the kind has no such side.
type Side struct {
	Account pubkey.Key
	// Owner is the wallet that owned the account then; zero if the transaction does not tell.
	Owner pubkey.Key
}

// None is the index of something that is absent.
const None = -1

// Place is where an instruction is in its transaction. Inner is None for an outer instruction,
// Batch is None outside a Batch.
type Place struct{ Outer, Inner, Batch int }

// Transfer is one movement of tokens.
type Transfer struct {
	Place Place
	Kind  Kind
	// Mint is zero if the transaction does not tell it.
	Mint     pubkey.Key
	From, To Side
	// Amount is the raw amount that left From, or that was made. Known is false if the transaction
	// does not tell it.
	Amount uint64
	Known  bool
	// Fee is what a Token-2022 mint withheld of Amount: To got Amount - Fee. FeeKnown is false if
	// the transaction does not tell whether something was withheld.
	Fee      uint64
	FeeKnown bool
}

// Result is what one transaction moved.
type Result struct {
	Transfers []Transfer
	// States are the changes of accounts beside their balances.
	States []StateChange
	// Unexplained counts the accounts whose balance after the transaction is not what the transfers
	// lead to.
	Unexplained int
}

// Decoder finds transfers. It holds no state between transactions, and its methods may be called
// concurrently.
type Decoder struct {
	scratch sync.Pool // of *walk
}

// New returns a decoder.
func New() *Decoder {
	return &Decoder{scratch: sync.Pool{New: func() any { return &walk{} }}}
}

// Decode returns the transfers of one transaction. rent is what Rent returned for its block. The
// result shares no memory with tx.
func (d *Decoder) Decode(tx *chain.Transaction, rent uint64) Result {
	if tx.Failed || tx.Vote {
		return Result{}
	}
	w, _ := d.scratch.Get().(*walk)
	defer d.scratch.Put(w)
	if !w.begin(tx, rent) {
		return Result{}
	}
	for i := range tx.Instructions {
		outer := &tx.Instructions[i]
		w.call(&outer.Call, Place{Outer: i, Inner: None, Batch: None})
		for j := range outer.Inner {
			w.call(&outer.Inner[j], Place{Outer: i, Inner: j, Batch: None})
		}
	}
	w.end()
	unexplained := w.settle()
	result := Result{Transfers: w.transfers(), States: w.states(), Unexplained: unexplained}
	w.tx = nil
	return result
}

// String returns the kind's name, as it is in ClickHouse and in the API.
func (k Kind) String() string { return schemas.TransferKind(k.Wire()) }

// Wire returns the kind as it is on chain.transfers.v1, which has the same numbers.
func (k Kind) Wire() eventspb.TransferKind { return eventspb.TransferKind(k) }
