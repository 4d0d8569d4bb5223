package chain

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Key is an account's address.
type Key = pubkey.Key

// Hash is a block's hash.
type Hash = pubkey.Key

// Signature is an ed25519 signature of a message.
type Signature = solana.Signature

// Addresses of the programs and accounts that the chain knows; all are those of mainnet.
var (
	SystemProgram         = Key(solana.SystemProgramID)
	TokenProgram          = Key(solana.TokenProgramID)
	Token2022Program      = Key(solana.Token2022ProgramID)
	AssociatedProgram     = Key(solana.SPLAssociatedTokenAccountProgramID)
	MetaplexProgram       = pubkey.MustParse("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")
	ComputeBudgetProgram  = Key(solana.ComputeBudget)
	VoteProgram           = Key(solana.VoteProgramID)
	MemoProgram           = Key(solana.MemoProgramID)
	LookupTableProgram    = Key(solana.AddressLookupTableProgramID)
	CPMMProgram           = pubkey.MustParse("CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C")
	CPMMAuthority         = pubkey.MustParse("GpMZbSM2GgvTKHJirzeGfMFoaZ8UR2X7F4v8vHTvxFbL")
	AMMv4Program          = pubkey.MustParse("675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8")
	AMMv4Authority        = pubkey.MustParse("5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1")
	PumpSwapProgram       = pubkey.MustParse("pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA")
	PumpFeeProgram        = pubkey.MustParse("pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ")
	DAMMv2Program         = pubkey.MustParse("cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG")
	CLMMProgram           = pubkey.MustParse("CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK")
	WhirlpoolProgram      = pubkey.MustParse("whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc")
	DLMMProgram           = pubkey.MustParse("LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo")
	JupiterProgram        = pubkey.MustParse("JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4")
	NativeMint            = Key(solana.WrappedSol)
	USDCMint              = pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	RentSysvar            = Key(solana.SysVarRentPubkey)
	SysvarOwner           = pubkey.MustParse("Sysvar1111111111111111111111111111111111111")
	NativeLoader          = pubkey.MustParse("NativeLoader1111111111111111111111111111111")
	UpgradeableLoader     = Key(solana.BPFLoaderUpgradeableProgramID)
	cpmmCreatePoolFeeDest = pubkey.MustParse("DNXgeM9EiiaAbaWvwjHj9fQQLAX5ZsfHyvmYUNRAdNC8")
	// LauncherProgram is pump.fun's: it creates mints through CPI, and takes them to PumpSwap.
	LauncherProgram = pubkey.MustParse("6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P")
)

// Derived addresses of the venues beside CPMM. The recipient of PumpSwap's protocol fee is the
// chain's own.
var (
	DAMMv2Authority, _  = pda(DAMMv2Program, []byte("pool_authority"))
	dammEvents, _       = pda(DAMMv2Program, []byte("__event_authority"))
	dlmmEvents, _       = pda(DLMMProgram, []byte("__event_authority"))
	pumpEvents, _       = pda(PumpSwapProgram, []byte("__event_authority"))
	pumpGlobal, _       = pda(PumpSwapProgram, []byte("global_config"))
	pumpGlobalVolume, _ = pda(PumpSwapProgram, []byte("global_volume_accumulator"))
	pumpNoCreator, _    = pda(PumpSwapProgram, []byte("creator_vault"), make([]byte, 32))
	pumpFeeConfig, _    = pda(PumpFeeProgram, []byte("fee_config"), PumpSwapProgram[:])
	pumpRecipient       = Key(sha256.Sum256([]byte("mintlake demo fee recipient")))
)

// MadeUp returns the key that stands for a name and a number. Nobody can sign for it.
func MadeUp(name string, number uint64, more ...byte) Key {
	return sha256.Sum256(append(binary.BigEndian.AppendUint64([]byte(name), number), more...))
}

// Signer is a key pair that the chain owns.
type Signer struct {
	Key  Key
	priv ed25519.PrivateKey
}

// deriveSigner makes the key pair number i of a family ("wallet", "mint" …) from the chain's seed.
func deriveSigner(seed uint64, family string, i uint64) *Signer {
	buf := make([]byte, 0, 64)
	buf = append(buf, "mintlake demo key/"...)
	buf = append(buf, family...)
	buf = binary.LittleEndian.AppendUint64(buf, seed)
	buf = binary.LittleEndian.AppendUint64(buf, i)
	sum := sha256.Sum256(buf)
	priv := ed25519.NewKeyFromSeed(sum[:])
	return &Signer{Key: Key(priv[32:]), priv: priv}
}

// pda is solana.FindProgramAddress without its error, which comes only if no bump fits (probability
// 2^-255).
func pda(program Key, seeds ...[]byte) (Key, uint8) {
	k, bump, err := solana.FindProgramAddress(seeds, solana.PublicKey(program))
	if err != nil {
		panic("chain: no bump for a program address")
	}
	return Key(k), bump
}

// AssociatedAddress is the associated token account of owner for mint under the token program that
// owns the mint.
func AssociatedAddress(owner, mint, tokenProgram Key) Key {
	k, _ := pda(AssociatedProgram, owner[:], tokenProgram[:], mint[:])
	return k
}

// MetadataAddress is the Metaplex metadata account of mint.
func MetadataAddress(mint Key) Key {
	k, _ := pda(MetaplexProgram, []byte("metadata"), MetaplexProgram[:], mint[:])
	return k
}

// DemoWallet returns the private key of trading wallet i of a chain, so that a test or a demo front
// end can sign for it. It is derived from the public seed and guards nothing.
func DemoWallet(seed, i uint64) ed25519.PrivateKey { return deriveSigner(seed, "wallet", i).priv }
