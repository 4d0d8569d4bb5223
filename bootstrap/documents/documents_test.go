package documents_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/documents"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// world has some tokens, and remembers what was asked for, in order.
type world struct {
	mu     sync.Mutex
	tokens []documents.Wanted
	asked  []string
	fail   error
	told   *eventspb.DocumentWalk
	// mute are hosts whose requests nobody answers.
	mute    map[string]bool
	waiting int64
	answers []kafka.Record
}

// newWorld has tokens of these classes, all of one host.
func newWorld(classes ...uint8) *world {
	w := &world{waiting: 1}
	for i, class := range classes {
		w.add("x.example", i, class)
	}
	return w
}

func (w *world) add(host string, n int, class uint8) {
	mint := mintOf(n)
	w.tokens = append(w.tokens, documents.Wanted{Host: host, Class: class, Mint: mint, URI: "https://" + host + "/" + mint.String(), Slot: uint64(n)})
	slices.SortFunc(w.tokens, func(a, b documents.Wanted) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), pubkey.Compare(a.Mint, b.Mint))
	})
}

func mintOf(n int) pubkey.Key { return pubkey.Key(registrytest.Mint(n + 1)) }

func (w *world) Count(context.Context) (counts []documents.Count, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hosts := map[string]int64{}
	for _, token := range w.tokens {
		hosts[token.Host]++
	}
	for host, n := range hosts {
		counts = append(counts, documents.Count{Host: host, Tokens: n})
	}
	return counts, nil
}

func (w *world) Wanted(_ context.Context, hosts []string, places []documents.Place, limit, total int) (list []documents.Wanted, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, place := range places {
		if !slices.Contains(hosts, place.Host) {
			return nil, errors.New("a place of no host")
		}
		n := 0
		for _, token := range w.tokens {
			if token.Host == place.Host && token.Class == place.After.Class && token.Mint.String() > place.After.Mint && n < limit && len(list) < total {
				list = append(list, token)
				n++
			}
		}
	}
	return list, nil
}

func (w *world) Produce(_ context.Context, records ...kafka.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		err := w.fail
		w.fail = nil
		return err
	}
	for _, record := range records {
		if record.Topic == schemas.TopicIdentity {
			w.told = new(eventspb.DocumentWalk)
			return proto.Unmarshal(record.Value, w.told)
		}
		request := new(eventspb.EnrichmentRequest)
		if err := proto.Unmarshal(record.Value, request); err != nil || record.Topic != schemas.TopicEnrichmentRequests ||
			request.GetReason() != eventspb.RequestReason_REQUEST_REASON_DOCUMENT_WALK {
			return errors.Join(errors.New("no request"), err)
		}
		host, mint, _ := strings.Cut(strings.TrimPrefix(string(request.GetUri()), "https://"), "/")
		if mint != string(record.Key) {
			return errors.New("not the mint of the URI")
		}
		w.asked = append(w.asked, mint)
		if !w.mute[host] {
			w.answers = append(w.answers, kafka.Record{Key: record.Key, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte("enrichment.offchain")}}})
		}
	}
	return nil
}

func (w *world) Waiting(context.Context) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting, nil
}

func (w *world) Close() {}

// FetchBatch reads the answers.
func (w *world) FetchBatch(ctx context.Context, _ int, wait time.Duration) ([]kafka.Record, error) {
	time.Sleep(wait)
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.answers
	w.answers = nil
	return list, ctx.Err()
}

// run asks for so long.
func (w *world) run(t *testing.T, perMinute int, state string, duration time.Duration) {
	t.Helper()
	asker, err := documents.New(documents.Config{PerMinute: perMinute, StateFile: state}.WithPage(3, time.Hour), documents.Deps{
		Source: w, Producer: w, Waiting: w.Waiting, Logger: slog.New(slog.DiscardHandler),
		OpenTail: func(context.Context) (kafka.TailReader, error) { return w, nil },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	require.NoError(t, asker.Run(ctx))
}

func (w *world) order() []string {
	var mints []string
	for _, token := range w.tokens {
		mints = append(mints, token.Mint.String())
	}
	return mints
}

func TestAsksInOrderAndNoFasterThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, state := newWorld(2, 0, 1, 2, 0, 1, 2), filepath.Join(t.TempDir(), "documents.json")
		w.run(t, 60, state, 3500*time.Millisecond)
		require.LessOrEqual(t, len(w.asked), 3, "one a second")
		w.run(t, 60, state, 30*time.Minute)
		require.Equal(t, w.order(), w.asked, "it goes on where it stopped, to the end")
		w.run(t, 60, state, 2*time.Hour)
		require.Greater(t, len(w.asked), 2*len(w.tokens)-1, "and begins anew later")
	})
}

// TestAHostThatDoesNotAnswerKeepsNoOtherWaiting: a bounded number of requests waits for it, until
// they are given up.
func TestAHostThatDoesNotAnswerKeepsNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.mute = map[string]bool{"mute.example": true}
		for i := range 120 {
			w.add("mute.example", i, 0)
			w.add("x.example", 120+i, 2)
		}
		asked := func(host string) (n int) {
			for _, token := range w.tokens {
				if token.Host == host && slices.Contains(w.asked, token.Mint.String()) {
					n++
				}
			}
			return n
		}
		state := filepath.Join(t.TempDir(), "documents.json")
		w.run(t, 60_000, state, 9*time.Minute+30*time.Second)
		require.Equal(t, 120, asked("x.example"))
		first := asked("mute.example")
		require.LessOrEqual(t, first, 64)
		require.EqualValues(t, 120, w.told.GetLeft())
		require.EqualValues(t, 1, w.told.GetHosts())
		require.Zero(t, w.told.GetLeftSeconds(), "not known")
		w.run(t, 60_000, state, 15*time.Minute)
		require.Greater(t, asked("mute.example"), first)
		w.waiting = 0 // no request waits: all were answered, by what was known
		w.run(t, 60_000, state, 15*time.Minute)
		require.Equal(t, 120, asked("mute.example"))
	})
}

func TestLooksAgainSoonWhileThereIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		time.AfterFunc(7*time.Minute, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.tokens = newWorld(0, 1).tokens // somebody bootstrapped
		})
		w.run(t, 60, filepath.Join(t.TempDir(), "documents.json"), 11*time.Minute)
		require.Len(t, w.asked, 2)
	})
}

func TestGoesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(0, 1, 2)
		w.fail = errors.New("away")
		w.run(t, 60, filepath.Join(t.TempDir(), "documents.json"), 6*time.Minute)
		require.Len(t, w.asked, 2, "the next walk asks for what was not written")
	})
}

// TestWhatIsWanted: members with a URI and without a document, by host, those that something
// happened to in a class before the others.
func TestWhatIsWanted(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	program := pubkey.MustParse(schemas.ProgramToken)
	batch := &projector.Batch{}
	read := func(n int, uri string) {
		batch.AddEnrichment(&eventspb.Enrichment{Mint: registrytest.Mint(n), Slot: 7, Fact: &eventspb.Enrichment_MintAccount{
			MintAccount: &eventspb.MintAccount{ProgramId: program[:], Decimals: 6, Supply: 100},
		}})
		if uri != "" {
			batch.AddEnrichment(&eventspb.Enrichment{Mint: registrytest.Mint(n), Slot: 9, Fact: &eventspb.Enrichment_MetaplexAccount{
				MetaplexAccount: &eventspb.MetaplexAccount{Metadata: &eventspb.MetadataSet{Uri: []byte(uri)}},
			}})
		}
	}
	read(1, "https://x.example/1")
	read(2, "")
	read(3, "https://x.example/3")
	batch.AddEnrichment(&eventspb.Enrichment{Mint: registrytest.Mint(3), Slot: 9, Fact: &eventspb.Enrichment_Offchain{
		Offchain: &eventspb.OffchainMetadata{Uri: []byte("https://x.example/3")},
	}})
	read(5, "ipfs://bafy/5")
	read(6, "https://under_score.test/6")
	read(4, "https://X.example:8080/4")
	batch.AddEvent(&eventspb.TokenEvent{Mint: registrytest.Mint(4), Position: &eventspb.Position{Slot: 11}, BlockTime: 1_700_000_000,
		Payload: &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: 1}}})
	require.NoError(t, projector.NewClickHouse(conn, schema.Database).Write(t.Context(), batch))

	source := documents.NewClickHouse(conn, schema.Database)
	counts, err := source.Count(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []documents.Count{{Host: "x.example", Tokens: 1}, {Host: "x.example:8080", Tokens: 1}, {Host: "ipfs", Tokens: 1}, {Host: "", Tokens: 1}}, counts)
	hosts := []string{"x.example", "x.example:8080", "ipfs", ""}
	all, err := source.Wanted(t.Context(), hosts, []documents.Place{
		{Host: "x.example:8080", After: documents.Cursor{Class: 1}}, {Host: "x.example", After: documents.Cursor{Class: 2}},
		{Host: "ipfs", After: documents.Cursor{Class: 2}}, {Host: "", After: documents.Cursor{Class: 2}},
	}, 10, 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []documents.Wanted{
		{Host: "x.example:8080", Class: 1, Mint: mintOf(3), URI: "https://X.example:8080/4", Slot: 9},
		{Host: "x.example", Class: 2, Mint: mintOf(0), URI: "https://x.example/1", Slot: 9},
		{Host: "ipfs", Class: 2, Mint: mintOf(4), URI: "ipfs://bafy/5", Slot: 9},
		{Host: "", Class: 2, Mint: mintOf(5), URI: "https://under_score.test/6", Slot: 9},
	}, all)
	none, err := source.Wanted(t.Context(), hosts, []documents.Place{
		{Host: "x.example", After: documents.Cursor{Class: 2, Mint: mintOf(0).String()}}, {Host: "x.example:8080", After: documents.Cursor{Class: 2}},
	}, 10, 10)
	require.NoError(t, err)
	require.Empty(t, none)
	others, err := source.Wanted(t.Context(), []string{"x.example", ""}, []documents.Place{{Host: "", After: documents.Cursor{Class: 2}}}, 1, 10)
	require.NoError(t, err)
	require.Len(t, others, 1, "the tokens of hosts without a place of their own are those of one")
}
