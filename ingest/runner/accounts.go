package runner

import (
	"bytes"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Kinds of facts that accounts state. Each is a metric label, and the end of the record's type,
// such as "enrichment.mint_account".
const (
	factMintAccount     = "mint_account"
	factMetaplexAccount = "metaplex_account"
)

// factOf returns the fact that an account states about a mint, and the fact's kind. The fact's
// position is the end of the transaction that wrote the account. factOf returns nil if the account
// is neither a mint nor metadata.
func factOf(account *chain.Account, slot uint64, blockTime int64) (*eventspb.Enrichment, string) {
	order := schemas.EndOfTransaction(slot, uint32(account.Transaction)).Order
	fact := &eventspb.Enrichment{Slot: slot, Order: &order, Signature: bytes.Clone(account.Signature[:]), BlockTime: blockTime}
	owner := account.Owner
	if owner == tokenaccount.ProgramMetaplex {
		metadata, err := tokenaccount.ParseMetaplex(account.Data)
		if err != nil {
			return nil, ""
		}
		// A mint has only one metadata account. Another one that names the mint does not count.
		if address, ok := tokenaccount.MetaplexAddress(metadata.Mint); !ok || address != account.Key {
			return nil, ""
		}
		fact.Mint = bytes.Clone(metadata.Mint[:])
		fact.Fact = &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: metadata.Fact(account.Key)}
		return fact, factMetaplexAccount
	}
	mint, err := tokenaccount.ParseMint(owner, account.Data)
	if err != nil {
		return nil, ""
	}
	fact.Mint = bytes.Clone(account.Key[:])
	fact.Fact = &eventspb.Enrichment_MintAccount{MintAccount: mint.Fact(account.Key)}
	return fact, factMintAccount
}

// addAccounts adds the facts of the block's accounts to the output. It has no other effect than on
// metrics and unknowns.
func (r *Runner) addAccounts(out *output, j *job) error {
	for i := range j.block.Accounts {
		fact, kind := factOf(&j.block.Accounts[i], j.block.Slot, j.block.BlockTime)
		if fact == nil {
			continue
		}
		record, err := factRecord(fact, kind, j.receivedAt)
		if err != nil {
			return err
		}
		out.records = append(out.records, record)
		r.noteExtensions(fact)
		r.metrics.facts.WithLabelValues(kind).Inc()
	}
	return nil
}
