package accounts

import (
	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// factOf returns the fact that an account states, or why it states none. It is pure.
func factOf(program pubkey.Key, slot uint64, a *account) (fact *eventspb.Enrichment, skipped string) {
	if a.owner != program {
		return nil, bootstrap.SkippedOwner
	}
	fact, skipped = bootstrap.FactOf(a.pubkey, a.owner, a.data)
	if fact != nil {
		fact.Slot = slot
	}
	return fact, skipped
}
