package txn

import (
	"slices"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Side is one token of a swap.
type Side struct {
	Mint venue.Key
	// Program owns the mint.
	Program  venue.Key
	Decimals uint8
	// AccountSize is the length of its token accounts.
	AccountSize int
}

func (s Side) native() bool { return s.Mint == mint.WrappedSOL }

// Swap is one swap of the route.
type Swap struct {
	In, Out Side
	// Middle is the token that passes through the user's account for it between two swaps of one
	// instruction; nil if there is none.
	Middle *Side
	// Instructions makes the venue's instructions for the user's accounts.
	Instructions func(user venue.UserAccounts) ([]venue.Instruction, error)
	// Opens returns the accounts that the instructions open if they are missing; may be nil.
	Opens func(user venue.Key) ([]venue.Opening, error)
	// Spend is the most that the instructions sell, in raw units.
	Spend uint64
	// Native says that SOL leaves or reaches the wallet itself, so that nothing is wrapped.
	Native bool
	// Units is how many compute units the instructions may use.
	Units uint32
}

// sellsWrapped returns whether a swap takes wrapped SOL from the user's account.
func (s *Swap) sellsWrapped() bool { return !s.Native && s.In.native() }

// wraps returns whether a swap needs the user's account for wrapped SOL.
func (r *Request) wraps(s *Swap) bool {
	if s.Native {
		return false
	}
	return s.In.native() || s.Middle != nil && s.Middle.native() || s.Out.native() && !r.delivers(s)
}

// Fee is what the platform takes of the output.
type Fee struct {
	// Treasury is the wallet that gets the fee. Its associated account must exist, except for SOL
	// that is bought without wrapping: then the wallet itself gets lamports.
	Treasury venue.Key
	// Account, if it is not nil, is the token account that gets the fee in place of that of
	// Treasury.
	Account *venue.Key
	Amount  uint64
}

// Tip is a transfer of lamports at the end of a transaction, to whoever puts the transaction into a
// block.
type Tip struct {
	// From signs.
	From, To venue.Key
	Lamports uint64
}

// Request says what to build.
type Request struct {
	User venue.Key
	// In and Out may be the mint of wrapped SOL. Then native SOL is sold or bought.
	In, Out Side
	// Swaps in the order of the transaction.
	Swaps []Swap
	// Fee may be nil.
	Fee *Fee
	// HasWrapped says that the user's account for wrapped SOL exists already. Then it is not
	// closed: that would also unwrap what the user keeps there.
	HasWrapped bool
	// UnitPrice is the priority fee in millionths of a lamport per compute unit. PriorityFee, when
	// not nil, is the whole priority fee in lamports instead.
	UnitPrice   uint64
	PriorityFee *uint64
	// MaxAccounts bounds the transaction's accounts, those in lookup tables too; 0: the network's
	// limit.
	MaxAccounts int
	// Tables are lookup tables that the transaction may use. It uses those that make it smaller.
	Tables []Table
	// Blockhash makes the transaction valid for 150 blocks: half a minute at 200 ms a slot.
	Blockhash venue.Key
	// Accounts are shared by the calls for one transaction; may be nil.
	Accounts Accounts
	// Version of the transaction; the zero value is version 0. Only version 0 uses Tables.
	Version txwire.Version
	// Payer pays the fee and the rent of the accounts that are created, and signs; nil: the user.
	Payer *venue.Key
	// Destination is the token account that gets what is bought; nil: the user's associated
	// account. With a fee, the user must own it.
	Destination *venue.Key
	// NativeTo gets the SOL that is bought; nil: the user. Only without HasWrapped, and if no swap
	// buys SOL without wrapping.
	NativeTo *venue.Key
	// KeepWrapped says that sold SOL is taken from the user's account for wrapped SOL, and that
	// bought SOL stays in it.
	KeepWrapped bool
	// Tip may be nil.
	Tip *Tip
	// UnitLimit is the limit of compute units; 0: the estimate of what the instructions may use.
	UnitLimit uint32
}

func (r *Request) payer() venue.Key {
	if r.Payer != nil {
		return *r.Payer
	}
	return r.User
}

// delivers returns whether a swap pays into Destination.
func (r *Request) delivers(s *Swap) bool { return r.Destination != nil && s.Out.Mint == r.Out.Mint }

// Wraps returns whether a swap moves wrapped SOL of the user's account for it.
func (r *Request) Wraps() bool {
	return slices.ContainsFunc(r.Swaps, func(s Swap) bool { return r.wraps(&s) })
}

// keeps returns whether wrapped SOL stays wrapped because the request says so.
func (r *Request) keeps() bool { return r.KeepWrapped && (r.In.native() || r.Out.native()) }
