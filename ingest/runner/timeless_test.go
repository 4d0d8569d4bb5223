package runner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestAMintIsSightedAgainInTheFirstBlockWithATime: a block without a time does not say when a mint
// was first seen, and no later block did.
func TestAMintIsSightedAgainInTheFirstBlockWithATime(t *testing.T) {
	created := mintKey(1)
	timeless := func(slot uint64) *chain.Block {
		b := newBlock(slot, slot-1, transactionOf(func(b *builder) { b.balance(mintKey(0)) }))
		b.BlockTime = 0
		return b
	}
	first := timeless(100)
	first.Transactions = append(first.Transactions, transactionOf(func(b *builder) { b.initialize(created) }))
	whole := []*chain.Block{first, timeless(101), newBlock(102, 101, transactionOf(
		func(b *builder) { b.balance(mintKey(0)) }, func(b *builder) { b.balance(created) },
	)), newBlock(103, 102, transactionOf(func(b *builder) { b.balance(mintKey(0)) }))}
	for cut := range len(whole) + 1 { // also when a run ends between them
		l := &log{}
		require.NoError(t, newRunner(t, l, blocks("geyser", whole[:cut]...)).Run(t.Context()))
		require.NoError(t, newRunner(t, l, blocks("geyser", whole...)).Run(t.Context()))
		states := map[pubkey.Key]*registry.State{}
		sightings := 0
		for _, record := range l.records {
			if !strings.HasPrefix(header(record, schemas.HeaderType), "token_event.") {
				continue
			}
			if header(record, schemas.HeaderType) == "token_event.sighting" {
				sightings++
			}
			var event eventspb.TokenEvent
			require.NoError(t, proto.Unmarshal(record.Value, &event))
			for _, fact := range registry.FactsOfEvent(&event) {
				if states[fact.Mint] == nil {
					states[fact.Mint] = new(registry.State)
				}
				states[fact.Mint].Apply(fact)
			}
		}
		require.Equal(t, 3, sightings, "one without a time, and one each with the first time")
		for _, mint := range []pubkey.Key{mintKey(0), created} {
			token, member := states[mint].Token(mint)
			require.True(t, member)
			require.Equal(t, new(int64(1_700_000_102_000)), token.FirstSeenAt)
			require.Equal(t, token.FirstSeenAt, token.LastSeenAt)
		}
	}
}
