package projector_test

import (
	"context"
	"math"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// supplyOf reads a token's supply, nil if it is unknown, as analysts and as API nodes read it.
func supplyOf(t *testing.T, conn driver.Conn) *uint64 {
	t.Helper()
	var supply *uint64
	require.NoError(t, conn.QueryRow(context.Background(), "SELECT supply FROM mintlake.tokens").Scan(&supply))
	for _, state := range registrytest.Believed(storedFacts(t, conn)) {
		token, member := state.Token(storedFacts(t, conn)[0].Mint)
		require.True(t, member)
		require.Equal(t, supply == nil, token.Supply == nil)
	}
	return supply
}

func read(slot, supply uint64) registrytest.Message {
	return registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: slot, Upstream: "liar.example",
		Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{ProgramId: registrytest.Mint(9), Decimals: 6, Supply: supply, MintAuthority: registrytest.Mint(7)}}}}
}

func takeBack(ranges ...*eventspb.SlotRange) registrytest.Message {
	return registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1),
		Fact: &eventspb.Enrichment_Retraction{Retraction: &eventspb.Retraction{Version: 1, Slots: ranges, Reason: "a lie"}}}}
}

// TestARowWithoutALieReplacesTheOneWithIt: although the positions of its facts have the lower sum,
// and whatever merges have done.
func TestARowWithoutALieReplacesTheOneWithIt(t *testing.T) {
	conn, store := migrated(t)
	write := func(messages ...registrytest.Message) {
		require.NoError(t, store.Write(t.Context(), batchOf(messages)))
	}
	const far = math.MaxUint64 - 1
	write(read(100, 500))
	write(read(far, 1), read(far-2, 2), read(300, 3))
	require.EqualValues(t, 1, *supplyOf(t, conn))
	write(takeBack(&eventspb.SlotRange{From: far, To: far}))
	require.EqualValues(t, 2, *supplyOf(t, conn), "one of the lies is left")
	require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE mintlake.token_facts_raw FINAL"))
	require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE mintlake.token_fact_history_raw FINAL"))
	write(takeBack(&eventspb.SlotRange{From: far - 2, To: far - 2}, &eventspb.SlotRange{From: 300, To: 300}))
	require.EqualValues(t, 500, *supplyOf(t, conn), "what the lies had beaten holds again")
	write(read(far, 9), read(300, 9))
	require.EqualValues(t, 500, *supplyOf(t, conn), "the same lies again")
	write(read(400, 700))
	require.EqualValues(t, 700, *supplyOf(t, conn), "what is read after them counts")
	require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE mintlake.tokens_raw FINAL"))
	require.NoError(t, store.Fold(t.Context(), projector.Dirty{All: true}))
	require.EqualValues(t, 700, *supplyOf(t, conn))
}

// TestRetractionsThatAreNotUnderstoodTakeNothingBack, in ClickHouse as in Go: an import may bring
// any text.
func TestRetractionsThatAreNotUnderstoodTakeNothingBack(t *testing.T) {
	conn, store := migrated(t)
	messages := []registrytest.Message{read(5, 500), read(7, 700)}
	for _, item := range []string{
		"", "reads", "reads 7", "reads 9-5", "reads 07-9", "reads 7-09", "reads +7-9", "reads 7-9 ", "reads  7-9", " reads 7-9", "Reads 7-9", "reads 7-9\n", "all 7-9",
		"reads 7-9-9", "reads 7-18446744073709551616", "reads 0x7-9", "events 9-5", "reads 0-6x", "events 0-99999999999999999999999",
	} {
		fact := registry.Fact{Register: registry.RegisterRetraction, Item: item}
		messages = append(messages, registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Fact: &eventspb.Enrichment_Facts{
			Facts: &eventspb.Facts{Facts: []*eventspb.Fact{registry.ImportedFact(fact)}},
		}}})
	}
	require.NoError(t, store.Write(t.Context(), batchOf(messages)))
	require.EqualValues(t, 700, *supplyOf(t, conn))
	require.Equal(t, facts(registrytest.Believed(registrytest.FactsOf(messages))), storedFacts(t, conn))
}
