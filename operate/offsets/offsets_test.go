package offsets

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
)

// TestExpiredRecordsAreTold: records that retention took between backup and restore are nobody's to
// read, and are told here, not by an alert later.
func TestExpiredRecordsAreTold(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "swaps"}
	var out bytes.Buffer
	goal, err := goalOf(map[string][]int64{"swaps": {5}}, map[kafka.TopicPartition]int64{tp: 9}, map[kafka.TopicPartition]int64{tp: 20}, &out)
	require.NoError(t, err)
	require.Equal(t, map[kafka.TopicPartition]int64{tp: 9}, goal)
	require.Equal(t, "swaps/0: 4 records have expired since the backup: the tables will not have them\n", out.String())
}
