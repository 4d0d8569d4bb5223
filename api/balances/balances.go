// Package balances answers who holds a mint, what a wallet holds, and how tokens moved.
//
// In: the tables that the projector of balances fills. Out: pages of holders, holdings and
// transfers, and how complete they are; counts of holders for the API's replica. Guarantees: a page
// follows the page before it, whatever changes in between, since a cursor names the last row and
// not its number. All queries read ranges of a sorting key, within the bounds of
// clickhouse.Questions. The first pages of a mint with many accounts come from the last count of
// its holders, so their cost does not depend on how many accounts there are.
package balances

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// State says how complete an answer is.
type State struct {
	// Complete is set if every change of the mint from SinceSlot to AsOfSlot is counted.
	Complete bool `json:"complete"`
	// SinceSlot is the slot from which every change of the mint is known; nil if there is none.
	SinceSlot *uint64 `json:"since_slot"`
	// AsOfSlot is the slot of the latest change that is counted; nil if no change is.
	AsOfSlot *uint64 `json:"as_of_slot"`
}

// Holder is an owner whose accounts of a mint sum above 0.
type Holder struct {
	// Rank is the holder's place, from 1, among the holders that the question does not exclude.
	Rank uint64
	// Owner is the zero key if the source did not tell the owner.
	Owner pubkey.Key
	// Kind is one of schemas.OwnerKinds.
	Kind string
	// Amount is the raw sum, a decimal number.
	Amount string
	// Accounts is the number of the owner's open accounts of the mint.
	Accounts uint64
}

// Ranking asks for holders of a mint, sorted by amount, the highest first, then by the bytes of the
// owner.
type Ranking struct {
	Mint pubkey.Key
	// After is the last holder of the page before; zero for the first page.
	After RankCursor
	Limit int
	// Exclude are kinds of owners to leave out, of schemas.OwnerKinds.
	Exclude []string
	// Slot asks for the holders at the end of a slot; nil for now.
	Slot *uint64
	// counts asks rank for the number of all holders, too.
	counts bool
	// large says that the mint has many accounts.
	large bool
}

// Ranked is a page of holders.
type Ranked struct {
	State
	Holders []Holder
	// Total is the number of holders that are not excluded. It is nil if all accounts of a mint
	// with many accounts would have to be read for it.
	Total *uint64
	// More is true if another page follows.
	More bool
}

// Holding is what a wallet holds of one mint.
type Holding struct {
	Mint     pubkey.Key
	Amount   string
	Accounts uint64
}

// Held is what a wallet holds, sorted by mint as text.
type Held struct {
	Holdings []Holding
	// Total is the number of mints that the wallet holds. It is valid only on the first page.
	Total uint64
	// From is the first slot of which changes are held; 0 if the question is about now.
	From uint64
}

// Movement is one transfer. If the transfer has no such thing, or the transaction does not tell it,
// a key is zero and a number nil.
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
	// In is true if the wallet that is asked about got the tokens. It is false in answers about a
	// mint.
	In bool
}

// Filter narrows transfers down. A field with the zero value lets all transfers pass.
type Filter struct {
	// From is included, To is not.
	From, To time.Time
	Kind     string
	// Minimum is the lowest amount that passes, in raw units. If it is set, transfers without an
	// amount do not pass.
	Minimum uint64
	// Direction is in or out. Direction and Mint apply only to questions about a wallet.
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
	// From and To are the first and the last slot at which balances are known; both are 0 if there
	// is none.
	From, To uint64
}

// Error implements error.
func (e *OutsideHistory) Error() string {
	if e.To == 0 {
		return "no history of balances is held of it"
	}
	return fmt.Sprintf("balances are held from slot %d to %d", e.From, e.To)
}

// ErrNeedsNow says that wallets or programs are to be excluded at a slot. Only the present state
// tells these two kinds apart.
var ErrNeedsNow = errors.New("wallets and programs are told apart for the present only")

// Reader reads balances: *ClickHouse.
type Reader interface {
	// Holders returns a page of holders. Errors: *OutsideHistory, ErrNeedsNow.
	Holders(ctx context.Context, ranking Ranking) (Ranked, error)
	// Accounts returns at most limit open accounts of a mint, sorted by amount and then by the
	// bytes of the address, both the highest first. It is the order in which Solana nodes answer
	// getTokenLargestAccounts.
	Accounts(ctx context.Context, mint pubkey.Key, limit int) ([]Account, error)
	// OwnerAccounts returns at most limit open accounts of an owner after a cursor, sorted by mint
	// as text and then by account. If mint is not nil, only accounts of that mint are returned.
	OwnerAccounts(ctx context.Context, owner pubkey.Key, mint *pubkey.Key, after AccountCursor, limit int) ([]Account, error)
	// AllSince returns the slot from which all accounts of all owners are known; 0 if there is
	// none.
	AllSince(ctx context.Context) (uint64, error)
	// Points returns the number of holders in each hour that begins in [from, to) and in which they
	// were counted: the newest limit hours, the oldest first.
	Points(ctx context.Context, mint pubkey.Key, from, to time.Time, limit int) ([]Point, error)
	// Held returns at most limit of a wallet's mints, now or at the end of a slot, sorted as text:
	// those behind the text after, which is empty for the first page. Errors: *OutsideHistory.
	Held(ctx context.Context, owner pubkey.Key, after string, limit int, slot *uint64) (Held, error)
	// States returns how complete the balances of mints are. A mint that was never counted is not
	// in the map.
	States(ctx context.Context, mints []pubkey.Key) (map[pubkey.Key]State, error)
	// KeptFrom returns the first slot of which transfers are kept; 0 if there are none.
	KeptFrom(ctx context.Context) (uint64, error)
	// Transfers returns at most limit transfers of a mint before a cursor, newest first.
	Transfers(ctx context.Context, mint pubkey.Key, filter Filter, before MoveCursor, limit int) ([]Movement, error)
	// WalletTransfers returns transfers of a wallet in the same way. A transfer from the wallet to
	// itself is two rows, one in and one out.
	WalletTransfers(ctx context.Context, owner pubkey.Key, filter Filter, before MoveCursor, limit int) ([]Movement, error)
	// Counts calls each for the counts of all mints that were counted at or after since. The order
	// is any, but if a mint comes more than once, its last count comes last.
	Counts(ctx context.Context, since time.Time, each func(Count)) error
	// Changes calls each for the mints whose holders were counted in the last 24 hours of block
	// time. These hours end with the latest hour in which any mint was counted.
	Changes(ctx context.Context, each func(Past)) error
}
