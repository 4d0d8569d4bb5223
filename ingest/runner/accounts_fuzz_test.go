package runner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// FuzzAccountFact: whatever an account holds, it states facts about one mint, behind its
// transaction, or none.
func FuzzAccountFact(f *testing.F) {
	mint := make([]byte, 82)
	mint[45] = 1
	extended := append(append(make([]byte, 0, 200), mint...), make([]byte, 84)...)
	extended[165] = 1
	f.Add(uint8(0), mint, 3)
	f.Add(uint8(1), extended, 0)
	f.Add(uint8(2), append([]byte{4}, make([]byte, 120)...), 7)
	f.Fuzz(func(t *testing.T, owner uint8, data []byte, transaction int) {
		if transaction < 0 || transaction > 1<<20 {
			return
		}
		owners := []pubkey.Key{tokenaccount.ProgramToken, tokenaccount.ProgramToken2022, tokenaccount.ProgramMetaplex, {}}
		a := chain.Account{Key: pubkey.Key{1}, Owner: owners[int(owner)%len(owners)], Data: data, Transaction: transaction}
		fact, kind := factOf(&a, 5, 6)
		if fact == nil {
			require.Empty(t, kind)
			return
		}
		require.Len(t, fact.GetMint(), 32)
		_, err := factRecord(fact, kind, time.UnixMilli(1_700_000_000_000))
		require.NoError(t, err)
		for _, stated := range registry.FactsOfEnrichment(fact) {
			position := stated.Position
			if stated.Register == registry.RegisterFirstSeen {
				position = position.Reverse()
			}
			require.Equal(t, schemas.EndOfTransaction(5, uint32(transaction)), position)
		}
	})
}
