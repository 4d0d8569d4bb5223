package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// BenchmarkSurfaces prints what a request costs enrich, a gateway and a swap API in processor
// seconds of their own processes, for docs/sizing.md. The chain that they ask is the test's.
func BenchmarkSurfaces(b *testing.B) {
	for range b.N {
		fmt.Printf("\n%s, %s, %d cores\n\n| | done | processor seconds a million |\n|---|---|---|\n", machine(), time.Now().Format(time.DateOnly), runtime.NumCPU())
		node := startDemo(b, demo.Config{Seed: 9, TPS: 500, Tokens: 5_000, StartSlot: 400_000_000, SlotTime: 400 * time.Millisecond})
		mints := mintsOf(node)
		require.Greater(b, len(mints), 2_000)
		benchEnrich(b, node, mints)
		benchGateway(b, node, mints)
		benchQuotes(b)
		b.ReportMetric(0, "ns/op")
	}
}

// cost prints what a process took for so many of something.
func cost(what string, count int64, seconds float64) {
	fmt.Printf("| %s | %d | %.1f |\n", what, count, seconds/float64(count)*1e6)
}

// settle waits until a process that has started does nothing more, and returns what it took.
func (i *instance) settle() float64 {
	i.t.Helper()
	i.awaitUp()
	for before := i.processorSeconds(); ; {
		time.Sleep(2 * time.Second)
		now := i.processorSeconds()
		if now-before < 0.1 {
			return now
		}
		before = now
	}
}

// mintsOf are the mints of the chain.
func mintsOf(node *demo.Node) (mints []pubkey.Key) {
	owner := pubkey.MustParse(schemas.ProgramToken)
	found, _ := node.Ledger().Program(owner, ledger.Confirmed, func(_ chain.Key, a *chain.Account) bool { return len(a.Data) == 82 })
	for _, account := range found {
		mints = append(mints, account.Key)
	}
	return mints
}

// benchEnrich lets enrich answer a backlog, first without documents, then with them.
func benchEnrich(b *testing.B, node *demo.Node, mints []pubkey.Key) {
	for _, documents := range []bool{false, true} {
		brokers := kafkatest.Start(b)
		enrich := beginCommand(b, "enrich", b.TempDir(), "--kafka-brokers", strings.Join(brokers, ","), "--rpc-upstream", node.RPCURL(),
			fmt.Sprintf("--enrich-offchain=%t", documents), "--enrich-allow-private", node.RPCAddr())
		before := enrich.settle()
		enrich.addresses["kafka"] = strings.Join(brokers, ",")
		var requests []kafka.Record
		for _, mint := range mints {
			value, err := proto.Marshal(&eventspb.EnrichmentRequest{Mint: mint[:], Reason: eventspb.RequestReason_REQUEST_REASON_SIGHTED})
			require.NoError(b, err)
			requests = append(requests, kafka.Record{Topic: schemas.TopicEnrichmentRequests, Key: []byte(mint.String()), Value: value})
		}
		enrich.produce(requests...)
		enrich.awaitGroup(schemas.GroupEnrich, schemas.TopicEnrichmentRequests)
		name := "enrich: mint read"
		if documents {
			name = fmt.Sprintf("enrich: mint read, with its document (%.0f fetched) and logo", enrich.metric(`mintlake_enrich_fetches_total`))
		}
		cost(name, int64(len(mints)), enrich.processorSeconds()-before)
		require.Zero(b, enrich.stop())
	}
}

// awaitGroup waits until a group has read its topics to their end.
func (i *instance) awaitGroup(group string, topics ...string) {
	i.t.Helper()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: i.brokers()}, kafka.Deps{})
	require.NoError(i.t, err)
	defer admin.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 6*hang)
	defer cancel()
	for {
		lag, err := admin.Lag(ctx, group, topics)
		require.NoError(i.t, err, i.log())
		if lag == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// benchGateway lets a gateway read a stream that nobody wants, and hand calls on.
func benchGateway(b *testing.B, node *demo.Node, mints []pubkey.Key) {
	brokers := strings.Join(kafkatest.Start(b), ",")
	gateway := beginCommand(b, "gateway", b.TempDir(), "--kafka-brokers", brokers, "--rpc-upstream", node.RPCURL(), "--rate-limits-enabled=false")
	before := gateway.settle()
	ingest := beginCommand(b, "ingest", b.TempDir(), "--kafka-brokers", brokers, "--source", "file:"+demoBlocks(b))
	ingest.awaitUp()
	require.Eventually(b, func() bool {
		return strings.Contains(ingest.log(), `msg="source is done"`) && ingest.metric("mintlake_ingest_stream_spill_bytes") == 0
	}, 6*hang, 100*time.Millisecond)
	require.Zero(b, ingest.stop())
	records := recordsIn(b, brokers, schemas.TopicTransactions)
	// That of keys has none, that of the chain's identity one.
	require.Eventually(b, func() bool { return gateway.metric("mintlake_kafka_fetched_records_total") >= float64(records) }, 6*hang, 100*time.Millisecond)
	used := gateway.settle()
	cost("gateway: transaction of the stream, no clients", records, used-before)

	before = used
	calls := concurrently(b, 20_000, func(n int) {
		body := `{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["` + mints[n%len(mints)].String() + `",{"encoding":"base64"}]}`
		status, text := send(context.Background(), http.MethodPost, gateway.addresses["rpc"], body)
		require.Equal(b, http.StatusOK, status, "%s", text)
	})
	cost("gateway: call", calls, gateway.processorSeconds()-before)
	require.Zero(b, gateway.stop())
}

// concurrently does something so often, eight at a time.
func concurrently(b *testing.B, count int, do func(n int)) int64 {
	b.Helper()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for n := int(next.Add(1)); n <= count && !b.Failed(); n = int(next.Add(1)) {
				do(n)
			}
		})
	}
	workers.Wait()
	require.False(b, b.Failed())
	return int64(count)
}

// benchQuotes asks a swap API that holds the pools of a running chain for quotes with transactions.
func benchQuotes(b *testing.B) {
	node := startDemo(b, demo.Config{Seed: 18, TPS: 50, Tokens: 200, StartSlot: 400_000_000, SlotTime: 400 * time.Millisecond})
	swap := beginCommand(b, "swap", b.TempDir(), "--kafka-brokers", strings.Join(kafkatest.Start(b), ","), "--rpc-upstream", node.RPCURL(),
		"--source", "geyser+http://"+node.GeyserAddr(), "--rate-limits-enabled=false")
	swap.awaitUp()
	enough := goOnEvery(b, node, 400*time.Millisecond)
	s := &swapper{up: &instance{t: b, addresses: map[string]string{"rpc": node.RPCURL(), "swap": swap.addresses["swap"]}}, user: pubkey.Key{1, 2, 3}.String()}
	pooled := s.pooledMints(b)
	_, err := s.quote(solMint, pooled[0], 10_000_000)
	require.NoError(b, err)

	before, began := swap.processorSeconds(), time.Now()
	time.Sleep(20 * time.Second)
	idle := (swap.processorSeconds() - before) / time.Since(began).Seconds()
	random := rand.New(rand.NewPCG(18, 0))
	pairs := make([][2]string, 4_000)
	for n := range pairs {
		at := random.IntN(len(pooled))
		pairs[n] = [2]string{solMint, pooled[at]}
		if n%2 == 0 { // over two pools
			pairs[n][0] = pooled[(at+1+random.IntN(len(pooled)-1))%len(pooled)]
		}
	}
	var routes atomic.Int64
	before, began = swap.processorSeconds(), time.Now()
	quotes := concurrently(b, len(pairs), func(n int) {
		q, err := s.quote(pairs[n-1][0], pairs[n-1][1], 10_000_000)
		require.NoError(b, err)
		if q != nil {
			routes.Add(1)
		}
	})
	used, took := swap.processorSeconds()-before, time.Since(began).Seconds()
	cost(fmt.Sprintf("swap: quote (%d with a route)", routes.Load()), quotes, max(0, used-idle*took))
	fmt.Printf("\nswap holds %d pooled mints of a chain of 50 transactions a second for %.1f %% of a processor\n", len(pooled), 100*idle)
	enough()
	require.Zero(b, swap.stop())
}
