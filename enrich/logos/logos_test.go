package logos

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/fetch"
	"github.com/mintlake/mintlake/internal/imageload"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/picture"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// topic is the enrichments, kept over restarts of the machine.
type topic struct {
	mu      sync.Mutex
	records []kafka.Record
	arrived chan struct{}
	// fail, when not nil, answers Produce.
	fail func() error
}

func newTopic() *topic { return &topic{arrived: make(chan struct{})} }

func (t *topic) Produce(ctx context.Context, records ...kafka.Record) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fail != nil {
		if err := t.fail(); err != nil {
			return err
		}
	}
	for _, record := range records {
		record.Offset = int64(len(t.records))
		t.records = append(t.records, record)
	}
	close(t.arrived)
	t.arrived = make(chan struct{})
	return nil
}

func (t *topic) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return map[kafka.TopicPartition]int64{{Topic: schemas.TopicEnrichments}: int64(len(t.records))}, nil
}

type reader struct {
	t    *topic
	next int
}

func (r *reader) Close() {}

func (r *reader) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		r.t.mu.Lock()
		records := r.t.records[r.next:min(len(r.t.records), r.next+limit)]
		arrived := r.t.arrived
		r.t.mu.Unlock()
		if len(records) > 0 {
			r.next += len(records)
			return records, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-arrived:
		}
	}
}

// world is a topic, a web and a clock.
type world struct {
	*topic
	mu     sync.Mutex
	at     time.Time
	loads  map[string]int
	serve  func(request imageload.Request) (*imageload.Image, error)
	cfg    Config
	slot   uint64
	mints  map[string]mintKey
	latest *Machine
}

func newWorld() *world {
	return &world{
		topic: newTopic(), at: time.UnixMilli(1_700_000_000_000), loads: map[string]int{}, mints: map[string]mintKey{},
		cfg:   Config{AttemptDelay: time.Millisecond, Workers: 8},
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

func (w *world) mint(name string) mintKey { return sha256.Sum256([]byte(name)) }

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
		Offsets: w.topic, OpenTail: func() (Tailer, error) { return &reader{t: w.topic}, nil }, Producer: w.topic, Loader: w,
		Host: hostOf, Registerer: prometheus.NewRegistry(), Now: w.now,
	})
	require.NoError(t, err)
	w.mu.Lock()
	w.latest = m
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	// The clock stands still, and time-outs of the machine are by the real one: what moves it is a knock now and then.
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

// states folds the topic as the registry does.
func (w *world) states(t testing.TB) map[string]*registry.State {
	t.Helper()
	w.topic.mu.Lock()
	defer w.topic.mu.Unlock()
	states := map[string]*registry.State{}
	for i := range w.records {
		enrichment := &eventspb.Enrichment{}
		require.NoError(t, proto.Unmarshal(w.records[i].Value, enrichment))
		mint := base58.Encode(enrichment.GetMint())
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
	state := w.states(t)[base58.Encode(mint[:])]
	if state == nil {
		return ""
	}
	token, _ := state.Token(base58.Encode(mint[:]))
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

func TestALogosLife(t *testing.T) {
	w := newWorld()
	w.start(t)
	w.document(t, "a", "https://a.test/1")
	first := w.await(t, "a", 1)[0]
	require.Equal(t, registry.LogoOK, w.status(t, "a"))
	key := good("x").Key
	require.Equal(t, key[:], first.GetContentHash())
	require.EqualValues(t, 1, first.GetPerceptualHash())
	week := 7 * 24 * time.Hour
	require.InDelta(t, float64(week), float64(time.UnixMilli(first.GetNextCheckAtMs()).Sub(time.UnixMilli(first.GetCheckedAtMs()))), float64(week)/5)

	// At its next check the server confirms.
	w.mu.Lock()
	w.serve = func(request imageload.Request) (*imageload.Image, error) {
		if request.ETag != `"x"` {
			return fails(fetch.ClassBadURL)
		}
		return &imageload.Image{NotModified: true}, nil
	}
	w.mu.Unlock()
	w.pass(2 * week)
	second := w.await(t, "a", 2)[1]
	require.Equal(t, []any{eventspb.LogoStatus_LOGO_STATUS_OK, key[:], uint64(2)}, []any{second.GetStatus(), second.GetContentHash(), second.GetCheck()})

	// Then it is gone: broken, what was good is kept, and each next look is later than the last.
	w.mu.Lock()
	w.serve = func(imageload.Request) (*imageload.Image, error) {
		return nil, &fetch.Error{Class: fetch.ClassHTTPStatus, Status: 404}
	}
	w.mu.Unlock()
	w.pass(2 * week)
	waits := time.Duration(0)
	for n := 3; n < 7; n++ {
		check := w.await(t, "a", n)[n-1]
		require.Equal(t, registry.LogoBroken, w.status(t, "a"))
		require.Equal(t, []any{"http_status", uint32(404), key[:], uint32(n - 2)},
			[]any{check.GetErrorClass(), check.GetHttpStatus(), check.GetContentHash(), check.GetFailures()})
		wait := time.UnixMilli(check.GetNextCheckAtMs()).Sub(time.UnixMilli(check.GetCheckedAtMs()))
		require.Greater(t, wait, waits)
		waits = wait
		w.pass(wait + time.Second)
	}

	// And comes back as another picture.
	w.mu.Lock()
	w.serve = func(imageload.Request) (*imageload.Image, error) { return good("another"), nil }
	w.mu.Unlock()
	w.pass(week)
	require.Eventually(t, func() bool { return w.status(t, "a") == registry.LogoOK }, 30*time.Second, time.Millisecond)
	list := w.checks(t, "a")
	key = good("another").Key
	require.Equal(t, key[:], list[len(list)-1].GetContentHash())
	require.Zero(t, list[len(list)-1].GetFailures())

	// A new URL is unchecked until it was looked at.
	w.mu.Lock()
	release := make(chan struct{})
	w.serve = func(imageload.Request) (*imageload.Image, error) { <-release; return fails(fetch.ClassNotImage) }
	w.mu.Unlock()
	w.document(t, "a", "https://a.test/2")
	require.Eventually(t, func() bool { return w.loaded("https://a.test/2") == 1 }, 30*time.Second, time.Millisecond)
	require.Equal(t, registry.LogoUnchecked, w.status(t, "a"))
	close(release)
	last := w.await(t, "a", len(list)+1)[len(list)]
	require.Equal(t, registry.LogoBroken, w.status(t, "a"))
	require.Empty(t, last.GetContentHash(), "what was good under another URL is not this one's")
}

func TestFailuresThatMayPassGetMoreAttempts(t *testing.T) {
	w := newWorld()
	var mu sync.Mutex
	tries := map[string]int{}
	w.serve = func(request imageload.Request) (*imageload.Image, error) {
		mu.Lock()
		defer mu.Unlock()
		tries[request.URL]++
		switch n := tries[request.URL]; request.URL {
		case "https://a.test/flaky":
			if n < 3 {
				return fails(fetch.ClassTimeout)
			}
		case "https://a.test/dead":
			return fails(fetch.ClassTimeout)
		case "https://a.test/page":
			return fails(fetch.ClassNotImage)
		case "https://a.test/busy":
			if n < 8 {
				return nil, &fetch.Error{Class: fetch.ClassHostPaused, RetryAfter: time.Millisecond}
			}
		case "https://a.test/limited":
			if n < 8 {
				return nil, &fetch.Error{Class: fetch.ClassHTTPStatus, Status: 429, RetryAfter: time.Millisecond}
			}
		}
		return good("x"), nil
	}
	w.start(t)
	want := map[string]struct {
		status string
		tries  int
	}{
		"flaky": {registry.LogoOK, 3}, "dead": {registry.LogoBroken, 3}, "page": {registry.LogoBroken, 1},
		"busy": {registry.LogoOK, 8}, "limited": {registry.LogoOK, 8},
	}
	for name := range want {
		w.document(t, name, "https://a.test/"+name)
	}
	for name, expected := range want {
		w.await(t, name, 1)
		require.Equal(t, expected.status, w.status(t, name), name)
		mu.Lock()
		require.Equal(t, expected.tries, tries["https://a.test/"+name], name)
		mu.Unlock()
	}
}

func TestOperatorsDecide(t *testing.T) {
	w := newWorld()
	w.serve = func(request imageload.Request) (*imageload.Image, error) { return good(request.URL), nil }
	w.start(t)
	w.document(t, "a", "https://a.test/own")
	w.await(t, "a", 1)
	w.override(t, "a", &eventspb.LogoOverride{Version: 5, Url: "https://ours.test/x"})
	require.Equal(t, "https://ours.test/x", w.await(t, "a", 2)[1].GetUrl())
	require.Equal(t, registry.LogoOK, w.status(t, "a"))

	w.override(t, "a", &eventspb.LogoOverride{Version: 6, None: true})
	require.Eventually(t, func() bool { return w.latest.table.count(registry.LogoMissing) == 1 }, 30*time.Second, time.Millisecond)
	require.Equal(t, registry.LogoMissing, w.status(t, "a"))

	// Back to its own, and nothing counts that was fetched before.
	before := w.loaded("https://a.test/own")
	w.override(t, "a", &eventspb.LogoOverride{Version: 7, Purge: 7})
	list := w.await(t, "a", 3)
	require.EqualValues(t, 7, list[len(list)-1].GetPurge())
	require.Equal(t, before+1, w.loaded("https://a.test/own"))
	require.Eventually(t, func() bool { return w.status(t, "a") == registry.LogoOK }, 30*time.Second, time.Millisecond)

	w.override(t, "b", &eventspb.LogoOverride{Version: 1, Url: "https://ours.test/b"})
	w.await(t, "b", 1) // a mint of which nothing else is known
}

func TestListsAndImports(t *testing.T) {
	w := newWorld()
	mint := w.mint("a")
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{
		List: "b", Version: 2, LogoUri: "https://b.test/x",
	}}})
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{
		List: "a", Version: 1, LogoUri: "https://a.test/x",
	}}})
	imported := w.mint("imported")
	var facts []*eventspb.Fact
	for _, enrichment := range []*eventspb.Enrichment{
		{Mint: imported[:], Slot: 9, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Uri: []byte("u"), Image: "https://i.test/x"}}},
		{Mint: imported[:], Slot: 9, Fact: &eventspb.Enrichment_Logo{Logo: &eventspb.Logo{Url: "https://i.test/x", Status: 1, Check: 4}}},
	} {
		for _, fact := range registry.FactsOfEnrichment(enrichment) {
			facts = append(facts, registry.ImportedFact(fact))
		}
	}
	w.write(t, &eventspb.Enrichment{Mint: imported[:], Fact: &eventspb.Enrichment_Facts{Facts: &eventspb.Facts{Facts: facts}}})
	w.start(t)
	require.Equal(t, "https://a.test/x", w.await(t, "a", 1)[0].GetUrl(), "the list whose name is first")
	require.Zero(t, w.loaded("https://i.test/x"), "what another node checked is looked at in its time")
	w.pass(8 * 24 * time.Hour)
	require.EqualValues(t, 5, w.await(t, "imported", 1)[0].GetCheck())
}

// Lives end at random moments; in the end every status is what the web says.
func TestKilledAtRandomStatusesAreTheWebs(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWorld()
		w.serve = func(request imageload.Request) (*imageload.Image, error) {
			switch {
			case strings.HasSuffix(request.URL, "3"):
				return fails(fetch.ClassNotImage)
			case strings.HasSuffix(request.URL, "7"):
				return fails(fetch.ClassTimeout)
			}
			return good(request.URL), nil
		}
		const mints = 100
		for i := range mints {
			w.document(t, fmt.Sprint(i), fmt.Sprintf("https://h%d.test/%d", i%9, i))
			if i%11 == 0 {
				w.document(t, fmt.Sprint(i), fmt.Sprintf("https://h%d.test/again/%d", i%9, i+1))
			}
		}
		lives := 0
		for settled := false; !settled; lives++ {
			writes := r.IntN(80)
			w.topic.mu.Lock()
			w.fail = func() error {
				if writes--; writes < 0 && lives < 10 {
					return errors.New("killed")
				}
				return nil
			}
			w.topic.mu.Unlock()
			stop := w.start(t)
			require.Eventually(t, func() bool {
				w.topic.mu.Lock()
				dead := writes < 0 && lives < 10
				w.topic.mu.Unlock()
				settled = w.latest.table.count(registry.LogoUnchecked) == 0 && w.latest.table.size() == mints
				return dead || settled
			}, 30*time.Second, time.Millisecond)
			err := stop()
			settled = settled && err == nil
		}
		require.Greater(t, lives, 1)
		for i := range mints {
			n := i
			if i%11 == 0 {
				n++
			}
			want := registry.LogoOK
			if n%10 == 3 || n%10 == 7 {
				want = registry.LogoBroken
			}
			require.Equal(t, want, w.status(t, fmt.Sprint(i)), i)
		}
	}
}

func TestJitterStaysInItsBounds(t *testing.T) {
	low, high := time.Hour, time.Duration(0)
	for i := range 2000 {
		d := jitter(time.Hour, sha256.Sum256([]byte{byte(i), byte(i >> 8)}), uint64(i), -0.2, 0.2)
		low, high = min(low, d), max(high, d)
	}
	require.GreaterOrEqual(t, low, 48*time.Minute)
	require.LessOrEqual(t, high, 72*time.Minute)
	require.Less(t, low, 50*time.Minute, "it is spread over all of it")
	require.Greater(t, high, 70*time.Minute)
}

func TestConfigProblems(t *testing.T) {
	_, err := New(Config{}, Deps{})
	require.Error(t, err)
	w := newWorld()
	deps := Deps{Offsets: w.topic, OpenTail: func() (Tailer, error) { return nil, nil }, Producer: w.topic, Loader: w, Host: hostOf}
	_, err = New(Config{Retry: time.Hour, MaxRetry: time.Minute}, deps)
	require.Error(t, err)
	_, err = New(Config{Workers: -1}, deps)
	require.Error(t, err)
}
