package replica_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestMembersHaveNumbers: a member is found by its number, and the number by the mint; what is no
// member has none.
func TestMembersHaveNumbers(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 10, "ONE", "The One", time.Now())
	extended := apitest.Event(apitest.Mint(1), 11)
	extended.Payload = &eventspb.TokenEvent_ExtensionSet{ExtensionSet: &eventspb.ExtensionSet{
		Extension: registry.ExtensionMetadataPointer, Attributes: []*eventspb.Attribute{{Name: "authority", Value: "x"}},
	}}
	log.Message(schemas.TopicTokenEvents, mint, extended, time.Now())
	nameless := apitest.Mint(2)
	log.Message(schemas.TopicTokenEvents, apitest.Address(nameless), apitest.Named(nameless, 10, "TWO", "No decimals"), time.Now())
	n := start(t, t.Context(), log, nil)
	defer n.stop()
	n.awaitReady(t)
	id, ok := n.ID(pubkey.MustParse(mint))
	require.True(t, ok)
	require.Equal(t, mint, n.Token(id).Mint.String())
	require.True(t, n.Row(id, func(row *replica.Row) {
		require.Equal(t, []string{registry.ExtensionMetadataPointer}, row.Extensions)
	}))
	_, ok = n.ID(pubkey.Key(nameless))
	require.False(t, ok)
	require.False(t, n.Row(99, func(*replica.Row) { t.Error("a row of no mint") }))
}
