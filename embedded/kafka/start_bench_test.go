package kafka_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// BenchmarkLargeLog fills a broker of its own process with records of 300 bytes in four partitions,
// kills it and starts it again. MINTLAKE_BENCH_RECORDS sets how many, 1,000,000 unless set, and
// MINTLAKE_BENCH_BATCH how many one write has, 1,000 unless set. The figures of memory are of the
// broker's process: after filling, at most while it starts, and when it answers after that.
func BenchmarkLargeLog(b *testing.B) {
	count, batch := numberOf(b, "MINTLAKE_BENCH_RECORDS", 1_000_000), numberOf(b, "MINTLAKE_BENCH_BATCH", 1000)
	for b.Loop() {
		broker := kafkatest.StartBroker(b)
		fill(b, broker, count, batch)
		full := memoryOf(b, broker, "VmRSS")
		time.Sleep(6 * time.Second) // the state is noted every 5 s
		broker.Kill()
		began := time.Now()
		broker.Start()
		b.ReportMetric(time.Since(began).Seconds(), "s/start")
		peak := memoryOf(b, broker, "VmHWM")
		b.ReportMetric(full/(1<<20), "MiB/filled")
		b.ReportMetric(peak/(1<<20), "MiB/start-peak")
		b.ReportMetric(memoryOf(b, broker, "VmRSS")/(1<<20), "MiB/started")
		b.ReportMetric(peak/float64(count), "bytes/record")
	}
}

func numberOf(b *testing.B, name string, number int) int {
	b.Helper()
	if text := os.Getenv(name); text != "" {
		var err error
		number, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	return number
}

func fill(b *testing.B, broker *kafkatest.Broker, count, batch int) {
	b.Helper()
	ctx := b.Context()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: broker.Brokers()}, kafka.Deps{})
	require.NoError(b, err)
	defer admin.Close()
	require.NoError(b, admin.EnsureTopics(ctx, []kafka.TopicSpec{
		{Name: "large", Partitions: 4, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}},
	}))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: broker.Brokers()}, kafka.Deps{})
	require.NoError(b, err)
	defer producer.Close()
	value := bytes.Repeat([]byte("mintlake"), 37)
	records := make([]kafka.Record, batch)
	for done := 0; done < count; done += batch {
		for i := range records {
			records[i] = kafka.Record{Topic: "large", Key: fmt.Append(nil, done+i), Value: value}
		}
		require.NoError(b, producer.Produce(ctx, records...))
	}
}

// memoryOf returns a figure of the broker's process in bytes: VmRSS is what is resident, VmHWM the
// most that ever was.
func memoryOf(b *testing.B, broker *kafkatest.Broker, figure string) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", broker.Process()))
	require.NoError(b, err)
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == figure+":" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			require.NoError(b, err)
			return kib * 1024
		}
	}
	b.Fatalf("no %s", figure)
	return 0
}
