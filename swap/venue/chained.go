package venue

// Chained is a pool whose program can swap over two of its pools by one instruction: what the first
// gives is what the second gets, whatever the price is by then. So no amount has to be stated in
// between, and nothing is left over.
type Chained interface {
	Opener
	// NeedsMiddle returns whether the token in the middle passes through the user's account for it:
	// that of UserAccounts.Middle, which must be there.
	NeedsMiddle() bool
	// QuoteFirst answers an exact-in order that sells to this pool as the first swap of a chain,
	// which may pay other fees than a swap of its own. Errors wrap a Refusal: ErrUnverified if the
	// program does not chain this pool.
	QuoteFirst(order Order) (Quote, error)
	// QuoteNext returns what a quote of QuoteFirst gives to next. Errors wrap a Refusal:
	// ErrUnverified if the program does not chain these two pools in this direction.
	QuoteNext(first Quote, next Pool) (Quote, error)
	// ChainInstructions returns the instructions of the quotes of QuoteFirst and QuoteNext. limit
	// is the least that the second swap may give. The user's Destination is for what the second
	// swap gives.
	ChainInstructions(first, second Quote, next Pool, limit uint64, user UserAccounts) ([]Instruction, error)
	// ChainOpens returns the accounts that these instructions open where they are missing, as
	// Opener's Opens.
	ChainOpens(first Quote, user Key) ([]Opening, error)
}
