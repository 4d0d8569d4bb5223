package replica_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestAMintThatLostFactsIsCompletedFromItsRow, and only when the projector has stored all that the
// copy had by then: an earlier row would lack what the lie had replaced here and not yet there.
func TestAMintThatLostFactsIsCompletedFromItsRow(t *testing.T) {
	log, mint := apitest.NewLog(), apitest.Mint(1)
	key, address := pubkey.Key(mint), apitest.Address(mint)
	var messages []registrytest.Message
	say := func(topic string, message registrytest.Message) {
		messages = append(messages, message)
		if message.Event != nil {
			log.Message(topic, address, message.Event, time.Now())
			return
		}
		log.Message(topic, address, message.Enrichment, time.Now())
	}
	read := func(slot, supply uint64) {
		account := &eventspb.MintAccount{ProgramId: apitest.Mint(9), Decimals: 6, Supply: supply, MintAuthority: apitest.Mint(8)}
		say(schemas.TopicEnrichments, registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: mint, Slot: slot, Fact: &eventspb.Enrichment_MintAccount{MintAccount: account}}})
	}
	read(10, 500)
	snapshot := &apitest.Snapshot{}
	n := start(t, t.Context(), log, snapshot, func(c *replica.Config, _ *replica.Deps) { c.SnapshotPatience = time.Minute })
	defer n.stop()
	n.awaitReady(t)
	supply := func() string {
		if token := n.Lookup(key); token != nil && token.Supply != nil {
			return *token.Supply
		}
		return "unknown"
	}
	require.Equal(t, "500", supply())

	const lie = 1 << 60
	read(lie, 1)
	read(11, 600) // beaten by the lie
	say(schemas.TopicTokenEvents, registrytest.Message{Event: apitest.Named(mint, 12, "TRUE", "Name")})
	require.Eventually(t, func() bool { return supply() == "1" && n.Lookup(key).Symbol == "TRUE" }, hang, time.Millisecond)
	// The projector has the retraction before some of what the copy has.
	snapshot.Set(key, registrytest.Believed(registrytest.FactsOf(messages[:1]))[key].Facts())
	say(schemas.TopicEnrichments, registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: mint, Fact: &eventspb.Enrichment_Retraction{
		Retraction: &eventspb.Retraction{Version: 1, Slots: []*eventspb.SlotRange{{From: lie, To: lie}}},
	}}})
	require.Eventually(t, func() bool { return n.Lookup(key) == nil }, hang, time.Millisecond, "the lie said the decimals too")
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents)
	time.Sleep(time.Second) // several looks at the projector's offsets
	require.Nil(t, n.Lookup(key))
	require.Zero(t, snapshot.Loads())

	snapshot.Fail(1)
	snapshot.Set(key, registrytest.Believed(registrytest.FactsOf(messages))[key].Facts())
	log.CommitAll(schemas.GroupProjector, schemas.TopicEnrichments)
	require.Eventually(t, func() bool { return supply() == "600" && n.Lookup(key).Symbol == "TRUE" }, hang, time.Millisecond)
	require.Equal(t, 2, snapshot.Loads(), "ClickHouse was away once")
	read(lie, 2)
	read(13, 700)
	require.Eventually(t, func() bool { return supply() == "700" }, hang, time.Millisecond)
}
