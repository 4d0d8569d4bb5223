package venue

// Chained is a pool whose program can swap over two of its pools in one instruction. The second
// pool gets exactly what the first one gives, even if the price has moved since the quote. So the
// instruction states no amount in between, and nothing is left over.
type Chained interface {
	Opener
	// NeedsMiddle returns whether the token in the middle passes through the token account
	// UserAccounts.Middle, which must exist then.
	NeedsMiddle() bool
	// QuoteFirst answers an exact-in order to this pool as the first swap of a chain. Its fees may
	// differ from those of Quote. Errors wrap a Refusal: ErrUnverified if the program does not
	// chain this pool.
	QuoteFirst(order Order) (Quote, error)
	// QuoteNext returns the quote of the second swap, in which next gets what first gives. first is
	// a quote of QuoteFirst. Errors wrap a Refusal: ErrUnverified if the program does not chain
	// these two pools in this direction.
	QuoteNext(first Quote, next Pool) (Quote, error)
	// ChainInstructions returns the instructions that execute the quotes of QuoteFirst and
	// QuoteNext. limit is the least that the second swap may give, to the user's Destination.
	ChainInstructions(first, second Quote, next Pool, limit uint64, user UserAccounts) ([]Instruction, error)
	// ChainOpens returns the accounts that these instructions open if they are missing, as Opens
	// does for those of a single swap.
	ChainOpens(first Quote, user Key) ([]Opening, error)
}
