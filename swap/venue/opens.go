package venue

// Opening is an account that a swap opens if it is missing. The user pays its rent.
type Opening struct {
	Account Key
	// Owner is the program that owns it then, Size its length in bytes.
	Owner Key
	Size  int
}

// Rent returns the lamports that an account of a size must have, which is two years' rent
// (solana-rent: 3,480 lamports a byte and year, and 128 bytes more than the data).
func (o Opening) Rent() uint64 {
	const header, lamportsPerByte = 128, 2 * 3480
	return uint64(header+o.Size) * lamportsPerByte
}

// Opener is a Pool whose swaps open accounts for the user besides those for tokens that he buys.
type Opener interface {
	Pool
	// Opens returns the accounts that the swap of a quote opens if they are missing.
	Opens(quote Quote, user Key) ([]Opening, error)
}
