// Package venue has the interfaces of venues, as the swap room uses them. Each package below it
// implements one venue.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and the
// instructions that make them.
// Guarantees: everything here is pure: no network, no clock, no randomness. Nothing panics.
//
// From a mint pair to an instruction:
//
//	Venue.Lookup(a, b)        where the pair's pools are: account filters, addresses
//	Venue.Open(address, …)    a pool account becomes a Ref: its mints and the accounts it needs
//	Ref.Decode(state)         the Ref's accounts, all of one slot, become a Pool
//	Pool.Quote(order)         an exact-in or exact-out order becomes a Quote, or a Refusal
//	Pool.Instructions(quote)  what the user signs
//
// The program that owns an account tells its venue, see List.Owner. It must be looked at before the
// data, as several venues have the same account discriminator.
//
// Ref.Accounts follow from the pool account alone. They may change with it, so whoever keeps state
// opens the account again when it changes. Pools whose liquidity lies in arrays need more accounts,
// which depend on state, direction and amount: they are Windowed. Their Ref also names the arrays
// in a window around the price, and Quote refuses an order that leaves it with ErrBeyond. The
// caller answers with other pools, or reads a wider window and quotes again.
//
// The clock comes with the order and not with the state: fees that depend on the time change while
// no account does.
package venue

import (
	"bytes"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// Key is a 32-byte account address.
type Key = pubkey.Key

// Venue is one program on which tokens are swapped. Immutable and safe for concurrent use.
type Venue interface {
	// Name as in the swaps table.
	Name() string
	// Program owns the pool accounts.
	Program() Key
	// Lookup says where the pools of a pair are, in either order of the mints.
	Lookup(a, b Key) Lookup
	// Open reads a pool account that Program owns. It returns an error if the account is not a
	// pool. mints are those that Lookup was asked for, if they are known: the accounts of some
	// venues do not name their mints, and cannot be opened without them.
	Open(address Key, data []byte, mints ...Key) (Ref, error)
	Traced
}

// Lookup is where pools may be. An account found there need not be a pool; Open decides.
type Lookup struct {
	// Filters are for one getProgramAccounts each.
	Filters []Filter
	// Addresses may or may not exist.
	Addresses []Key
}

// Filter matches accounts of a program.
type Filter struct {
	// Size of the account's data; 0 for any.
	Size int
	// Parts are bytes of the data that must be equal.
	Parts []Part
	// MintsAt are the offsets of both mints, the lower one first; zero if not both are in the
	// account.
	MintsAt [2]int
}

// Whole returns the filter for the pools of all pairs; ok is false if there is none.
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

// Ref is a pool that is known to exist. Immutable.
type Ref interface {
	// Address of the pool account.
	Address() Key
	// Mints of the pool.
	Mints() [2]Key
	// Rank orders the pools of one venue and pair: a deeper pool has a higher rank.
	Rank() uint64
	// Accounts are those that Decode needs, the pool itself among them, without the mints and the
	// arrays of a Windowed.
	Accounts() []Key
	// Own are those of Accounts that the pool's swaps write and no other pool has: the pool account
	// and its vaults.
	Own() []Key
	// Decode makes the pool's state. Errors wrap a Refusal, or ErrUnread.
	Decode(state State) (Pool, error)
}

// State has accounts of the chain, all of one slot.
type State interface {
	// Account returns nil if the account does not exist. held is false if it was not read.
	Account(key Key) (account *solana.Account, held bool)
	// Memo keeps what is parsed of an account, for Config and Mint. It may be nil.
	Memo(key Key) *Memo
}

// Pool is a pool's state at one slot. Immutable and safe for concurrent use.
type Pool interface {
	// Address of the pool account.
	Address() Key
	// Mints of the pool.
	Mints() [2]Key
	// Quote answers an order. It does not allocate unless it fails. Errors wrap a Refusal.
	Quote(order Order) (Quote, error)
	// Instructions returns the instructions that make the swap of a quote of this pool, mostly one.
	// limit is what the chain enforces: the least that an exact-in order may give, the most that an
	// exact-out order may take.
	Instructions(quote Quote, limit uint64, user UserAccounts) ([]Instruction, error)
}

// Clock is the chain's own time (the Clock sysvar).
type Clock struct {
	Slot  uint64
	Epoch uint64
	// UnixTime is in seconds.
	UnixTime int64
}

// slotsPerEpoch of the main network.
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

// Quote is what one pool gives.
type Quote struct {
	// Order that it answers.
	Order Order
	// Out is the mint that is bought.
	Out Key
	// AmountIn leaves the user's account and AmountOut reaches it, after the transfer fees of
	// Token-2022. For an exact-out order AmountOut may be more than asked for, if the program
	// rounds up or has no exact-out instruction; it is never less.
	AmountIn, AmountOut uint64
	// ImpactBps is how much worse than the price before the trade the swap executes, without fees;
	// in basis points, rounded up.
	ImpactBps uint64
	Fees      Fees
	// Native says that SOL leaves or reaches the wallet itself, not its token account.
	Native bool
	// ComputeUnits is how many the instructions may use.
	ComputeUnits uint32
	// Features that the swap uses.
	Features Features
	// Accounts is how many accounts the swap's one instruction names, its program among them. It
	// has at most MostData bytes of data. 0 for a swap that may have more of either.
	Accounts uint8
}

// MostData is how many bytes of data an instruction has at most whose quote tells its accounts.
// swap_v2 of Whirlpool has 43.
const MostData = 48

// FeeKind says who takes a fee.
type FeeKind uint8

// The kinds of fees.
const (
	// FeePool goes to the venue: liquidity providers and protocol.
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

// Fee is one fee of a swap, already counted in the quote's amounts.
type Fee struct {
	Amount uint64
	Kind   FeeKind
	// OnOutput says that it is in the mint that is bought, and not in the one that is sold.
	OnOutput bool
}

// Fees are the fees of a quote. The zero value has none. The most are four: the pool's, its
// creator's, and those of a transfer to the pool and from it.
//
// They name no mints: a quote is copied many times in a search for a route, so it should be small.
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
	// Owner signs; Source and Destination are its token accounts.
	Owner, Source, Destination Key
	// Middle is the token account for what is between two chained swaps, if these need one.
	Middle Key
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
