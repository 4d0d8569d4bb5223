package status

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestUnreadVersions: versions of transactions that ingest does not read are among the reasons, and
// take readiness away from nobody. The next run of ingest may read them.
func TestUnreadVersions(t *testing.T) {
	log, c := filled()
	s := collector(t, c, log)
	c.view.Source = &eventspb.SourceStatus{Kind: "rpc", UnreadVersions: []uint32{2, 3}}
	s.make(t.Context())
	document := s.Get(t.Context())
	require.True(t, document.Ready)
	require.Len(t, document.Reasons, 2)
	require.Contains(t, document.Reasons[0], "version 2")
	require.Nil(t, document.Pipeline.Error)
	c.view.Source = &eventspb.SourceStatus{Kind: "rpc"}
	s.make(t.Context())
	require.Empty(t, s.Get(t.Context()).Reasons)
}

// TestVanishedTopics: a topic that is missing twice in a row is gone, whichever it is; one of those
// that make the registry takes readiness away.
func TestVanishedTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes at once while kafka is away
		log, c := filled()
		s := collector(t, c, log)
		defer s.endMeasurement()
		document := func() Document {
			s.lookAtTopics(t.Context())
			s.make(t.Context())
			return s.latest
		}
		require.Empty(t, document().Reasons)
		require.True(t, document().Ready)
		for _, topic := range schemas.Topics() {
			log.SetMissing(topic.Name)
			require.Empty(t, document().Reasons, "a broker that starts may not know all topics at once")
			found := document()
			require.Len(t, found.Reasons, 1, topic.Name)
			require.Contains(t, found.Reasons[0], topic.Name)
			require.False(t, *found.Kafka.OK)
			require.Contains(t, *found.Kafka.Error, topic.Name)
			truth := topic.Name == schemas.TopicTokenEvents || topic.Name == schemas.TopicEnrichments || topic.Name == schemas.TopicSlots
			require.Equal(t, !truth, found.Ready, topic.Name)
			log.SetDown(true)
			require.Len(t, document().Reasons, 1, "what is known stays while kafka is away")
			log.SetDown(false)
			log.SetMissing()
			found = document()
			require.Empty(t, found.Reasons)
			require.True(t, found.Ready)
			require.True(t, *found.Kafka.OK)
		}
	})
}
