// Package instruction has what the decoders of all programs read and return.
//
// In: one program invocation of a successful transaction; all of it may be hostile. Out: at most
// one event, or the reason why there is none. Guarantees: no bytes make it panic, and it never
// allocates more than the size of the instruction.
package instruction

import (
	"errors"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Errors of a malformed instruction, beside those of package borsh. Their texts become
// RawInstruction.reason and a metric label, so there are few, and they are constant.
var (
	// ErrAccounts means that an account is missing, or its index is beyond the transaction's keys.
	ErrAccounts = errors.New("account is missing")
	// ErrUnknown means that this binary does not know the instruction.
	ErrUnknown = errors.New("unknown instruction")
)

// Ignored is why a well-formed instruction has no event. The values are metric labels, so there are
// few, and they are constant.
type Ignored string

// Reasons shared by the programs.
const (
	// IgnoredTokenAccount: the instruction is about token accounts or multisignatures, and changes
	// no mint.
	IgnoredTokenAccount Ignored = "token_account"
	// IgnoredReadOnly: the instruction changes nothing that matters here.
	IgnoredReadOnly Ignored = "read_only"
	// IgnoredDelegation: the instruction gives, takes or uses rights other than those of the update
	// authority.
	IgnoredDelegation Ignored = "delegation"
	// IgnoredNonFungible: the instruction is about editions, escrows and the like, which fungible
	// tokens do not have.
	IgnoredNonFungible Ignored = "non_fungible"
	// IgnoredInner: the instruction does its work in inner instructions, which are decoded
	// themselves.
	IgnoredInner Ignored = "done_by_inner_calls"
	// IgnoredConfidential: the instruction moves amounts that only their owners can read.
	IgnoredConfidential Ignored = "confidential"
)

// Outcome is the result of a well-formed instruction: an event with Mint, Instruction and Payload
// set, or the reason why there is none.
type Outcome struct {
	Event   *eventspb.TokenEvent
	Ignored Ignored
}

// Ignore returns an outcome without an event.
func Ignore(reason Ignored) (Outcome, error) { return Outcome{Ignored: reason}, nil }

// Fact returns an outcome with an event. The caller of the decoder sets position, time, signature
// and program.
func Fact(mint pubkey.Key, name string, event *eventspb.TokenEvent) (Outcome, error) {
	event.Mint = mint.Bytes()
	return FactWithoutMint(name, event)
}

// FactWithoutMint returns an outcome about a mint that the transaction does not name.
func FactWithoutMint(name string, event *eventspb.TokenEvent) (Outcome, error) {
	event.Instruction = name
	return Outcome{Event: event}, nil
}

// View is one program invocation: an outer or inner instruction, or a part of a p-token Batch.
type View struct {
	Tx   *chain.Transaction
	Call *chain.Call
	// Mints knows which accounts of the transaction are mints, as of just before this instruction.
	Mints *Mints
}

// Data returns the instruction's data.
func (v View) Data() []byte { return v.Call.Data }

// AccountCount returns how many accounts the instruction was given.
func (v View) AccountCount() int { return len(v.Call.Accounts) }

// Account returns the key of the instruction's i-th account; ErrAccounts if there is none.
func (v View) Account(i int) (pubkey.Key, error) {
	key, ok := v.Tx.Account(v.Call, i)
	if !ok {
		return pubkey.Key{}, ErrAccounts
	}
	return key, nil
}

// Accounts returns the keys of three of the instruction's accounts. If one is missing, the error
// wraps ErrAccounts.
func (v View) Accounts(first, second, third int) (a, b, c pubkey.Key, err error) {
	a, errA := v.Account(first)
	b, errB := v.Account(second)
	c, errC := v.Account(third)
	return a, b, c, errors.Join(errA, errB, errC)
}

// AllAccounts returns copies of the keys that the instruction was given. It leaves out indexes
// beyond the transaction's keys.
func (v View) AllAccounts() [][]byte {
	all := make([][]byte, 0, len(v.Call.Accounts))
	for i := range v.Call.Accounts {
		if key, err := v.Account(i); err == nil {
			all = append(all, key.Bytes())
		}
	}
	return all
}

// OptionalBytes returns the key's bytes; empty, never nil, if key is nil.
func OptionalBytes(key *pubkey.Key) []byte {
	if key == nil {
		return []byte{}
	}
	return key.Bytes()
}

// NonZeroBytes returns the key's bytes; empty, never nil, for an all-zero key, which the programs
// use for none (OptionalNonZeroPubkey).
func NonZeroBytes(key pubkey.Key) []byte {
	if key == (pubkey.Key{}) {
		return []byte{}
	}
	return key.Bytes()
}
