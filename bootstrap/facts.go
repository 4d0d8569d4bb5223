package bootstrap

import (
	"errors"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Why an account gives no fact: the reasons by which a run counts the accounts that it left out.
const (
	SkippedOwner         = "another owner than asked for"
	SkippedOtherKind     = "another kind of account"
	SkippedUninitialized = "uninitialized"
	SkippedMalformed     = "malformed"
)

// FactOf returns the fact that an account of a token program or of Metaplex states, without its
// slot, or why it states none. It is pure, and nothing in the fact refers to data.
func FactOf(address, owner pubkey.Key, data []byte) (fact *eventspb.Enrichment, skipped string) {
	if owner == tokenaccount.ProgramMetaplex {
		metadata, err := tokenaccount.ParseMetaplex(data)
		if err != nil {
			return nil, whySkipped(err)
		}
		// The program writes the metadata of a mint only at the address derived from it. So the
		// address is not derived again, which would cost a curve check for each of millions.
		return &eventspb.Enrichment{
			Mint: metadata.Mint[:],
			Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: metadata.Fact(address)},
		}, ""
	}
	mint, err := tokenaccount.ParseMint(owner, data)
	if err != nil {
		return nil, whySkipped(err)
	}
	return &eventspb.Enrichment{
		Mint: append([]byte{}, address[:]...),
		Fact: &eventspb.Enrichment_MintAccount{MintAccount: mint.Fact(address)},
	}, ""
}

func whySkipped(err error) string {
	switch {
	case errors.Is(err, tokenaccount.ErrOtherOwner):
		return SkippedOwner
	case errors.Is(err, tokenaccount.ErrOtherKind):
		return SkippedOtherKind
	case errors.Is(err, tokenaccount.ErrUninitialized):
		return SkippedUninitialized
	default:
		return SkippedMalformed
	}
}
