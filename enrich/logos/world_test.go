package logos

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/logos/picture"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// world is a topic, a web and a clock.
type world struct {
	*topic
	mu     sync.Mutex
	at     time.Time
	loads  map[string]int
	serve  func(request imageload.Request) (*imageload.Image, error)
	cfg    Config
	slot   uint64
	mints  map[string]pubkey.Key
	latest *Machine
}

func newWorld() *world {
	return &world{
		topic: newTopic(), at: time.UnixMilli(1_700_000_000_000), loads: map[string]int{}, mints: map[string]pubkey.Key{},
		cfg:   Config{attemptDelay: time.Millisecond, Workers: 8},
		serve: func(imageload.Request) (*imageload.Image, error) { return good("x"), nil },
	}
}

func good(content string) *imageload.Image {
	hash := uint64(len(content))
	return &imageload.Image{
		Key: sha256.Sum256([]byte(content)), Size: len(content), ETag: `"` + content + `"`,
		Info: picture.Info{Type: picture.PNG, Width: 64, Height: 64, PerceptualHash: &hash},
	}
}

func fails(class fetch.Class) (*imageload.Image, error) { return nil, &fetch.Error{Class: class} }

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// pass moves the clock.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	w.at = w.at.Add(d)
	latest := w.latest
	w.mu.Unlock()
	if latest != nil {
		latest.awaken()
	}
}

func (w *world) Load(_ context.Context, request imageload.Request) (*imageload.Image, error) {
	w.mu.Lock()
	w.loads[request.URL]++
	serve := w.serve
	w.mu.Unlock()
	return serve(request)
}

func (w *world) loaded(url string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loads[url]
}

func (w *world) mint(name string) pubkey.Key { return sha256.Sum256([]byte(name)) }

func (w *world) write(t testing.TB, enrichment *eventspb.Enrichment) {
	t.Helper()
	value, err := proto.Marshal(enrichment)
	require.NoError(t, err)
	require.NoError(t, w.Produce(context.Background(), kafka.Record{Topic: schemas.TopicEnrichments, Value: value}))
}

// document says that a mint's image is at url, one slot later than the last.
func (w *world) document(t testing.TB, name, url string) {
	t.Helper()
	mint := w.mint(name)
	w.slot++
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Slot: w.slot, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{
		Metadata: &eventspb.MetadataSet{MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Uri: []byte("u")},
	}}})
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Slot: w.slot, Fact: &eventspb.Enrichment_Offchain{
		Offchain: &eventspb.OffchainMetadata{Uri: []byte("u"), Image: url},
	}})
}

func (w *world) override(t testing.TB, name string, decision *eventspb.LogoOverride) {
	t.Helper()
	mint := w.mint(name)
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_LogoOverride{LogoOverride: decision}})
}

// start runs a machine; stop returns what Run returned.
func (w *world) start(t testing.TB) (stop func() error) {
	t.Helper()
	m, err := New(w.cfg, Deps{
		Offsets: w.topic, OpenTail: func() (kafka.TailReader, error) { return &reader{t: w.topic}, nil }, Producer: w.topic, Loader: w,
		Host: hostOf, Groups: groupsOf, Registerer: prometheus.NewRegistry(), Now: w.now,
	})
	require.NoError(t, err)
	w.mu.Lock()
	w.latest = m
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	// The clock stands still, and time-outs of the machine are by the real one: what moves it is a
	// knock now and then.
	var knocking sync.WaitGroup
	knocking.Go(func() {
		for ctx.Err() == nil {
			w.pass(20 * time.Millisecond)
			time.Sleep(200 * time.Microsecond)
		}
	})
	stop = sync.OnceValue(func() error { cancel(); knocking.Wait(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return stop
}

func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// groupsOf has the last two labels of the host.
func groupsOf(url string) []string {
	labels := strings.Split(hostOf(url), ".")
	return []string{strings.Join(labels[max(len(labels)-2, 0):], ".")}
}

// states folds the topic as the registry does.
func (w *world) states(t testing.TB) map[pubkey.Key]*registry.State {
	t.Helper()
	w.topic.mu.Lock()
	defer w.topic.mu.Unlock()
	states := map[pubkey.Key]*registry.State{}
	for i := range w.records {
		enrichment := &eventspb.Enrichment{}
		require.NoError(t, proto.Unmarshal(w.records[i].Value, enrichment))
		mint := pubkey.Key(enrichment.GetMint())
		if states[mint] == nil {
			states[mint] = &registry.State{}
		}
		for _, fact := range registry.FactsOfEnrichment(enrichment) {
			states[mint].Apply(fact)
		}
	}
	return states
}

func (w *world) status(t testing.TB, name string) string {
	t.Helper()
	mint := w.mint(name)
	state := w.states(t)[mint]
	if state == nil {
		return ""
	}
	token, _ := state.Token(mint)
	return token.LogoStatus
}

// checks are the facts of a mint's checks in the order written.
func (w *world) checks(t testing.TB, name string) []*eventspb.Logo {
	t.Helper()
	mint := w.mint(name)
	w.topic.mu.Lock()
	defer w.topic.mu.Unlock()
	var list []*eventspb.Logo
	for i := range w.records {
		enrichment := &eventspb.Enrichment{}
		require.NoError(t, proto.Unmarshal(w.records[i].Value, enrichment))
		if enrichment.GetLogo() != nil && string(enrichment.GetMint()) == string(mint[:]) {
			list = append(list, enrichment.GetLogo())
		}
	}
	return list
}

func (w *world) await(t testing.TB, name string, checks int) []*eventspb.Logo {
	t.Helper()
	require.Eventually(t, func() bool { return len(w.checks(t, name)) >= checks }, 30*time.Second, time.Millisecond, "%s: check %d", name, checks)
	return w.checks(t, name)
}
