package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
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

// TestAgesOfTopics: the settings of balances say how long their topics keep records. Without any,
// they are those of the catalogue; a base that is written rarely is kept until the next one is.
func TestAgesOfTopics(t *testing.T) {
	cfg := defaults()
	for _, topic := range schemas.Topics() {
		if age, set := topicAges(cfg)[topic.Name]; set {
			require.Equal(t, topic.Retention, age, topic.Name)
		}
	}
	cfg.Balances.TopicDays, cfg.Balances.BaseEvery = 2, 24*time.Hour
	require.Equal(t, map[string]time.Duration{
		schemas.TopicBalances: 48 * time.Hour, schemas.TopicTransfers: 48 * time.Hour, schemas.TopicBalanceBases: 60 * time.Hour,
	}, topicAges(cfg))

	cfg.Kafka.Brokers = kafkatest.Start(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: cfg.Kafka.Brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	require.NoError(t, ensureTopics(t.Context(), cfg, admin))
	config, err := admin.TopicConfig(t.Context(), schemas.TopicTransfers)
	require.NoError(t, err)
	require.Equal(t, "172800000", config["retention.ms"])
}
