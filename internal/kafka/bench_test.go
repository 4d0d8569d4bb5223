package kafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

const benchBatch = 10_000

func benchTopic(b *testing.B) ([]string, *kafka.Producer) {
	b.Helper()
	brokers := kafkatest.Start(b)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(admin.Close)
	err = admin.EnsureTopics(context.Background(), []kafka.TopicSpec{{Name: "bench", Partitions: 4, ReplicationFactor: 1, Config: forever}})
	if err != nil {
		b.Fatal(err)
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(producer.Close)
	return brokers, producer
}

func benchRecords() []kafka.Record {
	records := make([]kafka.Record, benchBatch)
	for i := range records {
		records[i] = kafka.Record{Topic: "bench", Key: fmt.Appendf(nil, "mint-%d", i%997), Value: make([]byte, 250), Headers: []kafka.Header{{Key: "type", Value: []byte("mint_to")}}}
	}
	return records
}

// BenchmarkProduce: calls of 10,000 records of about 300 bytes, four partitions, one caller.
func BenchmarkProduce(b *testing.B) {
	_, producer := benchTopic(b)
	records := benchRecords()
	for b.Loop() {
		if err := producer.Produce(context.Background(), records...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*benchBatch)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkProduceOne: one record a call, the latency that an interactive caller feels.
func BenchmarkProduceOne(b *testing.B) {
	_, producer := benchTopic(b)
	record := benchRecords()[0]
	for b.Loop() {
		if err := producer.Produce(context.Background(), record); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConsume: 500,000 records of about 300 bytes from four partitions, batches of up to
// 5,000.
func BenchmarkConsume(b *testing.B) {
	brokers, producer := benchTopic(b)
	records := benchRecords()
	for range 50 {
		if err := producer.Produce(context.Background(), records...); err != nil {
			b.Fatal(err)
		}
	}
	read, elapsed := 0, time.Duration(0)
	for b.Loop() {
		tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: []string{"bench"}}, kafka.Deps{})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		for n := 0; n < 50*benchBatch; {
			batch, err := tailer.FetchBatch(context.Background(), 5000, time.Millisecond)
			if err != nil {
				b.Fatal(err)
			}
			n += len(batch)
			read += len(batch)
		}
		elapsed += time.Since(start)
		tailer.Close()
	}
	b.ReportMetric(float64(read)/elapsed.Seconds(), "records/s")
}
