package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/demo/assets"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// logoMints is how many mints the test has; MINTLAKE_TEST_LOGO_MINTS=100000 is the full run
// (MINTLAKE_TEST_LOGO_MINTS=100000 go test -timeout 60m -run TestLogosOfManyMints ./e2e).
func logoMints() int {
	if n, err := strconv.Atoi(os.Getenv("MINTLAKE_TEST_LOGO_MINTS")); err == nil {
		return n
	}
	return 1_000
}

const logosPerHost = 8

// imageHost is a server of the demo chain's logos that watches how it is treated.
type imageHost struct {
	name      string
	url, addr string
	now, most atomic.Int64
	requests  atomic.Int64
	mu        sync.Mutex
	seen      map[string]bool
	resumeAt  time.Time // limited: nobody may come before
	impatient atomic.Int64
}

// hosts of the test: most serve as the demo chain's does; one fails each first request, one asks
// for time, one is gone.
func imageHosts(t *testing.T) []*imageHost {
	var hosts []*imageHost
	for _, name := range []string{"plain", "plain", "plain", "flaky", "limited", "dead"} {
		h := &imageHost{name: name, seen: map[string]bool{}}
		pages := assets.Handler(func() string { return h.url }, nil)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fate := fateOf(r)
			if fate == assets.LogoSlow {
				// not counted below: a server learns late that its client has given up
				pages.ServeHTTP(w, r)
				return
			}
			n := h.now.Add(1)
			for old := h.most.Load(); n > old && !h.most.CompareAndSwap(old, n); old = h.most.Load() {
			}
			answer := httptest.NewRecorder()
			refused := h.refuses(answer, r)
			if !refused && fate != breaksOff {
				pages.ServeHTTP(answer, r)
			}
			h.now.Add(-1) // before the client can know that it has its answer
			if !refused && fate == breaksOff {
				hangUp(w)
				return
			}
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		}))
		h.url, h.addr = server.URL, server.Listener.Addr().String()
		if name == "dead" {
			server.Close()
		} else {
			t.Cleanup(server.Close)
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// breaksOff takes most of the slow logos' place: a server that hangs up costs the test no time-out,
// and is as little of an answer. A few stay slow.
const breaksOff = assets.Fate(255)

func fateOf(r *http.Request) assets.Fate {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/logo/"), ".")
	mint, err := pubkey.Parse(name)
	switch {
	case err != nil:
		return assets.LogoMissing
	case assets.LogoFate(mint) == assets.LogoSlow && mint[0] >= 16:
		return breaksOff
	}
	return assets.LogoFate(mint)
}

func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

const (
	// patientFor is a little less than the second that the limited host asks for.
	patientFor = 900 * time.Millisecond
	// clientReads is how long a client on a busy machine may take to read that: its other requests
	// go on meanwhile.
	clientReads = 300 * time.Millisecond
)

func (h *imageHost) refuses(w http.ResponseWriter, r *http.Request) bool {
	count := h.requests.Add(1)
	switch h.name {
	case "flaky":
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.seen[r.URL.Path] {
			h.seen[r.URL.Path] = true
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
	case "limited":
		h.mu.Lock()
		defer h.mu.Unlock()
		if now := time.Now(); now.Before(h.resumeAt) && h.resumeAt.Sub(now) < patientFor-clientReads {
			h.impatient.Add(1)
		}
		if count%200 == 50 {
			h.resumeAt = time.Now().Add(patientFor)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
	}
	return false
}

// forgive ends the time that the host asked for: the process that was told is killed, and its
// successor cannot know.
func (h *imageHost) forgive() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resumeAt = time.Time{}
}

// logoMint is the i-th mint, its logo's URL, and what must become of it.
func logoMint(i int, hosts []*imageHost) (mint pubkey.Key, url, status string) {
	mint = sha256.Sum256(fmt.Appendf(nil, "a mint with a logo %d", i))
	host := hosts[i%len(hosts)]
	url, status = fmt.Sprintf("%s/logo/%s.%s", host.url, mint, []string{"png", "svg"}[i/7%2]), "ok"
	if host.name == "dead" || assets.LogoFate(mint) != assets.LogoGood {
		status = "broken"
	}
	return mint, url, status
}

// tellOfLogos writes what enrichment would have read of the mints.
func tellOfLogos(t *testing.T, brokers []string, hosts []*imageHost, count int) {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	program, err := base58.Decode(schemas.ProgramToken)
	require.NoError(t, err)
	var records []kafka.Record
	for i := range count {
		mint, url, _ := logoMint(i, hosts)
		uri := []byte("https://example.org/" + strconv.Itoa(i))
		for _, enrichment := range []*eventspb.Enrichment{
			{Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{ProgramId: program, Decimals: 6, Supply: 1000}}},
			{Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{Metadata: &eventspb.MetadataSet{
				MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: []byte("Logo"), Uri: uri,
			}}}},
			{Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Uri: uri, Image: url}}},
		} {
			enrichment.Mint, enrichment.Slot = mint[:], uint64(i+1)
			value, err := proto.Marshal(enrichment)
			require.NoError(t, err)
			records = append(records, kafka.Record{Topic: schemas.TopicEnrichments, Key: []byte(mint.String()), Value: value})
		}
	}
	for start := 0; start < len(records); start += 5000 {
		require.NoError(t, producer.Produce(t.Context(), records[start:min(start+5000, len(records))]...))
	}
}

// TestLogosOfManyMints: hosts good and bad, a kill -9 in the middle; in the end every status is the
// model's, and no host was asked more than it may be.
func TestLogosOfManyMints(t *testing.T) {
	count, hosts := logoMints(), imageHosts(t)
	flags := []string{
		"--source", "none", "--enrich-offchain=true", "--logos-per-host", strconv.Itoa(logosPerHost), "--logos-timeout", "5s", "--logos-retry", "24h",
		"--rate-limits-enabled=false",
	}
	for _, host := range hosts {
		flags = append(flags, "--enrich-allow-private", host.addr)
	}
	flags = append(flags, kafkaFlags(t)...)
	dir := t.TempDir()
	up := launch(t, dir, flags...)
	tellOfLogos(t, up.brokers(), hosts, count)
	requests := func() (sum int64) {
		for _, host := range hosts {
			sum += host.requests.Load()
		}
		return sum
	}
	patience := 4*time.Minute + time.Duration(count)*40*time.Millisecond // against hangs only
	require.Eventually(t, func() bool { return requests() > int64(count/3) }, patience, 5*time.Millisecond, "a third is fetched")
	up.kill()
	killedAt := requests()
	require.Less(t, killedAt, int64(count), "the kill hits the middle")
	for _, host := range hosts {
		host.forgive()
	}

	begin := time.Now()
	up = launch(t, dir, flags...)
	for deadline := begin.Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if strings.Join(up.query("SELECT countIf(logo_status != 'unchecked') FROM mintlake.tokens"), "") == strconv.Itoa(count) {
			break
		}
		require.True(t, time.Now().Before(deadline), "the queue does not drain: %v", up.query("SELECT logo_status, count() FROM mintlake.tokens GROUP BY 1"))
	}
	t.Logf("%d mints; killed after %d requests, drained %s after the restart with %d requests", count, killedAt, time.Since(begin).Round(time.Millisecond), requests()-killedAt)

	got := map[string]string{}
	for _, line := range up.query("SELECT mint, logo_status FROM mintlake.tokens FORMAT TSV") {
		mint, status, _ := strings.Cut(line, "\t")
		got[mint] = status
	}
	wrong := 0
	for i := range count {
		mint, _, want := logoMint(i, hosts)
		if got[mint.String()] == want {
			continue
		}
		if wrong++; wrong <= 20 {
			t.Errorf("mint %d on a %s host: %q instead of %q; its checks: %v", i, hosts[i%len(hosts)].name, got[mint.String()], want,
				up.query("SELECT status, error_class, http_status, failures, checked_at FROM mintlake.logo_checks WHERE mint = '"+mint.String()+"' ORDER BY check_number"))
		}
	}
	require.Zero(t, wrong, "statuses that are not the model's")
	for _, host := range hosts {
		require.LessOrEqual(t, host.most.Load(), int64(logosPerHost), host.name)
		// Requests that were on their way when the host asked for time are no fault: at most
		// logosPerHost each time.
		t.Logf("%s: %d requests, %d of them in the time that the host had asked for", host.name, host.requests.Load(), host.impatient.Load())
		require.LessOrEqual(t, host.impatient.Load(), host.requests.Load()/200*logosPerHost+logosPerHost, host.name)
	}
	requireImages(t, up, hosts, count)
	require.Zero(t, up.stop())
}

// requireImages asks the API for some of the images, as a page would.
func requireImages(t *testing.T, up *instance, hosts []*imageHost, count int) {
	t.Helper()
	for i := 0; i < count; i += max(count/50, 1) {
		mint, _, want := logoMint(i, hosts)
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, up.addresses["api"]+"/img/"+mint.String(), nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		cancel()
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, want, response.Header.Get("X-Logo-Status"))
		require.True(t, strings.HasPrefix(response.Header.Get("Content-Type"), "image/"))
	}
	code, body := up.get("/tokens?limit=1")
	require.Equal(t, http.StatusOK, code)
	var page struct {
		Total int `json:"total"`
	}
	require.NoError(t, json.Unmarshal(body, &page))
	require.Equal(t, count, page.Total)
}

// brokers are the addresses of Kafka, embedded or not.
func (i *instance) brokers() []string {
	return strings.Split(i.addresses["kafka"], ",")
}
