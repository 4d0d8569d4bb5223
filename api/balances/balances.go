// Package balances answers who holds a mint, what a wallet holds, and how tokens moved.
//
// In: the tables that the projector of balances fills. Out: pages of holders, holdings and
// transfers, and how whole they are; counts of holders for the API's replica. Guarantees: a page
// follows the one before whatever changes in between, since a cursor names the last row and not its
// number. All queries read ranges of a sorting key, within the bounds of clickhouse.Questions. The
// first pages of a mint with many accounts come from the owners that were counted last, so their
// cost does not depend on how many accounts there are.
package balances

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// State says how whole an answer is.
type State struct {
	// Complete is set if every change of the mint from SinceSlot to AsOfSlot is counted.
	Complete bool `json:"complete"`
	// SinceSlot is nil if that is not known.
	SinceSlot *uint64 `json:"since_slot"`
	// AsOfSlot is the slot of the latest change counted; nil if there is none.
	AsOfSlot *uint64 `json:"as_of_slot"`
}

// Holder is an owner whose accounts of a mint sum above 0.
type Holder struct {
	// Rank is its place, from 1, among those that the question does not exclude.
	Rank uint64
	// Owner is the zero key if the source did not tell the owner.
	Owner pubkey.Key
	// Kind is one of schemas.OwnerKinds.
	Kind string
	// Amount is the raw sum, a decimal number.
	Amount string
	// Accounts counts its open accounts of the mint.
	Accounts uint64
}

// Ranking asks for holders of a mint, those with the most first, then by the bytes of the owner.
type Ranking struct {
	Mint pubkey.Key
	// After is the last holder of the page before; zero for the first page.
	After RankCursor
	Limit int
	// Exclude are kinds of owners to leave out.
	Exclude []string
	// Slot asks for the holders at the end of a slot; nil for now.
	Slot *uint64
	// counts asks rank for the number of all holders.
	counts bool
	// large says that the mint has many accounts.
	large bool
}

// Ranked is a page of holders.
type Ranked struct {
	State
	Holders []Holder
	// Total counts the holders that are not excluded; nil if that would need all accounts of a mint
	// that has many.
	Total *uint64
	// More is set if a holder follows.
	More bool
}

// Holding is what a wallet holds of one mint.
type Holding struct {
	Mint     pubkey.Key
	Amount   string
	Accounts uint64
}

// Held is what a wallet holds, by mint as text.
type Held struct {
	Holdings []Holding
	// Total counts the mints; only where after is empty.
	Total uint64
	// From is the first slot of which changes are held; only where a slot was asked about.
	From uint64
}

// Movement is one transfer. Keys are zero, and numbers nil, where there is none or the transaction
// does not tell it.
type Movement struct {
	Mint                   pubkey.Key
	Slot, Place            uint64
	BlockTime              time.Time // zero if unknown
	Signature              [64]byte
	Kind                   string
	FromAccount, FromOwner pubkey.Key
	ToAccount, ToOwner     pubkey.Key
	Amount, Fee            *uint64
	Decimals               uint8
	// In is set on the row of who got the tokens, where a wallet is asked about.
	In bool
}

// Filter narrows transfers down; a zero field lets all pass.
type Filter struct {
	// From is included, To is not.
	From, To time.Time
	Kind     string
	// Minimum is in raw units. Transfers without an amount do not pass one.
	Minimum uint64
	// Direction is in or out, and Mint a mint: only where a wallet is asked about.
	Direction string
	Mint      *pubkey.Key
}

// Point is how many holders a mint had at the end of an hour.
type Point struct {
	Time    int64  `json:"time"` // start of the hour, Unix seconds
	Holders uint64 `json:"holders"`
}

// OutsideHistory is the error for a slot at which balances are not known.
type OutsideHistory struct {
	// From and To are the first and the last slot that are; both 0 if there is none.
	From, To uint64
}

// Error says what is held.
func (e *OutsideHistory) Error() string {
	if e.To == 0 {
		return "no history of balances is held of it"
	}
	return fmt.Sprintf("balances are held from slot %d to %d", e.From, e.To)
}

// ErrNeedsNow says that kinds which only the current state tells cannot be left out at a slot.
var ErrNeedsNow = errors.New("wallets and programs are told apart for the present only")

// Reader reads balances: *ClickHouse.
type Reader interface {
	// Holders returns a page of holders. Errors: *OutsideHistory, ErrNeedsNow.
	Holders(ctx context.Context, ranking Ranking) (Ranked, error)
	// Accounts returns at most limit open accounts of a mint, those with the most first, then the
	// highest address by its bytes: the order of nodes.
	Accounts(ctx context.Context, mint pubkey.Key, limit int) ([]Account, error)
	// OwnerAccounts returns at most limit open accounts of an owner behind a cursor, sorted by mint
	// as text and account; if mint is not nil, those of the mint.
	OwnerAccounts(ctx context.Context, owner pubkey.Key, mint *pubkey.Key, after AccountCursor, limit int) ([]Account, error)
	// AllSince returns the slot from which all accounts of all owners are known; 0 if they are not.
	AllSince(ctx context.Context) (uint64, error)
	// Points returns the hours that begin in [from, to) in which holders were counted: at most
	// limit of them, the newest, sorted from the oldest to the newest.
	Points(ctx context.Context, mint pubkey.Key, from, to time.Time, limit int) ([]Point, error)
	// Held returns at most limit of a wallet's mints behind after, which is empty for the first
	// ones, now or at the end of a slot. Errors: *OutsideHistory.
	Held(ctx context.Context, owner pubkey.Key, after string, limit int, slot *uint64) (Held, error)
	// States returns how whole the balances of mints are; a mint that was never counted is missing.
	States(ctx context.Context, mints []pubkey.Key) (map[pubkey.Key]State, error)
	// KeptFrom returns the first slot of which transfers are kept; 0 if there are none.
	KeptFrom(ctx context.Context) (uint64, error)
	// Transfers returns at most limit transfers of a mint before a cursor, newest first.
	Transfers(ctx context.Context, mint pubkey.Key, filter Filter, before MoveCursor, limit int) ([]Movement, error)
	// WalletTransfers is the same of a wallet: a transfer to itself is one row in and one out.
	WalletTransfers(ctx context.Context, owner pubkey.Key, filter Filter, before MoveCursor, limit int) ([]Movement, error)
	// Counts calls each for the counts of all mints that were counted at or after since, in any
	// order but the last one of a mint last.
	Counts(ctx context.Context, since time.Time, each func(Count)) error
	// Changes calls each for the mints that were counted within 24 hours of block time before the
	// latest count.
	Changes(ctx context.Context, each func(Past)) error
}
