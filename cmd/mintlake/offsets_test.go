package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
)

// savedOffsets is the file of `mintlake offsets save`.
type savedOffsets struct {
	ClusterID string                        `json:"cluster_id"`
	NotedAt   time.Time                     `json:"noted_at"`
	Groups    map[string]map[string][]int64 `json:"groups"`
}

// TestOffsetsAreSavedAndReset: what was read after they were saved is to be read again, and nothing
// else.
func TestOffsetsAreSavedAndReset(t *testing.T) {
	brokers, ctx := kafkatest.Start(t), t.Context()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	require.NoError(t, admin.EnsureTopics(ctx, topicSpecs(4, 1)))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	read := func(swaps int64) {
		t.Helper()
		for range 5 {
			require.NoError(t, producer.Produce(ctx, kafka.Record{Topic: schemas.TopicSwaps, Key: []byte("k"), Value: []byte("v")}))
		}
		ends, err := admin.EndOffsets(ctx, []string{schemas.TopicSwaps})
		require.NoError(t, err)
		for tp, end := range ends {
			if end > 0 {
				require.NoError(t, admin.ResetGroup(ctx, schemas.GroupSwaps, map[kafka.TopicPartition]int64{tp: swaps}))
			}
		}
	}
	lag := func() int64 {
		t.Helper()
		lag, err := admin.Lag(ctx, schemas.GroupSwaps, []string{schemas.TopicSwaps})
		require.NoError(t, err)
		return lag
	}
	file, flag := filepath.Join(t.TempDir(), "offsets.json"), "--kafka-brokers="+strings.Join(brokers, ",")
	read(3)
	_, err = runCommand(t, "offsets", "save", "--to", file, flag)
	require.NoError(t, err)
	_, err = runCommand(t, "offsets", "save", "--to", file, flag)
	require.ErrorIs(t, err, os.ErrExist, "a file of offsets is part of a backup: nothing writes over it")

	read(10)
	require.Zero(t, lag())
	out, err := runCommand(t, "offsets", "reset", "--from", file, flag)
	require.NoError(t, err)
	require.EqualValues(t, 7, lag())
	require.Contains(t, out, "mintlake-swaps: 7 records to read\n")
	_, err = runCommand(t, "offsets", "reset", "--first", flag)
	require.NoError(t, err)
	require.EqualValues(t, 10, lag())

	_, err = runCommand(t, "offsets", "reset", flag)
	require.ErrorContains(t, err, "--first")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for want, change := range map[string]func(noted *savedOffsets){
		"are of the Kafka cluster": func(noted *savedOffsets) { noted.ClusterID += "x" },
		"has offsets of 8 partitions of chain.token-events.v1, which has 4": func(noted *savedOffsets) {
			noted.Groups[schemas.GroupProjector][schemas.TopicTokenEvents] = make([]int64, 8)
		},
		"has offsets of 0 partitions": func(noted *savedOffsets) { delete(noted.Groups, schemas.GroupUsage) },
		"this is another log":         func(noted *savedOffsets) { noted.Groups[schemas.GroupUsage][schemas.TopicGatewayUsage][0] = 9 },
	} {
		noted := new(savedOffsets)
		require.NoError(t, json.Unmarshal(text, noted))
		change(noted)
		changed, err := json.Marshal(noted)
		require.NoError(t, err)
		bad := filepath.Join(t.TempDir(), "bad.json")
		require.NoError(t, os.WriteFile(bad, changed, 0o600))
		_, err = runCommand(t, "offsets", "reset", "--from", bad, flag)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "--first")
		require.EqualValues(t, 10, lag(), "nothing was set: %s", want)
	}
	for _, bad := range []string{"", "{", `{"groups": {}, "more": 1}`, strings.Repeat(" ", 1<<20+1)} {
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
		_, err = runCommand(t, "offsets", "reset", "--from", file, flag)
		require.ErrorContains(t, err, "offsets save", fmt.Sprintf("%.20s", bad))
	}
}
