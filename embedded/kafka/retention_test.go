package kafka_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
)

// TestARaisedRetentionLeavesTheLogWhole: the next start does not miss records that expired before a
// topic's retention was raised, while no broker ran or while one served.
func TestARaisedRetentionLeavesTheLogWhole(t *testing.T) {
	for _, lowered := range []bool{false, true} {
		t.Run(fmt.Sprint("lowered before: ", lowered), func(t *testing.T) {
			ctx, dir := testContext(t), t.TempDir()
			retain := func(broker *embedded.Broker, hours int) {
				admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
				require.NoError(t, err)
				defer admin.Close()
				require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "raised", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{
					"retention.ms": strconv.Itoa(hours * 3600000), "retention.bytes": "-1", "segment.bytes": "1000",
				}}}))
			}
			config := embedded.Config{DataDir: dir}.WithRetentionInterval(20 * time.Millisecond).WithStateInterval(time.Hour)
			broker, stop := serve(t, config.WithRetentionInterval(time.Hour), embedded.Deps{})
			retain(broker, 10)
			producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
			require.NoError(t, err)
			for n := range 40 {
				written := time.Now()
				if n < 20 {
					written = written.Add(-2 * time.Hour)
				}
				require.NoError(t, producer.Produce(ctx, kafka.Record{Topic: "raised", Value: make([]byte, 100), Time: written}))
			}
			producer.Close()
			if !lowered {
				retain(broker, 1) // what expires now is deleted by the next start
			}
			stop()

			broker, stop = serve(t, config, embedded.Deps{})
			if lowered {
				retain(broker, 1)
			}
			require.Eventually(t, func() bool { return filepath.Base(segmentFiles(t, dir, "raised-0")[0]) != "0.dat" }, time.Minute, 10*time.Millisecond)
			retain(broker, 10)
			stop()
			serve(t, config, embedded.Deps{})
		})
	}
}
