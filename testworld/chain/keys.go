package chain

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"

	"github.com/gagliardetto/solana-go"
)

// Key is a 32-byte account address.
type Key = solana.PublicKey

// Hash is a 32-byte block hash.
type Hash = solana.Hash

// Signature is an ed25519 signature of a message.
type Signature = solana.Signature

// Addresses of the programs and accounts that the chain knows; all are those of mainnet except
// LauncherProgram.
var (
	SystemProgram         = solana.SystemProgramID
	TokenProgram          = solana.TokenProgramID
	Token2022Program      = solana.Token2022ProgramID
	AssociatedProgram     = solana.SPLAssociatedTokenAccountProgramID
	MetaplexProgram       = solana.MustPublicKeyFromBase58("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")
	ComputeBudgetProgram  = solana.ComputeBudget
	VoteProgram           = solana.VoteProgramID
	MemoProgram           = solana.MemoProgramID
	LookupTableProgram    = solana.AddressLookupTableProgramID
	CPMMProgram           = solana.MustPublicKeyFromBase58("CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C")
	CPMMAuthority         = solana.MustPublicKeyFromBase58("GpMZbSM2GgvTKHJirzeGfMFoaZ8UR2X7F4v8vHTvxFbL")
	AMMv4Program          = solana.MustPublicKeyFromBase58("675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8")
	AMMv4Authority        = solana.MustPublicKeyFromBase58("5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1")
	PumpSwapProgram       = solana.MustPublicKeyFromBase58("pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA")
	PumpFeeProgram        = solana.MustPublicKeyFromBase58("pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ")
	DAMMv2Program         = solana.MustPublicKeyFromBase58("cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG")
	NativeMint            = solana.WrappedSol
	USDCMint              = solana.MustPublicKeyFromBase58("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	RentSysvar            = solana.SysVarRentPubkey
	NativeLoader          = solana.MustPublicKeyFromBase58("NativeLoader1111111111111111111111111111111")
	UpgradeableLoader     = solana.BPFLoaderUpgradeableProgramID
	cpmmCreatePoolFeeDest = solana.MustPublicKeyFromBase58("DNXgeM9EiiaAbaWvwjHj9fQQLAX5ZsfHyvmYUNRAdNC8")
	// LauncherProgram stands for a launch pad that creates mints through CPI. It is no program of
	// mainnet: its address is a hash.
	LauncherProgram = Key(sha256.Sum256([]byte("mintlake demo launcher program")))
)

// Derived addresses of the venues beside CPMM. The recipient of PumpSwap's protocol fee is the
// demo's own.
var (
	DAMMv2Authority, _  = pda(DAMMv2Program, []byte("pool_authority"))
	dammEvents, _       = pda(DAMMv2Program, []byte("__event_authority"))
	pumpEvents, _       = pda(PumpSwapProgram, []byte("__event_authority"))
	pumpGlobal, _       = pda(PumpSwapProgram, []byte("global_config"))
	pumpGlobalVolume, _ = pda(PumpSwapProgram, []byte("global_volume_accumulator"))
	pumpNoCreator, _    = pda(PumpSwapProgram, []byte("creator_vault"), make([]byte, 32))
	pumpFeeConfig, _    = pda(PumpFeeProgram, []byte("fee_config"), PumpSwapProgram[:])
	pumpRecipient       = Key(sha256.Sum256([]byte("mintlake demo fee recipient")))
)

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
	k, bump, err := solana.FindProgramAddress(seeds, program)
	if err != nil {
		panic("chain: no bump for a program address")
	}
	return k, bump
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
