package documents_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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
	mu      sync.Mutex
	tokens  []documents.Wanted
	waiting int64
	asked   []string
	fail    error
}

func newWorld(classes ...uint8) *world {
	w := &world{}
	for i, class := range classes {
		mint := mintOf(i)
		w.tokens = append(w.tokens, documents.Wanted{Class: class, Mint: mint, URI: "https://x.example/" + mint.String(), Slot: uint64(i)})
	}
	slices.SortFunc(w.tokens, func(a, b documents.Wanted) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), pubkey.Compare(a.Mint, b.Mint))
	})
	return w
}

func mintOf(n int) pubkey.Key { return pubkey.Key(registrytest.Mint(n + 1)) }

func (w *world) Wanted(_ context.Context, after documents.Cursor, limit int) ([]documents.Wanted, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	start := slices.IndexFunc(w.tokens, func(t documents.Wanted) bool {
		return t.Class > after.Class || t.Class == after.Class && t.Mint.String() > after.Mint
	})
	if start < 0 {
		return nil, nil
	}
	return w.tokens[start:min(start+limit, len(w.tokens))], nil
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
		request := new(eventspb.EnrichmentRequest)
		if err := proto.Unmarshal(record.Value, request); err != nil || record.Topic != schemas.TopicEnrichmentRequests ||
			string(request.GetUri()) != "https://x.example/"+string(record.Key) {
			return errors.Join(errors.New("no request"), err)
		}
		w.asked = append(w.asked, string(record.Key))
	}
	return nil
}

func (w *world) Waiting(context.Context) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting, nil
}

// run asks for so long.
func (w *world) run(t *testing.T, state string, duration time.Duration) {
	t.Helper()
	asker, err := documents.New(documents.Config{PerMinute: 60, StateFile: state}.WithPage(3, time.Hour), documents.Deps{
		Source: w, Producer: w, Waiting: w.Waiting, Logger: slog.New(slog.DiscardHandler),
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
		w.run(t, state, 3500*time.Millisecond)
		require.Equal(t, w.order()[:3], w.asked, "one a second")
		w.run(t, state, 30*time.Minute)
		require.Equal(t, w.order(), w.asked, "it goes on where it stopped, to the end")
		w.run(t, state, 2*time.Hour)
		require.Greater(t, len(w.asked), 2*len(w.tokens)-1, "and begins anew later")
	})
}

func TestWaitsWhileOthersAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, state := newWorld(0, 0), filepath.Join(t.TempDir(), "documents.json")
		w.waiting = 101
		w.run(t, state, time.Hour)
		require.Empty(t, w.asked)
		w.waiting = 0
		w.run(t, state, time.Minute)
		require.Len(t, w.asked, 2)
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
		w.run(t, filepath.Join(t.TempDir(), "documents.json"), 11*time.Minute)
		require.Len(t, w.asked, 2)
	})
}

func TestGoesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(0, 1, 2)
		w.fail = errors.New("away")
		w.run(t, filepath.Join(t.TempDir(), "documents.json"), 6*time.Minute)
		require.Equal(t, w.order(), w.asked)
	})
}

// TestWhatIsWanted: members with a URI and without a document, those that something happened to
// before the others.
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
	read(4, "https://x.example/4")
	batch.AddEvent(&eventspb.TokenEvent{Mint: registrytest.Mint(4), Position: &eventspb.Position{Slot: 11}, BlockTime: 1_700_000_000,
		Payload: &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: 1}}})
	require.NoError(t, projector.NewClickHouse(conn, schema.Database).Write(t.Context(), batch))

	source := documents.NewClickHouse(conn, schema.Database)
	all, err := source.Wanted(t.Context(), documents.Cursor{}, 10)
	require.NoError(t, err)
	require.Equal(t, []documents.Wanted{
		{Class: 1, Mint: mintOf(3), URI: "https://x.example/4", Slot: 9},
		{Class: 2, Mint: mintOf(0), URI: "https://x.example/1", Slot: 9},
	}, all)
	rest, err := source.Wanted(t.Context(), all[0].Cursor(), 10)
	require.NoError(t, err)
	require.Equal(t, all[1:], rest)
}
