package enrich

import (
	"errors"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// findings are what a mint's two accounts say.
type findings struct {
	facts    []*eventspb.Enrichment
	notAMint bool
	// uri is the mint's metadata URI by the registry's own rules.
	uri string
	// metadataAccount is the mint's Metaplex account if it was parsed; else zero.
	metadataAccount pubkey.Key
	// malformed is set if the Metaplex account exists and cannot be parsed, or names another mint.
	malformed error
}

// factsOf returns what the accounts of a mint said at slot. A nil account does not exist. factsOf
// is pure.
func factsOf(mint pubkey.Key, slot uint64, mintAccount, metaplexAccount *solana.Account) findings {
	var found findings
	if mintAccount == nil {
		found.addNotAMint(mint, slot, "no account")
		return found
	}
	state, err := tokenaccount.ParseMint(mintAccount.Owner, mintAccount.Data)
	if err != nil {
		found.addNotAMint(mint, slot, whyNoMint(err))
		return found
	}
	found.add(&eventspb.Enrichment{
		Mint: mint[:], Slot: slot, Fact: &eventspb.Enrichment_MintAccount{MintAccount: state.Fact(mint)},
	})
	if metaplexAccount != nil && metaplexAccount.Owner == tokenaccount.ProgramMetaplex {
		found.addMetaplex(mint, slot, metaplexAccount.Data)
	}
	found.uri = currentURI(mint, found.facts)
	return found
}

func (f *findings) add(fact *eventspb.Enrichment) { f.facts = append(f.facts, fact) }

func (f *findings) addNotAMint(mint pubkey.Key, slot uint64, reason string) {
	f.notAMint = true
	f.add(&eventspb.Enrichment{
		Mint: mint[:], Slot: slot, Fact: &eventspb.Enrichment_NotAMint{NotAMint: &eventspb.NotAMint{Reason: reason}},
	})
}

// addMetaplex adds the fact of the Metaplex account. An account of another kind adds nothing. A
// closed account is of another kind, because its first byte is 0. An account that does not parse,
// or names another mint, only sets malformed.
func (f *findings) addMetaplex(mint pubkey.Key, slot uint64, data []byte) {
	metadata, err := tokenaccount.ParseMetaplex(data)
	switch {
	case errors.Is(err, tokenaccount.ErrOtherKind):
		return
	case err != nil:
		f.malformed = err
		return
	case metadata.Mint != mint:
		f.malformed = errors.New("the account names another mint")
		return
	}
	address, _ := tokenaccount.MetaplexAddress(mint)
	f.metadataAccount = address
	f.add(&eventspb.Enrichment{
		Mint: mint[:], Slot: slot, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: metadata.Fact(address)},
	})
}

// whyNoMint returns one of a few fixed texts: the reason is part of the fact and must not vary with
// the data.
func whyNoMint(err error) string {
	for _, known := range []error{
		tokenaccount.ErrOtherOwner, tokenaccount.ErrOtherKind, tokenaccount.ErrUninitialized, tokenaccount.ErrMalformed,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "unreadable"
}

// currentURI returns the metadata URI that the registry takes from the facts, so that the document
// that is fetched is the one that counts.
func currentURI(mint pubkey.Key, facts []*eventspb.Enrichment) string {
	var state registry.State
	for _, enrichment := range facts {
		for _, fact := range registry.FactsOfEnrichment(enrichment) {
			state.Apply(fact)
		}
	}
	return state.MetadataURI(mint)
}
