// Package venue holds the words that the swap room's packages share: pools, quotes, instructions.
// It has no behaviour of its own; one package beside it knows one venue.
package venue

import (
	"errors"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/mint"
)

// Key is a 32-byte account address.
type Key = solana.Key

// Text is a key in base58.
func Text(k Key) string { return base58.Encode(k[:]) }

// Why a pool gives no quote. Errors of Pool.Quote wrap one of them.
var (
	// ErrClosed is a pool that does not trade now: disabled, not open yet, empty.
	ErrClosed = errors.New("the pool does not trade now")
	// ErrAmount is an amount that this pool would refuse: nothing would come out, or a number would
	// leave 64 bits.
	ErrAmount = errors.New("the pool refuses the amount")
)

// Clock is the chain's own time at the slot of a snapshot (the Clock sysvar).
type Clock struct {
	Slot  uint64
	Epoch uint64
	// UnixTime is in seconds.
	UnixTime int64
}

// Shared is what the pools of a pair have in common, read at the slot of their state.
type Shared struct {
	Slot  uint64
	Clock Clock
	// A and B are the pair's mints in either order.
	A, B *mint.Mint
}

// Mint returns the mint with this address, or nil.
func (s *Shared) Mint(address Key) *mint.Mint {
	switch address {
	case s.A.Address:
		return s.A
	case s.B.Address:
		return s.B
	}
	return nil
}

// Ref is a pool that is known to exist: its addresses, not its state. Immutable.
type Ref interface {
	// Address of the pool account.
	Address() Key
	// Accounts that Decode needs, the pool itself among them. They do not change during a pool's
	// life.
	Accounts() []Key
	// Decode makes the pool's state. accounts belong to Accounts one by one, all of one slot, nil
	// where there is none. shared is of that slot too.
	Decode(accounts []*solana.Account, shared *Shared) (Pool, error)
}

// Pool is a pool's state at one slot. Immutable and safe for concurrent use.
type Pool interface {
	// Address of the pool account.
	Address() Key
	// Quote answers what amount, in raw units as they leave the user's account, of the mint in
	// buys. Errors wrap ErrClosed or ErrAmount.
	Quote(in Key, amount uint64) (Quote, error)
	// Instruction makes the swap that Quote described, failing on the chain when the user would
	// receive less than minOut.
	Instruction(in Key, amount, minOut uint64, user UserAccounts) Instruction
}

// Quote is what one pool gives.
type Quote struct {
	// In and Out are mints.
	In, Out Key
	// AmountIn leaves the user's account; AmountOut reaches it: transfer fees of Token-2022 are
	// taken off.
	AmountIn, AmountOut uint64
	// ImpactBps is how much worse than the price before the trade the execution is, fees aside; in
	// basis points, rounded up.
	ImpactBps uint64
	Fees      []Fee
	// ComputeUnits that the instruction may use.
	ComputeUnits uint32
}

// FeeKind says who takes a fee.
type FeeKind string

// The kinds of fees.
const (
	// FeePool is the venue's: liquidity providers and protocol.
	FeePool FeeKind = "pool"
	// FeeCreator is the pool creator's.
	FeeCreator FeeKind = "creator"
	// FeeTransfer is what a Token-2022 mint withholds.
	FeeTransfer FeeKind = "transfer"
)

// Fee is one fee of a swap, already counted in the quote's amounts.
type Fee struct {
	Kind   FeeKind
	Mint   Key
	Amount uint64
}

// UserAccounts are a trader's.
type UserAccounts struct {
	// Owner signs; Source and Destination are its token accounts.
	Owner, Source, Destination Key
}

// Meta is an account of an instruction.
type Meta struct {
	Key              Key
	Signer, Writable bool
}

// Instruction of a program.
type Instruction struct {
	Program  Key
	Accounts []Meta
	Data     []byte
}
