// Package venue has the interfaces of venues, as the swap room uses them. The packages in its
// folder implement them, such as venue/cpmm.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and the
// instructions that execute them.
// Guarantees: everything here is pure: no network, no clock, no randomness. No account and no order
// makes it panic.
//
// From a mint pair to an instruction:
//
//	Venue.Lookup(a, b)        where the pair's pools are: account filters, addresses
//	Venue.Open(address, …)    a pool account becomes a Ref: its mints and the accounts it needs
//	Ref.Decode(state)         the Ref's accounts, all of one slot, become a Pool
//	Pool.Quote(order)         an exact-in or exact-out order becomes a Quote, or a Refusal
//	Pool.Instructions(quote)  what the user signs
//
// List.Owner finds the venue of an account by the program that owns the account. A caller looks at
// the owner before the data, as several venues have the same account discriminator.
//
// Ref.Accounts follow from the pool account alone. They may change when the pool account changes,
// so a caller that keeps state opens the account again then. Pools whose liquidity lies in arrays
// need more accounts, which depend on state, direction and amount: their Ref is a Windowed. It also
// names the arrays in a window around the price. Quote returns ErrBeyond for an order that would
// move the price out of this window. The caller then answers with other pools, or reads a wider
// window and quotes again.
//
// The clock is a part of the order and not of the state, because fees that depend on the time
// change while no account changes.
package venue

import (
	"bytes"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// Key is a 32-byte account address.
type Key = pubkey.Key

// Venue is one program on which tokens are swapped. It is immutable and safe for concurrent use.
type Venue interface {
	// Name returns the name of the venue as in the swaps table, such as raydium_cpmm.
	Name() string
	// Program returns the address of the program that owns the pool accounts.
	Program() Key
	// Lookup returns where the pools of a pair are. The order of the two mints does not matter.
	Lookup(a, b Key) Lookup
	// Open reads a pool account that Program owns. It returns an error if the account is not a
	// pool. mints are the pair that Lookup was asked for, if the caller knows it: the accounts of
	// some venues do not name their mints, and cannot be opened without mints.
	Open(address Key, data []byte, mints ...Key) (Ref, error)
	Traced
}

// Lookup says where pools may be. An account found there need not be a pool: Open decides.
type Lookup struct {
	// Filters find pools by one getProgramAccounts call for each filter.
	Filters []Filter
	// Addresses are where a pool may be. An account need not exist there.
	Addresses []Key
}

// Filter matches accounts of a program.
type Filter struct {
	// Size is the length of the account's data in bytes; 0 for any length.
	Size int
	// Parts are bytes that the data must have at their offsets.
	Parts []Part
	// MintsAt are the offsets of the two mints in the data, the lower offset first. It is zero if
	// the data does not have both mints.
	MintsAt [2]int
}

// Whole returns the filter without the parts that name mints, so that it matches the pools of all
// pairs. ok is false if MintsAt is zero.
func (f Filter) Whole() (whole Filter, ok bool) {
	if f.MintsAt == [2]int{} {
		return Filter{}, false
	}
	const size = len(Key{})
	whole = Filter{Size: f.Size, MintsAt: f.MintsAt}
	for _, p := range f.Parts {
		first, second := p.Offset-f.MintsAt[0], p.Offset-f.MintsAt[1]
		if (first < 0 || first >= size) && (second < 0 || second >= size) {
			whole.Parts = append(whole.Parts, p)
		}
	}
	return whole, true
}

// Part is bytes at an offset of an account's data.
type Part struct {
	Offset int
	Bytes  []byte
}

// Matches returns whether an account's data passes the filter.
func (f Filter) Matches(data []byte) bool {
	if f.Size != 0 && len(data) != f.Size {
		return false
	}
	for _, p := range f.Parts {
		if len(data) < p.Offset || !bytes.HasPrefix(data[p.Offset:], p.Bytes) {
			return false
		}
	}
	return true
}

// Ref is a pool account that Venue.Open has read. It tells which accounts a quote needs. Immutable.
type Ref interface {
	// Address returns the address of the pool account.
	Address() Key
	// Mints returns the two mints of the pool.
	Mints() [2]Key
	// Rank orders the pools of one venue and pair: a deeper pool has a higher rank.
	Rank() uint64
	// Accounts returns the addresses of the accounts that Decode needs, the pool account among
	// them. It leaves out the mints, which Mints returns, and the arrays of a Windowed, which Near
	// returns.
	Accounts() []Key
	// Own returns those of Accounts that the pool's swaps write and that belong to no other pool:
	// the pool account and its vaults.
	Own() []Key
	// Decode returns the pool at the slot of state. Errors wrap a Refusal, or ErrUnread.
	Decode(state State) (Pool, error)
}

// State has accounts of the chain, all of one slot.
type State interface {
	// Account returns nil if the account does not exist. held is false if the account was not read.
	Account(key Key) (account *solana.Account, held bool)
	// Memo returns the Memo in which Config, Mint and Array keep what they parsed of the account.
	// If it is nil, they keep nothing.
	Memo(key Key) *Memo
}

// Pool is a pool's state at one slot. Immutable and safe for concurrent use.
type Pool interface {
	// Address returns the address of the pool account.
	Address() Key
	// Mints returns the two mints of the pool.
	Mints() [2]Key
	// Quote answers an order. Errors wrap a Refusal. It allocates nothing, but for an error and for
	// steps of the price that a pool with ticks or bins computes once and keeps.
	Quote(order Order) (Quote, error)
	// Instructions returns the instructions that execute a quote of this pool, mostly one. limit is
	// what the chain enforces: the least that an exact-in order may give, or the most that an
	// exact-out order may take. A venue whose program can only sell an exact amount sells AmountIn
	// for an exact-out order, and limit has no effect: it fails if the price moves against it.
	Instructions(quote Quote, limit uint64, user UserAccounts) ([]Instruction, error)
}

// Clock is the chain's own time (the Clock sysvar).
type Clock struct {
	Slot  uint64
	Epoch uint64
	// UnixTime is in seconds.
	UnixTime int64
}

// slotsPerEpoch is the length of an epoch on mainnet.
const slotsPerEpoch = 432_000

// ClockAt returns the clock of a slot and a time, for callers that have not read the sysvar.
func ClockAt(slot uint64, unixTime int64) Clock {
	return Clock{Slot: slot, Epoch: slot / slotsPerEpoch, UnixTime: unixTime}
}

// Order is a question to a pool.
type Order struct {
	// In is the mint that is sold.
	In Key
	// Amount is in raw units: of In as it leaves the user's account, or, if ExactOut, of the other
	// mint as it reaches the user's account.
	Amount   uint64
	ExactOut bool
	Clock    Clock
}

// Quote is a pool's answer to an order.
type Quote struct {
	// Order is the order that the quote answers.
	Order Order
	// Out is the mint that is bought.
	Out Key
	// AmountIn leaves the user's account and AmountOut reaches it, after the transfer fees of
	// Token-2022. For an exact-out order AmountOut may be more than asked for, if the program
	// rounds up or has no exact-out instruction; it is never less.
	AmountIn, AmountOut uint64
	// ImpactBps is by how much the price of the swap, without fees, is worse than the price before
	// the swap; in basis points, rounded up.
	ImpactBps uint64
	Fees      Fees
	// Native says that SOL leaves or reaches the wallet itself, not its token account.
	Native bool
	// ComputeUnits is the most compute units that the instructions are expected to use.
	ComputeUnits uint32
	// Features are the parts of the venue's arithmetic that the swap uses.
	Features Features
	// Accounts is the number of accounts that the swap's instruction names, its program included.
	// It is 0 for a swap of several instructions, or with more than MostData bytes of data.
	Accounts uint8
}

// MostData is the greatest length of the data of an instruction whose quote has Accounts. swap_v2
// of Whirlpool has 43 bytes.
const MostData = 48

// FeeKind says who takes a fee.
type FeeKind uint8

// The kinds of fees.
const (
	// FeePool goes to the liquidity providers and to the venue's protocol.
	FeePool FeeKind = iota
	// FeeCreator goes to the creator of the pool, or of the coin.
	FeeCreator
	// FeeTransfer is what a Token-2022 mint withholds.
	FeeTransfer
)

// String returns the kind as answers name it.
func (k FeeKind) String() string {
	switch k {
	case FeePool:
		return "pool"
	case FeeCreator:
		return "creator"
	default:
		return "transfer"
	}
}

// Fee is one fee of a swap. The amounts of the quote already account for it.
type Fee struct {
	Amount uint64
	Kind   FeeKind
	// OnOutput says that the fee is in the mint that is bought, and not in the mint that is sold.
	OnOutput bool
}

// Fees are the fees of a quote, at most four: the pool's, its creator's, and the two transfer fees
// to the pool and from it. The zero value has none.
//
// A Fee names no mint: a quote is copied many times in a search for a route, so it should be small.
type Fees struct {
	list  [4]Fee
	count uint8
}

// Add appends a fee. It ignores an amount of 0, and any fee after the fourth.
func (f *Fees) Add(kind FeeKind, onOutput bool, amount uint64) {
	if amount > 0 && int(f.count) < len(f.list) {
		f.list[f.count] = Fee{amount, kind, onOutput}
		f.count++
	}
}

// List returns the fees.
func (f *Fees) List() []Fee { return f.list[:f.count] }

// MintOf returns the mint of one of the quote's fees.
func (q *Quote) MintOf(fee Fee) Key {
	if fee.OnOutput {
		return q.Out
	}
	return q.Order.In
}

// UserAccounts are the accounts of a trader.
type UserAccounts struct {
	// Owner is the wallet, which signs. Source is its token account for the mint that is sold,
	// Destination the one for the mint that is bought.
	Owner, Source, Destination Key
	// Middle is the owner's token account for the token between two chained swaps. Only pools whose
	// Chained.NeedsMiddle is true use it.
	Middle Key
}

// Meta is an account of an instruction.
type Meta struct {
	Key              Key
	Signer, Writable bool
}

// Instruction is an instruction of a program.
type Instruction struct {
	Program  Key
	Accounts []Meta
	Data     []byte
}

// List is a list of venues.
type List []Venue

// Owner returns the venue whose program owns an account, or nil.
func (l List) Owner(program Key) Venue {
	for _, v := range l {
		if v.Program() == program {
			return v
		}
	}
	return nil
}
