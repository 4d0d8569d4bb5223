package venue

import (
	"errors"

	"github.com/mintlake/mintlake/swap/mint"
)

// Refusal is why a pool gives no quote. Clients get its value as an error code, unless package swap
// replaces it by a more general one. Errors of Decode and Quote wrap a Refusal, which RefusalOf
// finds.
type Refusal string

// The refusals.
const (
	// ErrNoLiquidity is a pool that has nothing to give, or less than an exact-out order asks for.
	ErrNoLiquidity Refusal = "no_liquidity"
	// ErrTooLarge is an amount with which a number of the program would overflow.
	ErrTooLarge Refusal = "amount_too_large"
	// ErrTooSmall is an amount for which nothing would come out.
	ErrTooSmall Refusal = "amount_too_small"
	// ErrClosed is a pool that does not trade now: disabled, not open yet, complete.
	ErrClosed Refusal = "pool_closed"
	// ErrMalformed is an account whose data or owner are not what the program would make.
	ErrMalformed Refusal = "pool_malformed"
	// ErrMint is a mint that cannot be swapped, here or on any venue.
	ErrMint Refusal = "mint_refused"
	// ErrUnverified is a venue, or a feature of a pool, whose arithmetic nothing has proved.
	ErrUnverified Refusal = "venue_unverified"
	// ErrStopped is a venue that gives no quotes for now.
	ErrStopped Refusal = "venue_stopped"
	// ErrBeyond is an order that needs liquidity beyond the window that is held or was read: see
	// Windowed.
	ErrBeyond Refusal = "beyond_held_liquidity"
)

var refusalTexts = map[Refusal]string{
	ErrNoLiquidity: "the pool does not hold enough",
	ErrTooLarge:    "the amount is too large for the pool",
	ErrTooSmall:    "nothing would come out",
	ErrClosed:      "the pool does not trade now",
	ErrMalformed:   "the pool's accounts are malformed",
	ErrMint:        "the token cannot be traded",
	ErrUnverified:  "the venue is not verified",
	ErrStopped:     "the venue gives no quotes for now",
	ErrBeyond:      "the order needs liquidity farther from the price than what is held",
}

// Error makes a Refusal an error.
func (r Refusal) Error() string { return refusalTexts[r] }

// RefusalOf returns the refusal that an error wraps, or "" if it wraps none. mint.ErrUntradable
// counts as ErrMint.
func RefusalOf(err error) Refusal {
	var refusal Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, mint.ErrUntradable):
		return ErrMint
	}
	return ""
}

// ErrAnotherPair is the error of Decode for a pool that trades another pair than the one asked for.
// Only Decode can tell for a pool whose account does not name both mints.
var ErrAnotherPair = errors.New("the pool trades another pair")

// ErrUnread is the error of Decode if it needs an account that State does not have.
var ErrUnread = errors.New("an account that is needed was not read")
