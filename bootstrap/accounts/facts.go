package accounts

import (
	"errors"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Why an account gives no fact: the labels of Summary.Skipped.
const (
	skippedOwner         = "another owner than asked for"
	skippedOtherKind     = "another kind of account"
	skippedUninitialized = "uninitialized"
	skippedMalformed     = "malformed"
)

// factOf returns the fact that an account states, or why it states none. It is pure.
func factOf(program pubkey.Key, slot uint64, a *account) (fact *eventspb.Enrichment, skipped string) {
	if a.owner != program {
		return nil, skippedOwner
	}
	if program == tokenaccount.ProgramMetaplex {
		metadata, err := tokenaccount.ParseMetaplex(a.data)
		if err != nil {
			return nil, whySkipped(err)
		}
		// The program writes the metadata of a mint only at the address derived from it. So the
		// address is not derived again, which would cost a curve check for each of millions.
		return &eventspb.Enrichment{
			Mint: metadata.Mint[:], Slot: slot,
			Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: metadata.Fact(a.pubkey)},
		}, ""
	}
	mint, err := tokenaccount.ParseMint(a.owner, a.data)
	if err != nil {
		return nil, whySkipped(err)
	}
	return &eventspb.Enrichment{
		Mint: append([]byte{}, a.pubkey[:]...), Slot: slot,
		Fact: &eventspb.Enrichment_MintAccount{MintAccount: mint.Fact(a.pubkey)},
	}, ""
}

func whySkipped(err error) string {
	switch {
	case errors.Is(err, tokenaccount.ErrOtherOwner):
		return skippedOwner
	case errors.Is(err, tokenaccount.ErrOtherKind):
		return skippedOtherKind
	case errors.Is(err, tokenaccount.ErrUninitialized):
		return skippedUninitialized
	default:
		return skippedMalformed
	}
}
