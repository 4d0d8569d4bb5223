package decode

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Sighting is a mint that a transaction's token balances show.
type Sighting struct {
	Mint pubkey.Key
	// Program is the token program; zero if the source does not state it.
	Program  pubkey.Key
	Decimals uint8
}

// Sightings returns the mints in the token balances before and after a successful transaction, each
// once, in the order of their first balance.
func Sightings(tx *chain.Transaction) []Sighting {
	if tx.Failed || tx.Vote || len(tx.PreBalances)+len(tx.PostBalances) == 0 {
		return nil
	}
	sightings := make([]Sighting, 0, min(len(tx.PreBalances)+len(tx.PostBalances), 4))
	for _, balances := range [][]chain.TokenBalance{tx.PreBalances, tx.PostBalances} {
		for i := range balances {
			if b := &balances[i]; !sighted(sightings, b.Mint) {
				sightings = append(sightings, Sighting{Mint: b.Mint, Program: b.Program, Decimals: b.Decimals})
			}
		}
	}
	return sightings
}

// sighted reports whether sightings has the mint. A linear search is enough: a transaction has few
// mints, and parsers bound its balances to some hundreds.
func sighted(sightings []Sighting, mint pubkey.Key) bool {
	for i := range sightings {
		if sightings[i].Mint == mint {
			return true
		}
	}
	return false
}

// Event returns the sighting as an event of the transaction in which the mint was seen.
func (s Sighting) Event(tx *chain.Transaction, slot uint64, blockTime int64) *eventspb.TokenEvent {
	event := &eventspb.TokenEvent{
		Position:  &eventspb.Position{Slot: slot, TransactionIndex: optional(tx.Index)},
		BlockTime: blockTime,
		Signature: append([]byte(nil), tx.Signature[:]...),
		Mint:      s.Mint.Bytes(),
		Payload: &eventspb.TokenEvent_Sighting{
			Sighting: &eventspb.Sighting{Decimals: uint32(s.Decimals)},
		},
	}
	if s.Program != (pubkey.Key{}) {
		event.ProgramId = s.Program.Bytes()
	}
	return event
}
