package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas"
)

// TestPartitions: topics whose order is one for all keep one partition, whatever is configured; the
// others get what is configured.
func TestPartitions(t *testing.T) {
	got := map[string]int{}
	for _, spec := range topicSpecs(12, 3) {
		require.Equal(t, 3, spec.ReplicationFactor)
		got[spec.Name] = spec.Partitions
	}
	require.Equal(t, 1, got[schemas.TopicSlots])
	require.Equal(t, 1, got[schemas.TopicIdentity])
	require.Equal(t, 1, got[schemas.TopicTransactions])
	for _, topic := range []string{schemas.TopicTokenEvents, schemas.TopicSwaps, schemas.TopicEnrichmentRequests} {
		require.Equal(t, 12, got[topic], topic)
	}
	for _, topic := range schemas.Topics() {
		if topic.Partitions > 1 {
			require.Equal(t, defaults().Kafka.Partitions, topic.Partitions, "the embedded broker has the catalogue's: %s", topic.Name)
		}
	}
}
