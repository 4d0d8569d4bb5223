// Package instruction is what every program decoder of ingest reads and returns.
//
// In: one program invocation of a successful transaction, all of it hostile. Out: at most one
// event, or the reason why there is none. Guarantees: nothing here panics on any bytes, and nothing
// allocates more than the instruction holds.
package instruction

import (
	"errors"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Errors of a malformed instruction. Their texts become RawInstruction.reason and a metric label,
// so they are few and constant.
var (
	// ErrTruncated says that the data ends before the last field.
	ErrTruncated = errors.New("data is too short")
	// ErrAccounts says that an account is missing or its index lies beyond the transaction's keys.
	ErrAccounts = errors.New("account is missing")
	// ErrValue says that a field holds a value that the program does not know.
	ErrValue = errors.New("field has an unknown value")
	// ErrUnknown says that the program has no such instruction as far as this binary knows.
	ErrUnknown = errors.New("unknown instruction")
)

// Ignored is why a well-formed instruction yields no event. The values are few and constant: they
// are metric labels.
type Ignored string

// Reasons shared by the programs.
const (
	// IgnoredTokenAccount is about token accounts or multisignatures, and changes no mint.
	IgnoredTokenAccount Ignored = "token_account"
	// IgnoredReadOnly changes nothing.
	IgnoredReadOnly Ignored = "read_only"
	// IgnoredDelegation gives, takes or uses rights of others than the update authority.
	IgnoredDelegation Ignored = "delegation"
	// IgnoredNonFungible is about editions, escrows and the like, which fungible tokens have not.
	IgnoredNonFungible Ignored = "non_fungible"
	// IgnoredInner does its work by calls of its own, which are decoded where they stand.
	IgnoredInner Ignored = "done_by_inner_calls"
	// IgnoredConfidential moves amounts that only their owners can read.
	IgnoredConfidential Ignored = "confidential"
)

// Outcome is what one well-formed instruction states: an event with Mint, Instruction and Payload
// set, or the reason for none.
type Outcome struct {
	Event   *eventspb.TokenEvent
	Ignored Ignored
}

// Ignore is an outcome without an event.
func Ignore(reason Ignored) (Outcome, error) { return Outcome{Ignored: reason}, nil }

// Fact is an outcome with an event; the caller of the decoder fills in position, time, signature
// and program.
func Fact(mint pubkey.Key, name string, event *eventspb.TokenEvent) (Outcome, error) {
	event.Mint = mint.Bytes()
	return FactWithoutMint(name, event)
}

// FactWithoutMint is a fact about a mint that the transaction does not name.
func FactWithoutMint(name string, event *eventspb.TokenEvent) (Outcome, error) {
	event.Instruction = name
	return Outcome{Event: event}, nil
}

// View is one program invocation: an outer or inner instruction, or a part of a p-token Batch.
type View struct {
	Tx   *chain.Transaction
	Call *chain.Call
	// Mints are the accounts of this transaction that are known to be mints before this
	// instruction.
	Mints *Mints
}

// Data is the instruction's data.
func (v View) Data() []byte { return v.Call.Data }

// AccountCount is how many accounts the instruction was given.
func (v View) AccountCount() int { return len(v.Call.Accounts) }

// Account is the i-th account's key; ErrAccounts when there is none.
func (v View) Account(i int) (pubkey.Key, error) {
	key, ok := v.Tx.Account(v.Call, i)
	if !ok {
		return pubkey.Key{}, ErrAccounts
	}
	return key, nil
}

// Accounts are the keys at the given places; ErrAccounts when one is missing.
func (v View) Accounts(first, second, third int) (a, b, c pubkey.Key, err error) {
	a, errA := v.Account(first)
	b, errB := v.Account(second)
	c, errC := v.Account(third)
	return a, b, c, errors.Join(errA, errB, errC)
}

// AllAccounts copies the keys that the instruction was given, leaving out indexes beyond the
// transaction's keys.
func (v View) AllAccounts() [][]byte {
	all := make([][]byte, 0, len(v.Call.Accounts))
	for i := range v.Call.Accounts {
		if key, err := v.Account(i); err == nil {
			all = append(all, key.Bytes())
		}
	}
	return all
}
