// Package swap finds the swap legs of transactions.
//
// In: a transaction and the tables of the venues, each in a package of its own, that say which
// accounts of an instruction are pool, vaults and user, and how the venue's event reads. Out: swap
// legs, aggregators' routes, created pools. Guarantees: pure and deterministic; a leg's amounts are
// the token transfers into and out of the pool's vaults inside the instruction's own subtree, so
// two swaps of one pool never mix; events, logs and balances check them and are told beside them;
// aggregators' events are never legs; failed and vote transactions contribute nothing; hostile
// input never panics, and its cost is bounded by its length.
package swap

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Venue is one kind of pool of one program.
type Venue struct {
	// Name is the leg's venue, lower snake case.
	Name string
	// Program is the program's address, base58.
	Program string
	// Instructions are those that swap or create pools; all others are none of our business.
	Instructions []Instruction
	// Events is where the program tells its swaps.
	Events EventPlace
	// Event reads one event, or log, of the program. Nil with NoEvents.
	Event func(data []byte, e *Event) bool
	// SharedVaults: a vault holds the tokens of other pools too, so that its balance is not the
	// pool's reserve.
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
)

// Instruction is how one instruction is told and read.
type Instruction struct {
	// Name is the published one.
	Name string
	Kind Kind
	// Tag is what the data begins with: Anchor's eight bytes, or one byte.
	Tag string
	// MinAccounts and MaxAccounts bound the number of accounts; 0 = no upper bound. They tell forms
	// of one instruction apart.
	MinAccounts, MaxAccounts int
	// DataLength is the exact length of the data, 0 = any: it tells instructions of programs
	// without published tags apart.
	DataLength int
	// Shapes are the places of the accounts, one for each leg of the instruction.
	Shapes []Shape
	// Find takes the place of Shapes where accounts lie at no fixed place.
	Find func(in *Input, shapes []Shape) []Shape
	// Address is the curve of a mint, for instructions ByEvent without Shapes.
	Address func(mint pubkey.Key) (pubkey.Key, bool)
	// ByEvent says that the amounts are those of the program's own event, since lamports move
	// without an instruction (the pump curve). Each event is a leg.
	ByEvent bool
	// QuoteSOL: a created pool without MintB is quoted in SOL, unless its event says otherwise.
	QuoteSOL bool
}

// None is a place that an instruction has not.
const None = -1

// Shape are the places of one leg's accounts among the instruction's. VaultA and VaultB may stand
// in either direction: the transfers tell.
type Shape struct {
	Pool, VaultA, VaultB int
	// Owner is the account that pays, by signature; None when there is none. In a Create: the
	// creator.
	Owner int
	// MintA and MintB are the mints of the vaults; None when the instruction does not name them:
	// then the balances do.
	MintA, MintB int
}

// EventPlace is where a program tells its events.
type EventPlace uint8

// Places of events.
const (
	NoEvents EventPlace = iota
	// SelfCall: instructions to the program itself, the prefix of which is stripped.
	SelfCall
	// ProgramData: "Program data:" lines of the log.
	ProgramData
	// RayLog: "Program log: ray_log:" lines.
	RayLog
	// Anywhere: SelfCall and ProgramData, for a program that changed from one to the other.
	Anywhere
)

// Event is what a venue's event says of one leg, in the vaults' terms: what came in, what went out.
// A field that the event does not hold is marked so.
type Event struct {
	// Pool is zero where the event does not name it.
	Pool pubkey.Key
	// In and Out are the amounts; HasOut false: the event holds only In.
	In, Out uint64
	HasOut  bool
	// InFee and OutFee are fees, a Token-2022 mint's or the program's, that may go past the vaults:
	// programs differ in whether In holds them and Out is before them. The leg agrees with either.
	InFee, OutFee uint64
	// Near: the program counts in shares of a vault, whose rounding makes its amounts differ from
	// what moved, by no more than a unit and a 100,000th.
	Near bool
	// Paid and Got are what the trader paid and received; 0 = the event does not say.
	Paid, Got uint64
	// Curve is filled by curves, of which the instruction's accounts do not say all; other venues
	// leave it alone.
	Curve Curve
}

// Curve is what a bonding curve's event says beyond amounts.
type Curve struct {
	// Created: the event tells of a new curve and not of a trade.
	Created bool
	// QuoteMint is zero for native SOL.
	Mint, QuoteMint, User pubkey.Key
	Buy                   bool
	// KeptFees are fees that stay on the curve beside the amount: its lamports may move by amounts
	// with or without them.
	KeptFees uint64
	// TokenReserve and QuoteReserve are the curve's real reserves after the trade, if HasReserves.
	TokenReserve, QuoteReserve uint64
	HasReserves                bool
}

// Input is one instruction as Find sees it.
type Input struct {
	tx *ledger
	at int
}

// Data is the instruction's data.
func (in *Input) Data() []byte { return in.tx.nodes[in.at].call.Data }

// Accounts is the number of accounts.
func (in *Input) Accounts() int { return len(in.tx.nodes[in.at].call.Accounts) }

// Key is the i-th account's key; zero when there is none.
func (in *Input) Key(i int) pubkey.Key {
	key, _ := in.tx.tx.Account(in.tx.nodes[in.at].call, i)
	return key
}

// Owner is the wallet that owns the i-th account, a token account with a balance before or after
// the transaction; zero otherwise.
func (in *Input) Owner(i int) pubkey.Key {
	call := in.tx.nodes[in.at].call
	if i < 0 || i >= len(call.Accounts) {
		return pubkey.Key{}
	}
	return in.tx.balance(int(call.Accounts[i])).owner
}

// Moved is what came into and went out of the i-th account inside the instruction.
func (in *Input) Moved(i int) (came, went uint64) {
	s := net(in.tx.inside(in.at), account(in.tx.nodes[in.at].call, i))
	return s.in, s.out
}

// HasEvent says whether an event of the program inside the instruction names the pool.
func (in *Input) HasEvent(v *Venue, pool pubkey.Key) bool {
	var e Event
	found := false
	in.tx.events(v, in.at, func(data []byte) bool {
		e = Event{}
		found = v.Event(data, &e) && e.Pool == pool
		return !found
	})
	return found
}

// U64 reads eight bytes of data at an offset; false when there are not so many.
func U64(data []byte, at int) (uint64, bool) {
	if at < 0 || at+8 > len(data) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(data[at:]), true
}

// Key reads 32 bytes of data at an offset; zero when there are not so many.
func Key(data []byte, at int) (key pubkey.Key) {
	if at >= 0 && at+len(key) <= len(data) {
		copy(key[:], data[at:])
	}
	return key
}

// match says whether the call is this instruction.
func (i *Instruction) match(call *chain.Call) bool {
	return len(call.Data) >= len(i.Tag) && string(call.Data[:len(i.Tag)]) == i.Tag &&
		len(call.Accounts) >= i.MinAccounts && (i.MaxAccounts == 0 || len(call.Accounts) <= i.MaxAccounts) &&
		(i.DataLength == 0 || len(call.Data) == i.DataLength)
}

// Tag is what an instruction's or event's data begins with, given in hexadecimal; empty when that
// is malformed, which a test refuses.
func Tag(text string) string {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(raw)
}

// Anchor is an instruction of a program made with Anchor.
func Anchor(name string, minAccounts int, shapes ...Shape) Instruction {
	return Instruction{Name: name, Tag: instruction.AnchorTag(name), MinAccounts: minAccounts, Shapes: shapes}
}

// AnchorCreate is Anchor for an instruction that creates a pool.
func AnchorCreate(name string, minAccounts int, shapes ...Shape) Instruction {
	ins := Anchor(name, minAccounts, shapes...)
	ins.Kind = Create
	return ins
}

// AnchorEvent is the tag of an Anchor event.
func AnchorEvent(name string) string {
	sum := sha256.Sum256([]byte("event:" + name))
	return string(sum[:8])
}
