package venue

// Opening is an account that a swap opens if it is missing. The user pays its Rent.
type Opening struct {
	Account Key
	// Owner is the program that owns the account once it is open. Size is the length of its data in
	// bytes.
	Owner Key
	Size  int
}

// Opener is a Pool whose swaps open accounts at the user's expense, besides the token account for
// what the user buys.
type Opener interface {
	Pool
	// Opens returns the accounts that the swap of a quote opens if they are missing.
	Opens(quote Quote, user Key) ([]Opening, error)
}
