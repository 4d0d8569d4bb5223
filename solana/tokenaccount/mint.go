// Package tokenaccount reads the accounts that describe a token: SPL and Token-2022 mints with
// their extensions, and Metaplex metadata accounts.
//
// In: an account's owner and raw data, both hostile. Out: plain values, and the facts of the events
// made from them.
// Guarantees: pure and deterministic; it never panics and never reads beyond the data; its memory
// is bounded by the data's length; nothing that it returns refers to the data.
package tokenaccount

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// The reasons why an account is refused. The errors of ParseMint and ParseMetaplex wrap one of
// them.
var (
	// ErrOtherOwner is an account that no token program owns.
	ErrOtherOwner = errors.New("owned by no token program")
	// ErrOtherKind is another account of the same program: of a token program a token account or a
	// multisig, of Metaplex anything but metadata.
	ErrOtherKind = errors.New("not a mint account")
	// ErrUninitialized is an account of a mint's size that was never initialized.
	ErrUninitialized = errors.New("uninitialized mint")
	// ErrMalformed is data that the programs themselves would refuse.
	ErrMalformed = errors.New("malformed account")
)

// Layout of the two programs' accounts (spl-token-2022-interface, state.rs and extension/mod.rs).
const (
	mintLength     = 82
	accountLength  = 165
	multisigLength = 355
	// typeOffset is the offset of Token-2022's account type. In a mint, padding before it fills up
	// to the length of a token account.
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
	// MintAuthority and FreezeAuthority are nil if there is none. They may be the all-zero key, the
	// system program's address, for which nobody can sign.
	MintAuthority   *pubkey.Key
	FreezeAuthority *pubkey.Key
	// Extensions are those of a Token-2022 mint, in account order.
	Extensions []Extension
	// MetadataPointer is the address in the metadata_pointer extension; nil if there is no such
	// extension, or it points nowhere.
	MetadataPointer *pubkey.Key
	// TokenMetadata is the token_metadata extension; nil if it is absent or malformed.
	TokenMetadata *TokenMetadata
}

// ParseMint reads a mint account of either token program. Errors wrap ErrOtherOwner, ErrOtherKind,
// ErrUninitialized or ErrMalformed. An extension of an unknown type or length is kept as raw bytes:
// new ones appear on the chain before this package knows them.
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

// checkExtendedKind distinguishes a Token-2022 mint from the program's other accounts. A mint
// without extensions has 82 bytes; any other has its type after the padding. A multisig has no
// type, but a length that no other account of the program has.
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
	r := borsh.NewReader(data)
	mint := Mint{Program: owner}
	mint.MintAuthority = coption(r)
	mint.Supply = r.U64()
	mint.Decimals = r.U8()
	initialized := r.Bool()
	mint.FreezeAuthority = coption(r)
	if r.Err() != nil {
		return Mint{}, fmt.Errorf("%w: mint state", ErrMalformed)
	}
	if !initialized {
		return Mint{}, ErrUninitialized
	}
	return mint, nil
}

// coption reads the u32-tagged optional key of a mint account (solana-program-option's COption).
func coption(r *borsh.Reader) *pubkey.Key {
	tag := r.U32()
	key := r.Key()
	switch {
	case r.Err() != nil, tag == 0:
		return nil
	case tag == 1:
		return &key
	default:
		r.Fail(borsh.ErrValue)
		return nil
	}
}

// Fact converts the mint to a fact for the event. address is the mint's own address, where its
// Token-2022 metadata is stored too.
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
