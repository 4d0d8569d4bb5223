package validator

import (
	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/lattice"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Extract returns the fact that an account states, without its slot. If the account states none
// although it should, skipped says why. It is called by several goroutines, for every version of
// every account, so it must be quick for accounts that state nothing. The fact must not refer to
// the account's data.
type Extract func(account *lattice.Account) (fact *eventspb.Enrichment, skipped string)

// Where the kinds of accounts are told apart (spl-token-2022-interface, mpl-token-metadata).
const (
	mintLength      = 82
	accountTypeAt   = 165
	accountTypeMint = 1
	metadataKey     = 4
)

// Mints extracts the facts of mints and of Metaplex metadata. Nearly all accounts are neither, and
// it recognises them by owner, length and one byte.
func Mints(account *lattice.Account) (fact *eventspb.Enrichment, skipped string) {
	data := account.Data
	switch account.Owner {
	case tokenaccount.ProgramToken:
		if len(data) != mintLength {
			return nil, ""
		}
	case tokenaccount.ProgramToken2022:
		if len(data) != mintLength && (len(data) <= accountTypeAt || data[accountTypeAt] != accountTypeMint) {
			return nil, ""
		}
	case tokenaccount.ProgramMetaplex:
		if len(data) == 0 || data[0] != metadataKey {
			return nil, ""
		}
	default:
		return nil, ""
	}
	return bootstrap.FactOf(account.Address, account.Owner, data)
}
