package venue

// Opening is an account that a swap opens if it is missing. The user pays its Rent.
type Opening struct {
	Account Key
	// Owner is the program that owns it then, Size its length in bytes.
	Owner Key
	Size  int
}

// Opener is a Pool whose swaps open accounts for the user besides those for tokens that he buys.
type Opener interface {
	Pool
	// Opens returns the accounts that the swap of a quote opens if they are missing.
	Opens(quote Quote, user Key) ([]Opening, error)
}
