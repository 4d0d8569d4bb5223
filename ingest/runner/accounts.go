package runner

import (
	"bytes"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/tokenaccount"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Kinds of facts that accounts state: metric labels, and the second part of their records' type.
const (
	factMintAccount     = "mint_account"
	factMetaplexAccount = "metaplex_account"
)

// factOf is what an account states of a mint, behind the transaction that wrote it; nil where it is
// no mint and no metadata.
func factOf(account *chain.Account, slot uint64, blockTime int64) (*eventspb.Enrichment, string) {
	order := schemas.EndOfTransaction(slot, uint32(account.Transaction)).Order
	fact := &eventspb.Enrichment{Slot: slot, Order: &order, Signature: bytes.Clone(account.Signature[:]), BlockTime: blockTime}
	owner := account.Owner
	if owner == tokenaccount.ProgramMetaplex {
		metadata, err := tokenaccount.ParseMetaplex(account.Data)
		if err != nil {
			return nil, ""
		}
		// The program gives a mint one metadata account; another that names the mint says nothing
		// of it.
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

// addAccounts adds the facts of the block's accounts. It is pure but for the metrics.
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
		r.metrics.facts.WithLabelValues(kind).Inc()
	}
	return nil
}
