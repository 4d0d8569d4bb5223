package enrich

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	sighted     = eventspb.RequestReason_REQUEST_REASON_SIGHTED
	metadataSet = eventspb.RequestReason_REQUEST_REASON_METADATA_SET
	apiBatch    = eventspb.RequestReason_REQUEST_REASON_API_BATCH
)

func ask(mint pubkey.Key, reason eventspb.RequestReason, slot uint64, uri string) *eventspb.EnrichmentRequest {
	return &eventspb.EnrichmentRequest{Mint: mint[:], Reason: reason, Slot: slot, Uri: []byte(uri)}
}

func kinds(facts []*eventspb.Enrichment) []string {
	var out []string
	for _, fact := range facts {
		out = append(out, factrecord.Kind(fact))
	}
	return out
}

func TestSightedMintGetsAllFacts(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.rpc.putMint(mint, "Lake", "https://meta.test/1.json")
	w.request(t, ask(mint, sighted, 900, ""))
	w.start(t)
	w.drained(t)

	facts := w.facts(t)
	require.Equal(t, []string{"mint_account", "metaplex_account", "offchain"}, kinds(facts))
	for _, fact := range facts {
		require.Equal(t, mint[:], fact.GetMint())
		require.EqualValues(t, 1000, fact.GetSlot())
	}
	require.EqualValues(t, 6, facts[0].GetMintAccount().GetDecimals())
	require.Equal(t, padded("Lake"), string(facts[1].GetMetaplexAccount().GetMetadata().GetName()), "text is as on the chain")
	require.Equal(t, "https://meta.test/1.json", string(facts[2].GetOffchain().GetUri()), "the URI is trimmed as the fold trims it")
	require.Equal(t, map[string]string{"twitter": "https://x.com/lake"}, facts[2].GetOffchain().GetExtensions())
	require.Empty(t, w.deadLetters(t))

	record := w.records(schemas.TopicEnrichments)[2]
	require.Equal(t, mint.String(), string(record.Key))
	headers := map[string]string{}
	for _, header := range record.Headers {
		headers[header.Key] = string(header.Value)
	}
	require.Equal(t, "enrichment.offchain", headers[schemas.HeaderType])
	require.Equal(t, schemas.SchemaVersion, headers[schemas.HeaderSchemaVersion])
	require.Equal(t, "00000000000003e8ffffffffffffffff", headers[schemas.HeaderPosition])
	require.Regexp(t, `^\d{13}$`, headers[schemas.HeaderReceivedAt])
}

func TestMetadataSetNeedsNoRead(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.request(t, ask(mint, metadataSet, 77, "\x00 https://meta.test/1.json\x00\x00"))
	w.start(t)
	w.drained(t)
	facts := w.facts(t)
	require.Equal(t, []string{"offchain"}, kinds(facts))
	require.EqualValues(t, 77, facts[0].GetSlot(), "the slot at which the URI was known to be current")
	require.Zero(t, w.rpc.callCount())
}

func TestMetadataSetWithoutURIReadsAccounts(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.rpc.putMint(mint, "Lake", "https://meta.test/1.json")
	w.request(t, ask(mint, metadataSet, 77, ""))
	w.start(t)
	w.drained(t)
	require.Equal(t, []string{"mint_account", "metaplex_account", "offchain"}, kinds(w.facts(t)))
}

func TestTheNewerURIIsFetched(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.rpc.putMint(mint, "Lake", "https://meta.test/now.json")
	w.request(t, ask(mint, sighted, 900, "https://meta.test/before.json"))
	w.start(t)
	w.drained(t)
	require.Equal(t, 0, w.web.fetched("https://meta.test/before.json"))
	require.Equal(t, 1, w.web.fetched("https://meta.test/now.json"))
}

func TestRepeatedRequestsAreAnsweredOnce(t *testing.T) {
	w := newWorld()
	now := time.Now()
	var mu sync.Mutex
	w.deps.Clock = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	mint, nobody := mintKey(1), mintKey(2)
	w.rpc.putMint(mint, "Lake", "https://meta.test/1.json")
	e, _ := w.start(t)
	for range 40 {
		w.request(t, ask(mint, apiBatch, 0, ""))
		w.request(t, ask(nobody, apiBatch, 0, ""))
	}
	w.drained(t)
	require.Len(t, w.facts(t), 4, "mint, Metaplex, document, and one not-a-mint")
	require.LessOrEqual(t, w.rpc.callCount(), 2)
	require.Equal(t, 39, counted(t, e.metrics.dedup.WithLabelValues(dedupAccounts)))
	require.Equal(t, 39, counted(t, e.metrics.dedup.WithLabelValues(dedupNotAMint)))
	require.Equal(t, 39, counted(t, e.metrics.dedup.WithLabelValues(dedupOffchain))+counted(t, e.metrics.dedup.WithLabelValues(dedupOffchainReplaced)))
	require.Equal(t, 80, counted(t, e.metrics.requests.WithLabelValues("api_batch")))

	// What ingest learned at a later slot is read again, whatever the TTL.
	w.rpc.slot = 2000
	w.request(t, ask(mint, sighted, 1500, ""))
	w.drained(t)
	require.Len(t, w.facts(t), 7)

	// So is everything once the TTL is over.
	mu.Lock()
	now = now.Add(11 * time.Minute)
	mu.Unlock()
	w.request(t, ask(nobody, apiBatch, 0, ""))
	w.drained(t)
	require.Len(t, w.facts(t), 8)
}

func TestPoisonRecordsGoToDeadLetters(t *testing.T) {
	w := newWorld()
	w.raw([]byte("a"), []byte("\xff\xff\xff not protobuf"))
	w.raw([]byte("b"), nil)
	w.request(t, ask(mintKey(1), metadataSet, 1, "https://meta.test/1"))
	value, err := proto.Marshal(&eventspb.EnrichmentRequest{Mint: []byte("short")})
	require.NoError(t, err)
	w.raw([]byte("c"), value)
	w.raw([]byte("d"), bytes.Repeat([]byte{0xff}, 1_040_000))
	w.raw(bytes.Repeat([]byte{0xff}, 1_040_000), []byte{0xff})
	w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 1)
	require.Len(t, w.deadLetters(t), 5)
}

func TestBrokerThatRefusesStopsTheRoom(t *testing.T) {
	for _, call := range []string{"produce", "commit"} {
		w := newWorld()
		w.fail = func(made string) error {
			if made == call {
				return errDisk
			}
			return nil
		}
		w.request(t, ask(mintKey(1), metadataSet, 1, "https://meta.test/1"))
		deps := Deps{Consumer: w.member(), Producer: w.broker, RPC: w.rpc, Fetcher: w.web}
		e, err := New(w.cfg, deps)
		require.NoError(t, err)
		require.ErrorIs(t, e.Run(context.Background()), errDisk)
		require.Equal(t, 1, w.lag(), "nothing is committed")
	}
}

func TestStopCommitsWhatIsAnswered(t *testing.T) {
	w := newWorld()
	w.cfg.commitInterval = time.Hour
	for i := range 20 {
		w.request(t, ask(mintKey(i), metadataSet, 1, "https://meta.test/1"))
	}
	_, stop := w.start(t)
	require.Eventually(t, func() bool { return len(w.facts(t)) == 20 }, hang, time.Millisecond)
	require.NoError(t, stop())
	require.Zero(t, w.lag())
}

func TestStopInTheMiddleOfACommitForgetsNothing(t *testing.T) {
	w := newWorld()
	w.request(t, ask(mintKey(1), metadataSet, 1, "https://meta.test/1"))
	deps := Deps{Consumer: &stuckCommit{member: w.member(), entered: make(chan struct{})}, Producer: w.broker, Fetcher: w.web}
	e, err := New(w.cfg, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	<-deps.Consumer.(*stuckCommit).entered
	cancel()
	require.NoError(t, <-done)
	require.Zero(t, w.lag())
}

// stuckCommit holds the first commit until its context ends.
type stuckCommit struct {
	*member
	once    sync.Once
	entered chan struct{}
}

func (s *stuckCommit) Commit(ctx context.Context, records []kafka.Record) error {
	first := false
	s.once.Do(func() { first = true })
	if first {
		close(s.entered)
		<-ctx.Done()
		return ctx.Err()
	}
	return s.member.Commit(ctx, records)
}

func TestReplayGivesEqualFacts(t *testing.T) {
	var runs [2][]string
	for run := range runs {
		w := newWorld()
		w.web.serve = func(context.Context, string) ([]byte, error) {
			return []byte(`{"extensions":{"a":"1","b":"2","c":"3","d":"4"},"tags":["x","y"]}`), nil
		}
		w.rpc.putMint(mintKey(1), "Lake", "https://meta.test/1")
		w.request(t, ask(mintKey(1), sighted, 1, ""))
		w.start(t)
		w.drained(t)
		for _, record := range w.records(schemas.TopicEnrichments) {
			runs[run] = append(runs[run], string(record.Value))
		}
	}
	require.Equal(t, runs[0], runs[1])
}

func TestNewTellsAllProblems(t *testing.T) {
	_, err := New(Config{OffchainEnabled: true, batchMints: 51, patience: -1}, Deps{})
	for _, part := range []string{"batch_mints", "patience", "consumer", "fetcher"} {
		require.ErrorContains(t, err, part)
	}
	_, err = New(DefaultConfig(), Deps{Consumer: newBroker().member(), Producer: newBroker(), Fetcher: newWeb()})
	require.NoError(t, err)
}
