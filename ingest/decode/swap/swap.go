// Package swap finds the swap legs of transactions.
//
// In: a transaction, and the tables of the venues (package venues): which accounts of an
// instruction are pool, vaults and user, and how to read the venue's event. Out: swap legs,
// aggregators' routes, created pools, liquidity added and removed. Guarantees: pure and
// deterministic. A leg's amounts are the token transfers into and out of the pool's vaults inside
// the instruction's own subtree, so two swaps of one pool never mix. Events, logs and balances
// check them, and the leg tells which of these agree. Events of aggregators are never legs. Failed
// and vote transactions contribute nothing. Hostile input never panics, and its cost is bounded by
// its length.
package swap

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Venue is one kind of pool of one program.
type Venue struct {
	// Name is the name in legs and pools, lower snake case.
	Name string
	// Program is the program's address, base58.
	Program string
	// Instructions are those that swap, create pools, add or remove liquidity. All others are
	// ignored.
	Instructions []Instruction
	// Events is where the program emits the events of its swaps.
	Events EventPlace
	// Event reads one event or log line of the program. It is nil if Events is NoEvents.
	Event func(data []byte, e *Event) bool
	// Change reads one event or log line of the program about liquidity. It is nil if the program
	// writes none.
	Change func(data []byte, c *Change) bool
	// SharedVaults means that a vault also holds the tokens of other pools, so its balance is not
	// the pool's reserve.
	SharedVaults bool
}

// Kind is what an instruction does.
type Kind uint8

// Kinds of instructions.
const (
	// Swap exchanges tokens with one pool or more.
	Swap Kind = iota
	// Create makes a pool.
	Create
	// Add puts tokens into a pool for a share of the pool.
	Add
	// Remove takes tokens out of a pool for a share of the pool.
	Remove
	// Rebalance moves a position. It may add or remove each of the two tokens.
	Rebalance
)

// Instruction describes how one instruction is recognised and read.
type Instruction struct {
	// Name is the published name.
	Name string
	Kind Kind
	// Tag is the beginning of the data: Anchor's eight bytes, or one byte. If it is empty, any data
	// matches.
	Tag string
	// MinAccounts and MaxAccounts bound the number of accounts; a MaxAccounts of 0 means no bound.
	// They tell the forms of one instruction apart.
	MinAccounts, MaxAccounts int
	// DataLength is the exact length of the data; 0 means any. It tells instructions of programs
	// without published tags apart.
	DataLength int
	// Shapes are the places of the accounts, one for each leg of the instruction.
	Shapes []Shape
	// Find replaces Shapes if the accounts have no fixed places.
	Find func(in *Input, shapes []Shape) []Shape
	// LPMint is the place of the mint of the pool's liquidity tokens; 0 if the instruction names
	// none. It is never the first account.
	LPMint int
	// Adds means that a Create also puts in the first liquidity.
	Adds bool
	// Idle reports from the data whether the instruction changes no liquidity. It is nil if the
	// instruction always changes liquidity.
	Idle func(data []byte) bool
	// Address returns the curve of a mint, for instructions ByEvent without Shapes.
	Address func(mint pubkey.Key) (pubkey.Key, bool)
	// ByEvent means that the amounts come from the program's own events, because lamports move
	// without an instruction (the pump curve). Each event is a leg.
	ByEvent bool
	// QuoteSOL means that a created pool without MintB is quoted in SOL, unless its event says
	// otherwise.
	QuoteSOL bool
}

// None stands for an account that an instruction does not have.
const None = -1

// Shape has the places of one leg's accounts among the instruction's accounts. VaultA and VaultB
// may be in either order: the transfers tell which vault received tokens. VaultB is None if an
// instruction that adds liquidity names only one side of the pool.
type Shape struct {
	Pool, VaultA, VaultB int
	// Owner is the account that pays and signs; None if there is none. In a Create it is the
	// creator.
	Owner int
	// MintA and MintB are the mints of the vaults; None if the instruction does not name them. Then
	// the balances tell them.
	MintA, MintB int
}

// EventPlace is where a program emits its events.
type EventPlace uint8

// Places of events.
const (
	NoEvents EventPlace = iota
	// SelfCall: calls of the program to itself. Event gets the data without the prefix.
	SelfCall
	// ProgramData: "Program data:" lines of the log.
	ProgramData
	// RayLog: "Program log: ray_log:" lines.
	RayLog
	// Anywhere: SelfCall and ProgramData, for a program that changed from one to the other.
	Anywhere
)

// Event is what a venue's event says of one leg, from the view of the vaults: In came in, Out went
// out.
type Event struct {
	// Pool is zero if the event does not name it.
	Pool pubkey.Key
	// In and Out are the amounts. If HasOut is false, the event has only In.
	In, Out uint64
	HasOut  bool
	// InFee and OutFee are fees, of a Token-2022 mint or of the program, that may not pass through
	// the vaults. Programs differ in whether In includes InFee, and Out includes OutFee. A leg
	// agrees with the event in either case.
	InFee, OutFee uint64
	// Near means that the program counts in shares of a vault. Because of rounding, its amounts
	// then differ from what moved, by at most 1 plus a 100,000th of the amount.
	Near bool
	// Paid and Got are what the trader paid and received; 0 if the event does not say.
	Paid, Got uint64
	// Curve is set only for bonding curves, where the instruction's accounts do not tell
	// everything.
	Curve Curve
}

// Curve is what a bonding curve's event says beside the amounts.
type Curve struct {
	// Created means that the event is about a new curve and not about a trade.
	Created bool
	// QuoteMint is zero for native SOL.
	Mint, QuoteMint, User pubkey.Key
	Buy                   bool
	// KeptFees are fees that may stay on the curve: its lamports may change by the amount with or
	// without them.
	KeptFees uint64
	// TokenReserve and QuoteReserve are the curve's real reserves after the trade. They are set if
	// HasReserves.
	TokenReserve, QuoteReserve uint64
	HasReserves                bool
}

// Input is one instruction as Find sees it.
type Input struct {
	ledger *ledger
	at     int
}

// Data returns the instruction's data.
func (in *Input) Data() []byte { return in.ledger.nodes[in.at].call.Data }

// Accounts returns the number of accounts.
func (in *Input) Accounts() int { return len(in.ledger.nodes[in.at].call.Accounts) }

// Key returns the key of the instruction's i-th account; zero if there is none.
func (in *Input) Key(i int) pubkey.Key {
	key, _ := in.ledger.tx.Account(in.ledger.nodes[in.at].call, i)
	return key
}

// Owner returns the wallet that owns the i-th account, if the account is a token account with a
// balance before or after the transaction. Otherwise it returns zero.
func (in *Input) Owner(i int) pubkey.Key {
	call := in.ledger.nodes[in.at].call
	if i < 0 || i >= len(call.Accounts) {
		return pubkey.Key{}
	}
	return in.ledger.balance(int(call.Accounts[i])).owner
}

// Moved returns how much came into and went out of the i-th account inside the instruction.
func (in *Input) Moved(i int) (came, went uint64) {
	s := net(in.ledger.inside(in.at), account(in.ledger.nodes[in.at].call, i))
	return s.in, s.out
}

// HasEvent reports whether an event of the program inside the instruction names the pool.
func (in *Input) HasEvent(v *Venue, pool pubkey.Key) bool {
	var e Event
	found := false
	in.ledger.events(v, in.at, func(data []byte) bool {
		e = Event{}
		found = v.Event(data, &e) && e.Pool == pool
		return !found
	})
	return found
}

// U64 reads eight bytes of data at an offset; false if there are too few.
func U64(data []byte, at int) (uint64, bool) {
	if at < 0 || at+8 > len(data) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(data[at:]), true
}

// Key reads 32 bytes of data at an offset; zero if there are too few.
func Key(data []byte, at int) (key pubkey.Key) {
	if at >= 0 && at+len(key) <= len(data) {
		copy(key[:], data[at:])
	}
	return key
}

// match reports whether the call is this instruction.
func (i *Instruction) match(call *chain.Call) bool {
	return len(call.Data) >= len(i.Tag) && string(call.Data[:len(i.Tag)]) == i.Tag &&
		len(call.Accounts) >= i.MinAccounts && (i.MaxAccounts == 0 || len(call.Accounts) <= i.MaxAccounts) &&
		(i.DataLength == 0 || len(call.Data) == i.DataLength)
}

// Tag converts the beginning of an instruction's data from hexadecimal. It returns an empty text if
// text is malformed. A test checks that no table has a malformed text.
func Tag(text string) string {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(raw)
}

// Anchor returns an instruction of an Anchor program that swaps. Its tag follows from the name.
func Anchor(name string, minAccounts int, shapes ...Shape) Instruction {
	return Instruction{Name: name, Tag: instruction.AnchorTag(name), MinAccounts: minAccounts, Shapes: shapes}
}

// AnchorCreate is Anchor for an instruction that creates a pool.
func AnchorCreate(name string, minAccounts int, shapes ...Shape) Instruction {
	ins := Anchor(name, minAccounts, shapes...)
	ins.Kind = Create
	return ins
}

// AnchorLiquidity is Anchor for an instruction that adds or removes liquidity. lpMint is the place
// of the mint of the pool's liquidity tokens; 0 for none.
func AnchorLiquidity(name string, kind Kind, minAccounts, lpMint int, shape Shape) Instruction {
	ins := Anchor(name, minAccounts, shape)
	ins.Kind, ins.LPMint = kind, lpMint
	return ins
}

// Funded is AnchorCreate for an instruction that also puts in the first liquidity.
func Funded(name string, minAccounts, lpMint int, shape Shape) Instruction {
	ins := AnchorCreate(name, minAccounts, shape)
	ins.Adds, ins.LPMint = true, lpMint
	return ins
}
