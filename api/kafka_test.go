package api_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/internal/testkit/unknowntest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// TestOnARealBroker: the whole node on internal/kafka: load, live events, lag, requests.
func TestOnARealBroker(t *testing.T) {
	brokers := kafkatest.Start(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	var specs []kafka.TopicSpec
	for _, topic := range schemas.Topics() {
		specs = append(specs, kafka.TopicSpec{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()})
	}
	require.NoError(t, admin.EnsureTopics(t.Context(), specs))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	t.Cleanup(producer.Close)

	produce := func(topic, key string, message proto.Message) {
		value, err := proto.Marshal(message)
		require.NoError(t, err)
		require.NoError(t, producer.Produce(t.Context(), kafka.Record{Topic: topic, Key: []byte(key), Value: value, Headers: []kafka.Header{
			{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, time.Now().UnixMilli(), 10)},
		}}))
	}
	create := func(i int, symbol string) string {
		mint := apitest.Mint(i)
		produce(schemas.TopicTokenEvents, apitest.Address(mint), apitest.Created(mint, uint64(i)))
		produce(schemas.TopicTokenEvents, apitest.Address(mint), apitest.Named(mint, uint64(i), symbol, symbol))
		return apitest.Address(mint)
	}
	first := create(1, "ONE")

	cfg := api.DefaultConfig()
	cfg.Addr = "127.0.0.1:0"
	cfg.RateLimits.Enabled = false
	server, err := api.New(cfg, api.Deps{
		Offsets: admin, Producer: producer,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: topics, Start: start}, kafka.Deps{})
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	<-server.Bound()
	n := (&node{Server: server, t: t}).awaitReady()
	require.Equal(t, "ONE", n.get("/tokens/" + first).decode(t)["symbol"])

	begin := time.Now()
	second := create(2, "TWO")
	require.Eventually(t, func() bool { return n.get("/tokens/" + second).decode(t)["symbol"] == "TWO" }, hang, 5*time.Millisecond)
	t.Logf("visible after %s", time.Since(begin))
	require.Eventually(t, func() bool { return server.Status(t.Context()).Freshness.Count > 0 }, hang, 10*time.Millisecond)

	book := unknowntest.New(t)
	for _, kind := range unknowns.Kinds() {
		book.Note(kind, "7", unknowns.Sighting{Source: "ingest", Slot: 9, Sample: []byte("bytes")})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, book.Run(ended, producer)) // which writes everything at the end
	require.Eventually(t, func() bool { return len(server.Status(t.Context()).Unknowns) == len(unknowns.Kinds()) }, hang, 10*time.Millisecond)
	known, _ := n.get("/status").decode(t)["unknowns"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"7", 1.0, []any{"ingest"}, 9.0}, []any{known["name"], known["count"], known["sources"], known["last_slot"]})

	produce(schemas.TopicSlots, schemas.SourceStatusKey, &eventspb.SourceStatus{Kind: "file", Done: true})
	require.Eventually(t, func() bool {
		p := server.Status(t.Context()).Pipeline
		return p.APILag != nil && *p.APILag == 0 && p.Topics[schemas.TopicSlots].Records == 1
	}, hang, 10*time.Millisecond)
	require.EqualValues(t, 5, *server.Status(t.Context()).Pipeline.ProjectorLag, "nobody projects here")

	require.Equal(t, http.StatusOK, n.do(http.MethodPost, "/tokens/batch", batchOf(500)).StatusCode)
	require.Eventually(t, func() bool {
		lag := server.Status(t.Context()).Pipeline.EnrichLag
		return lag != nil && *lag == 500
	}, hang, 10*time.Millisecond, "the mints not known are asked for, and the documents of the others")
	cancel()
	require.NoError(t, <-done)
}
