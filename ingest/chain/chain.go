// Package chain is what every source yields and every decoder reads: blocks and transactions in one
// plain shape, whatever format they came in.
//
// In: nothing. Out: types. Guarantees: a value borrows the bytes of the message it was parsed from;
// whoever keeps one longer than its sink call copies it.
package chain

import (
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Signature is a transaction's first signature, which is its id.
type Signature [64]byte

// Block is a confirmed block, or a lone transaction in the shape of one.
type Block struct {
	Slot uint64
	// ParentSlot is nil where the source does not say.
	ParentSlot *uint64
	// ParentGuessed says that the source named the block itself as its parent, and ParentSlot is
	// the slot before instead.
	ParentGuessed   bool
	Blockhash       pubkey.Key
	ParentBlockhash pubkey.Key
	// BlockTime is Unix seconds, 0 where the source does not say.
	BlockTime int64
	// Height is the number of blocks before this one; nil where the source does not say.
	Height *uint64
	// Executed is how many transactions the block has on the chain, those that are not here
	// included; 0 where the source does not say.
	Executed uint64
	// Whole says that every transaction that Mintlake asks for is here: the block may enter the
	// slot ledger. False for single transactions.
	Whole        bool
	Transactions []Transaction
	// Accounts are the accounts that transactions of the block wrote, as far as the source showed
	// them; none says nothing.
	Accounts []Account
	// ReceivedAt is when the block reached this process; it measures freshness and decides nothing.
	ReceivedAt time.Time
}

// Account is an account as one transaction left it.
type Account struct {
	Key, Owner pubkey.Key
	Data       []byte
	// Signature is that of the transaction, Transaction its Index in the block; -1 while the block
	// is not known.
	Signature   Signature
	Transaction int
}

// Transaction is one transaction and what running it did. Of votes and failed transactions there is
// only what identifies them: Signature, Index, Failed and Vote. They change no token, and are most
// of what a block holds.
type Transaction struct {
	Signature Signature
	// Index is the place in the block counting every transaction, from 0; -1 where the source does
	// not say.
	Index  int
	Failed bool
	Vote   bool
	// Keys are the static account keys followed by the addresses loaded from lookup tables,
	// writable ones first.
	Keys         []pubkey.Key
	Instructions []Instruction
	// Signers is how many of the first keys signed.
	Signers int
	// PostBalances (and PreBalances) are the token balances as the node reports them.
	PreBalances  []TokenBalance
	PostBalances []TokenBalance
	// Details are what few ask for; nil where the source has none, and of a vote or a failed
	// transaction.
	Details Details
	// Raw is the transaction as it came, also of a vote or a failed one; nil where nobody needs it:
	// of a lone transaction that is no Geyser update.
	Raw Raw
}

// Raw is a transaction as it came.
type Raw interface {
	// AppendUpdate appends the transaction as a Geyser stream sends it: an encoded
	// geyser.SubscribeUpdateTransactionInfo. Unless all is true it appends nothing when the
	// transaction touches none of the programs that Mintlake subscribes to. An error says that the
	// form it came in has not all that is needed.
	AppendUpdate(to []byte, all bool) ([]byte, error)
}

// Details are the parts of a transaction's metadata that are read when asked for only: reading them
// of every transaction costs more than all the rest.
type Details interface {
	// Logs calls visit with each line of the log, in order, until it returns false. A line is good
	// until visit returns. What is not well-formed ends it.
	Logs(visit func(line []byte) bool)
	// Lamports appends the accounts' lamports before and after the transaction, in the order of
	// Keys, to the slices. What is not well-formed is left out.
	Lamports(pre, post []uint64) ([]uint64, []uint64)
}

// Instruction is an outer instruction with the flat list of what it called.
type Instruction struct {
	Call
	Inner []Call
}

// Call is one program invocation. Indexes point into Transaction.Keys and may lie beyond it in
// hostile data.
type Call struct {
	ProgramIndex int
	Accounts     []byte
	Data         []byte
	// StackHeight is 1 for outer instructions, 0 where the source does not say.
	StackHeight int
}

// TokenBalance is a token account's balance before or after the transaction.
type TokenBalance struct {
	AccountIndex int
	Mint         pubkey.Key
	// Owner is the wallet; Program the token program. Zero where the source does not say (old
	// blocks).
	Owner    pubkey.Key
	Program  pubkey.Key
	Decimals uint8
	Amount   uint64
}

// Account returns the key of the call's i-th account; false when the call or the transaction is too
// short.
func (t *Transaction) Account(c *Call, i int) (pubkey.Key, bool) {
	if i < 0 || i >= len(c.Accounts) {
		return pubkey.Key{}, false
	}
	return t.key(int(c.Accounts[i]))
}

// Program returns the key of the call's program; false when its index lies beyond the keys.
func (t *Transaction) Program(c *Call) (pubkey.Key, bool) {
	return t.key(c.ProgramIndex)
}

func (t *Transaction) key(i int) (pubkey.Key, bool) {
	if i < 0 || i >= len(t.Keys) {
		return pubkey.Key{}, false
	}
	return t.Keys[i], true
}
