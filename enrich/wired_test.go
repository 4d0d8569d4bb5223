package enrich

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// serveRPC is a JSON-RPC server that knows getMultipleAccounts.
func serveRPC(t *testing.T, l *ledger) string {
	t.Helper()
	server := httptest.NewServer(&jsonrpc.Handler{Methods: map[string]jsonrpc.Method{
		"getMultipleAccounts": jsonrpc.MultipleAccounts(func(keys []pubkey.Key, part *jsonrpc.DataSlice) (uint64, []*jsonrpc.Account) {
			slot, found, _ := l.GetMultipleAccounts(t.Context(), keys, solana.AccountOptions{})
			accounts := make([]*jsonrpc.Account, len(found))
			for i, account := range found {
				if account != nil {
					accounts[i] = jsonrpc.AccountOf(account.Owner, 1, account.Data, part)
				}
			}
			return slot, accounts
		}),
	}})
	t.Cleanup(server.Close)
	return server.URL
}

// The room with its real collaborators: a Kafka broker, the JSON-RPC client, the fetcher. Two
// lives, and nothing is answered twice that was committed in the first.
func TestWiredToKafkaAndHTTP(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*hang)
	defer cancel()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	var specs []kafka.TopicSpec
	for _, topic := range schemas.Topics() {
		specs = append(specs, kafka.TopicSpec{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()})
	}
	require.NoError(t, admin.EnsureTopics(ctx, specs))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()

	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"name":"Lake","image":"https://img.test/1.png"}`)
	}))
	defer pages.Close()
	accounts := newLedger()
	rpc, err := solana.NewClient(solana.Config{Endpoints: []string{serveRPC(t, accounts)}}, solana.Deps{})
	require.NoError(t, err)
	fetcher, err := fetch.New(fetch.Config{AllowPrivate: []string{pages.Listener.Addr().String()}}, fetch.Deps{})
	require.NoError(t, err)

	live := func(from, to int) {
		for i := from; i < to; i++ {
			accounts.putMint(mintKey(i), "Lake", fmt.Sprintf("%s/%d", pages.URL, i))
			value, err := proto.Marshal(ask(mintKey(i), sighted, 1, ""))
			require.NoError(t, err)
			require.NoError(t, producer.Produce(ctx, kafka.Record{
				Topic: schemas.TopicEnrichmentRequests, Key: []byte(mintKey(i).String()), Value: value,
			}))
		}
		consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{
			Brokers: brokers, Group: schemas.GroupEnrich, Topics: []string{schemas.TopicEnrichmentRequests},
		}, kafka.Deps{})
		require.NoError(t, err)
		defer consumer.Close()
		cfg := DefaultConfig()
		cfg.patience, cfg.grace = 2*hang, hang
		e, err := New(cfg, Deps{Consumer: consumer, Producer: producer, RPC: rpc, Fetcher: fetcher})
		require.NoError(t, err)
		running, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- e.Run(running) }()
		require.Eventually(t, func() bool {
			return counted(t, e.metrics.facts.WithLabelValues("offchain")) >= to-from
		}, hang, 5*time.Millisecond)
		stop()
		require.NoError(t, <-done)
		require.Equal(t, to-from, counted(t, e.metrics.facts.WithLabelValues("mint_account")), "exactly those of this life")
	}
	live(0, 60)
	live(60, 100)

	facts := readFacts(ctx, t, brokers, 300)
	require.Len(t, facts, 300)
	for i := range 100 {
		mint := mintKey(i)
		require.EqualValues(t, 6, facts[string(mint[:])+"mint_account"].GetMintAccount().GetDecimals())
		require.Equal(t, "https://img.test/1.png", facts[string(mint[:])+"offchain"].GetOffchain().GetImage())
	}
}

func readFacts(ctx context.Context, t *testing.T, brokers []string, count int) map[string]*eventspb.Enrichment {
	t.Helper()
	reader, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{
		Brokers: brokers, Group: "a-test", Topics: []string{schemas.TopicEnrichments},
	}, kafka.Deps{})
	require.NoError(t, err)
	defer reader.Close()
	facts := map[string]*eventspb.Enrichment{}
	for read := 0; read < count; {
		records, err := reader.FetchBatch(ctx, 1000, 10*time.Millisecond)
		require.NoError(t, err)
		for _, record := range records {
			fact := &eventspb.Enrichment{}
			require.NoError(t, proto.Unmarshal(record.Value, fact))
			require.Equal(t, pubkey.Key(fact.GetMint()).String(), string(record.Key))
			facts[string(fact.GetMint())+factrecord.Kind(fact)] = fact
		}
		read += len(records)
	}
	return facts
}
