// Package chain has the types that every source returns and every decoder reads: blocks and
// transactions in one plain form, whatever format they came in.
//
// In: nothing. Out: types. Guarantees: a value borrows the bytes of the message it was parsed from,
// so nobody may change these bytes while the value is in use. Whoever keeps a part for long copies
// it, since it keeps the whole message in memory.
package chain

import (
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Signature is a transaction's first signature, which is its id.
type Signature [64]byte

// Block is a confirmed block, or a lone transaction in the form of a block.
type Block struct {
	Slot uint64
	// ParentSlot is nil if the source does not state it.
	ParentSlot *uint64
	// ParentGuessed means that the source named the block itself as its parent. ParentSlot is then
	// the slot before.
	ParentGuessed   bool
	Blockhash       pubkey.Key
	ParentBlockhash pubkey.Key
	// BlockTime is Unix seconds; 0 if the source does not state it.
	BlockTime int64
	// Height is the number of blocks before this one; nil if the source does not state it.
	Height *uint64
	// Executed is how many transactions the block has on the chain, including those left out here;
	// 0 if the source does not state it.
	Executed uint64
	// Whole means that every transaction that Mintlake asks for is in Transactions, so the block
	// may enter the slot ledger. It is false for a lone transaction.
	Whole bool
	// Unread are the transactions of a block that could not be read. Transactions has the others,
	// and the block is not Whole.
	Unread []Unread
	// OverLimit counts transactions that have more of something than the runtime allows. They are
	// read like the others.
	OverLimit int
	// Unclear counts transactions that may be version 0 or 1, because the source does not tell the
	// two apart. They are read as version 0, which makes no difference to what they do.
	Unclear int
	// Bank is the bank that made the block.
	Bank Bank
	// Known means that the source found that the log has the block, before it fetched more than the
	// header. Such a block takes part in the order of blocks, and no sink gets it.
	Known        bool
	Transactions []Transaction
	// Accounts are the accounts that the block's transactions wrote, as far as the source sent
	// them. That an account is missing proves nothing.
	Accounts []Account
	// ReceivedAt is when the block reached this process. It only measures freshness.
	ReceivedAt time.Time
}

// Partial reports whether this is a block of the chain of which something could not be read.
func (b *Block) Partial() bool { return len(b.Unread) > 0 }

// InLedger reports whether the block gets a line in the slot ledger. A lone transaction gets none.
func (b *Block) InLedger() bool { return b.Whole || b.Partial() }

// Unread is a transaction that could not be read.
type Unread struct {
	// Index is the place in the block; -1 if it is unknown.
	Index int
	// Signature is zero if it could not be read either.
	Signature Signature
	// Raw is the transaction as it came; nil if the source withholds it. It borrows the message.
	Raw []byte
	// Err is the reason. A *txwire.VersionError in it names a version that is too high.
	Err error
}

// Bank identifies a bank: one node's execution of a block. A slot can have several. The zero value
// means that the source does not name it.
type Bank struct {
	// ID is the number that the node gave the bank; 0 if it is unknown. Session is the number of
	// the source's connection. It is needed because different nodes use the same IDs.
	ID, Session uint64
}

// Account is an account as one transaction left it.
type Account struct {
	// Bank is the bank in which that happened.
	Bank       Bank
	Key, Owner pubkey.Key
	Data       []byte
	// Signature is the signature of the transaction, and Transaction its Index in the block; -1
	// while the block is not known.
	Signature   Signature
	Transaction int
}

// Transaction is one transaction and its results. A vote or a failed transaction has only
// Signature, Index, Failed, Vote and Raw: it changes no token, and such transactions are most of a
// block.
type Transaction struct {
	Signature Signature
	// Index is the place in the block, counting all transactions from 0; -1 if the source does not
	// state it.
	Index  int
	Failed bool
	Vote   bool
	// Keys are the static account keys followed by the addresses loaded from lookup tables,
	// writable ones first.
	Keys         []pubkey.Key
	Instructions []Instruction
	// Signers is how many of the first keys signed.
	Signers int
	// PreBalances and PostBalances are the token balances before and after the transaction, as the
	// node reports them.
	PreBalances  []TokenBalance
	PostBalances []TokenBalance
	// Details are parts that few callers need. They are nil if the source has none, and for votes
	// and failed transactions.
	Details Details
	// Raw is the transaction as it came, also for votes and failed ones. It is nil where nobody
	// needs it: for a lone transaction that is not a Geyser update.
	Raw Raw
}

// Raw is a transaction as it came.
type Raw interface {
	// AppendUpdate appends the transaction as a Geyser stream sends it: an encoded
	// geyser.SubscribeUpdateTransactionInfo. If all is false, it appends nothing when the
	// transaction touches none of the programs that Mintlake subscribes to. It returns an error if
	// the original form lacks something that is needed.
	AppendUpdate(to []byte, all bool) ([]byte, error)
}

// Details are the parts of a transaction's metadata that are parsed only on demand: parsing them
// for every transaction would cost more than all the rest.
type Details interface {
	// Logs calls visit with each line of the log, in order, until it returns false. A line is valid
	// until visit returns. Malformed data ends the log.
	Logs(visit func(line []byte) bool)
	// Lamports appends the accounts' lamports before and after the transaction, in the order of
	// Keys, to the slices. Malformed data is left out.
	Lamports(pre, post []uint64) ([]uint64, []uint64)
}

// Instruction is an outer instruction with the flat list of what it called.
type Instruction struct {
	Call
	Inner []Call
}

// Call is one program invocation. Hostile data may contain indexes beyond the end of
// Transaction.Keys.
type Call struct {
	ProgramIndex int
	Accounts     []byte
	Data         []byte
	// StackHeight is 1 for outer instructions; 0 if the source does not state it.
	StackHeight int
}

// TokenBalance is a token account's balance before or after the transaction.
type TokenBalance struct {
	AccountIndex int
	Mint         pubkey.Key
	// Owner is the wallet, Program the token program. They are zero if the source does not state
	// them (old blocks).
	Owner    pubkey.Key
	Program  pubkey.Key
	Decimals uint8
	Amount   uint64
}

// Account returns the key of the call's i-th account. It returns false if the call has no such
// account, or its index is beyond the keys.
func (t *Transaction) Account(c *Call, i int) (pubkey.Key, bool) {
	if i < 0 || i >= len(c.Accounts) {
		return pubkey.Key{}, false
	}
	return t.key(int(c.Accounts[i]))
}

// Program returns the key of the call's program; false if its index is beyond the keys.
func (t *Transaction) Program(c *Call) (pubkey.Key, bool) {
	return t.key(c.ProgramIndex)
}

func (t *Transaction) key(i int) (pubkey.Key, bool) {
	if i < 0 || i >= len(t.Keys) {
		return pubkey.Key{}, false
	}
	return t.Keys[i], true
}
