// Package tokenaccount reads the accounts that say what a token is: SPL and Token-2022 mints with
// their extensions, and Metaplex metadata accounts.
//
// In: an account's owner and raw data, both hostile. Out: plain values, and the facts of the event
// contract made of them.
// Guarantees: pure and deterministic; never panics, never reads beyond the data, and its memory is
// bounded by the data's length; nothing returned borrows the data.
package tokenaccount

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Why an account is no mint. ParseMint's errors wrap one of them.
var (
	// ErrOtherOwner is an account that no token program owns.
	ErrOtherOwner = errors.New("owned by no token program")
	// ErrOtherKind is a token account or a multisig.
	ErrOtherKind = errors.New("not a mint account")
	// ErrUninitialized is mint-sized space that was never initialised.
	ErrUninitialized = errors.New("uninitialized mint")
	// ErrMalformed is data that the programs themselves would refuse.
	ErrMalformed = errors.New("malformed account")
)

// Layout of the two programs' accounts (spl-token-2022-interface, state.rs and extension/mod.rs).
const (
	mintLength     = 82
	accountLength  = 165
	multisigLength = 355
	// typeOffset is where Token-2022 writes the account type, behind the padding that makes a mint
	// as long as an account.
	typeOffset      = accountLength
	accountTypeMint = 1
)

// Mint is a mint account's state.
type Mint struct {
	// Program owns the account: ProgramToken or ProgramToken2022.
	Program  pubkey.Key
	Decimals uint8
	// Supply is in raw units.
	Supply uint64
	// MintAuthority and FreezeAuthority are nil when there is none. The all-zero key is the system
	// program: an authority that nobody can sign for.
	MintAuthority   *pubkey.Key
	FreezeAuthority *pubkey.Key
	// Extensions are Token-2022's, in account order.
	Extensions []Extension
	// MetadataPointer is where the metadata_pointer extension points; nil when it is absent or
	// points nowhere.
	MetadataPointer *pubkey.Key
	// TokenMetadata is the token_metadata extension; nil when it is absent or unreadable.
	TokenMetadata *TokenMetadata
}

// IsToken2022 says that the extended token program owns the mint.
func (m *Mint) IsToken2022() bool { return m.Program == ProgramToken2022 }

// ParseMint reads a mint account of either token program. Errors wrap ErrOtherOwner, ErrOtherKind,
// ErrUninitialized or ErrMalformed. An extension of a type or length that this version does not
// know is kept with its raw bytes, since new ones appear on the chain before they appear here.
func ParseMint(owner pubkey.Key, data []byte) (Mint, error) {
	switch owner {
	case ProgramToken:
		if len(data) != mintLength {
			return Mint{}, wrongLength(len(data), len(data) == accountLength || len(data) == multisigLength)
		}
	case ProgramToken2022:
		if err := checkExtendedKind(data); err != nil {
			return Mint{}, err
		}
	default:
		return Mint{}, ErrOtherOwner
	}
	mint, err := parseBaseMint(owner, data[:mintLength])
	if err != nil {
		return Mint{}, err
	}
	if len(data) > typeOffset+1 {
		if err := mint.parseExtensions(data[typeOffset+1:]); err != nil {
			return Mint{}, err
		}
	}
	return mint, nil
}

func wrongLength(length int, otherKind bool) error {
	if otherKind {
		return fmt.Errorf("%w: %d bytes", ErrOtherKind, length)
	}
	return fmt.Errorf("%w: %d bytes", ErrMalformed, length)
}

// checkExtendedKind tells a Token-2022 mint from the program's other accounts: a mint is 82 bytes
// without extensions, else it carries its type behind the padding. A multisig has no type byte but
// a length that the program gives to nothing else.
func checkExtendedKind(data []byte) error {
	switch {
	case len(data) == mintLength:
		return nil
	case len(data) == accountLength, len(data) == multisigLength:
		return wrongLength(len(data), true)
	case len(data) < typeOffset+1:
		return wrongLength(len(data), false)
	case data[typeOffset] != accountTypeMint:
		return fmt.Errorf("%w: account type %d", ErrOtherKind, data[typeOffset])
	}
	for _, b := range data[mintLength:typeOffset] {
		if b != 0 {
			return fmt.Errorf("%w: padding is not zero", ErrMalformed)
		}
	}
	return nil
}

func parseBaseMint(owner pubkey.Key, data []byte) (Mint, error) {
	r := reader{data: data}
	mint := Mint{Program: owner}
	mint.MintAuthority = r.coption()
	mint.Supply = r.u64()
	mint.Decimals = r.u8()
	initialized := r.strictBool()
	mint.FreezeAuthority = r.coption()
	if r.failed {
		return Mint{}, fmt.Errorf("%w: mint state", ErrMalformed)
	}
	if !initialized {
		return Mint{}, ErrUninitialized
	}
	return mint, nil
}

// Fact is the mint as the event contract carries it. address is the mint's own address, which holds
// its Token-2022 metadata.
func (m *Mint) Fact(address pubkey.Key) *eventspb.MintAccount {
	fact := &eventspb.MintAccount{
		ProgramId:       m.Program.Bytes(),
		Decimals:        uint32(m.Decimals),
		Supply:          m.Supply,
		MintAuthority:   optionalBytes(m.MintAuthority),
		FreezeAuthority: optionalBytes(m.FreezeAuthority),
		MetadataPointer: optionalBytes(m.MetadataPointer),
	}
	for _, extension := range m.Extensions {
		fact.Extensions = append(fact.Extensions, extension.event())
	}
	if m.TokenMetadata != nil {
		fact.TokenMetadata = m.TokenMetadata.event(address)
	}
	return fact
}

func optionalBytes(key *pubkey.Key) []byte {
	if key == nil {
		return nil
	}
	return key.Bytes()
}
