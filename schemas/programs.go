package schemas

// Program ids and well-known mints, base58.
const (
	ProgramToken     = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	ProgramToken2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
	ProgramMetaplex  = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"
	// ProgramAssociatedToken makes the token accounts whose addresses follow from owner and mint.
	ProgramAssociatedToken = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
	ProgramSystem          = "11111111111111111111111111111111"

	// MintWrappedSOL is the mint of wrapped SOL. Its supply is always 0.
	MintWrappedSOL = "So11111111111111111111111111111111111111112"
	// MintWrappedSOL2022 is the mint of wrapped SOL under Token-2022, which hardly anybody uses:
	// spl_token_2022_interface::native_mint.
	MintWrappedSOL2022 = "9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP"
)

// BurnAddresses are owners, base58, of which nobody has the secret key: what is sent there is gone.
func BurnAddresses() []string {
	return []string{ProgramSystem, "1nc1nerator11111111111111111111111111111111"}
}
