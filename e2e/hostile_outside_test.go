package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// canary is a service of the operator's network that nobody outside may reach through Mintlake.
func canary(t *testing.T) (server *httptest.Server, reached *atomic.Int64) {
	reached = new(atomic.Int64)
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"secret"}`)
	}))
	// a connection alone tells an attacker what is open
	server.Listener = &countingListener{Listener: server.Listener, count: reached}
	server.Start()
	t.Cleanup(server.Close)
	return server, reached
}

// countingListener counts the connections that it accepts.
type countingListener struct {
	net.Listener
	count *atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.count.Add(1)
	}
	return conn, err
}

// innerURLs name the canary and other addresses inside in every way that a URL can, and by way of
// redirects of a host outside.
func innerURLs(port, outside string) []string {
	hosts := []string{
		"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001",
		"0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"[::127.0.0.1]", "127.0.0.1.", "①②⑦.0.0.1", "127。0。0。1", "[fe80::1%25lo]", "user@127.0.0.1", "user:pass@127.0.0.1", "example.org@127.0.0.1",
		"127.0.0.1%00.example.org", "127.0.0.1#.example.org", `127.0.0.1\.example.org`,
	}
	var urls []string
	for _, host := range hosts {
		urls = append(urls, "http://"+host+":"+port+"/secret.json", "http:\\\\"+host+":"+port+"/secret.json", "//"+host+":"+port+"/secret.json")
	}
	for _, address := range []string{"169.254.169.254/latest/meta-data/", "[fd00:ec2::254]/latest/", "100.100.100.200/", "10.0.0.1/", "192.168.0.1/", "172.16.0.1/", "metadata.google.internal/"} {
		urls = append(urls, "http://"+address)
	}
	urls = append(urls,
		"file:///etc/passwd", "gopher://127.0.0.1:"+port+"/_x", "ftp://127.0.0.1:"+port+"/", "dict://127.0.0.1:"+port+"/", "unix:///tmp/x",
		"http+unix://x", "jar:http://127.0.0.1:"+port+"!/", "ipfs://../../127.0.0.1:"+port, "ar://../../127.0.0.1:"+port, "ipfs://127.0.0.1:"+port+"/x",
		"https://127.0.0.1:"+port+"/", "HTTP://127.0.0.1:"+port+"/", " http://127.0.0.1:"+port+"/", "http://127.0.0.1:"+port+"/\r\nX-A: b",
	)
	for n, code := range []int{301, 302, 303, 307, 308} {
		urls = append(urls, fmt.Sprintf("%s/redirect/%d/%d", outside, code, n))
	}
	return append(urls, outside+"/refresh", outside+"/twice")
}

// TestHostileURLs: no URI of a token makes Mintlake connect to an address inside, neither as a
// document nor as a logo.
func TestHostileURLs(t *testing.T) {
	inside, reached := canary(t)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusFound
		switch {
		case strings.HasPrefix(r.URL.Path, "/redirect/"):
			_, _ = fmt.Sscanf(r.URL.Path, "/redirect/%d/", &code)
		case r.URL.Path == "/twice":
			http.Redirect(w, r, "/redirect/302/0", code)
			return
		case r.URL.Path == "/refresh":
			w.Header().Set("Refresh", "0; url="+inside.URL)
			w.Header().Set("Location", inside.URL) // without a code that redirects
			code = http.StatusOK
		}
		w.Header().Set("Location", inside.URL+"/secret.json")
		w.WriteHeader(code)
	}))
	t.Cleanup(outside.Close)
	up := underAttack(t, 3000, "--enrich-offchain=true", "--enrich-allow-private", outside.Listener.Addr().String(), "--logos-timeout", "5s")

	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	require.NoError(t, err)
	urls := innerURLs(port, outside.URL)
	mints := tellOfURLs(t, up.brokers(), urls)
	for n, mint := range mints {
		up.awaitLogo(mint, "(broken|missing)", urls[n]) // missing: what is no URI is no logo
	}
	require.Zero(t, reached.Load(), "connections to an address inside")
	require.Equal(t, []string{"0"}, up.query("SELECT count() FROM mintlake.tokens WHERE name = 'secret'"))
}

// tellOfURLs writes, for each URL, a token whose logo it is, and a request for the document that it
// would be.
func tellOfURLs(t *testing.T, brokers, urls []string) (mints []pubkey.Key) {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	program, err := base58.Decode(schemas.ProgramToken)
	require.NoError(t, err)
	for n, url := range urls {
		mint := pubkey.Key(sha256.Sum256(fmt.Appendf(nil, "a mint with a hostile URL %d", n)))
		mints = append(mints, mint)
		uri := []byte("https://example.org/" + mint.String())
		request, err := proto.Marshal(&eventspb.EnrichmentRequest{
			Mint: mint[:], Slot: 1, Uri: []byte(url), Reason: eventspb.RequestReason_REQUEST_REASON_METADATA_SET,
		})
		require.NoError(t, err)
		records := []kafka.Record{{Topic: schemas.TopicEnrichmentRequests, Key: []byte(mint.String()), Value: request}}
		for _, enrichment := range []*eventspb.Enrichment{
			{Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{ProgramId: program, Decimals: 6, Supply: 1000}}},
			{Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{Metadata: &eventspb.MetadataSet{
				MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: []byte("Hostile"), Uri: uri,
			}}}},
			{Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Uri: uri, Image: url}}},
		} {
			enrichment.Mint, enrichment.Slot = mint[:], 1
			value, err := proto.Marshal(enrichment)
			require.NoError(t, err)
			records = append(records, kafka.Record{Topic: schemas.TopicEnrichments, Key: []byte(mint.String()), Value: value})
		}
		require.NoError(t, producer.Produce(t.Context(), records...))
	}
	return mints
}

// awaitLogo waits until the logo of a mint has a status that the pattern matches.
func (i *instance) awaitLogo(mint pubkey.Key, want, of string) {
	i.t.Helper()
	pattern := regexp.MustCompile(`"logo_status":"` + want + `"`)
	for deadline := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		_, body := i.get("/tokens/" + mint.String())
		if pattern.Match(body) {
			return
		}
		require.True(i.t, time.Now().Before(deadline), "no status %s of %.200q: %s", want, of, body)
	}
}

// hostileAnswers are what a metadata host may answer with; each is bounded, and none may be taken
// for a document or an image.
func hostileAnswers(t *testing.T) http.Handler {
	bomb := gzipBomb(t, 1<<30)
	deep := strings.Repeat(`{"a":`, 1<<20)
	long := `{"name":"` + strings.Repeat("n", 4<<20) + `"}`
	gone := t.Context().Done()
	mux := http.NewServeMux()
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	})
	mux.HandleFunc("/deep", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, deep) })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, long) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for chunk := bytes.Repeat([]byte("{"), 1<<16); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		for {
			select {
			case <-r.Context().Done():
				return
			case <-gone:
				return
			case <-time.After(200 * time.Millisecond):
			}
			if _, err := w.Write([]byte(" ")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		for n := range 10_000 {
			w.Header().Set(fmt.Sprintf("X-%d", n), strings.Repeat("a", 1000))
		}
	})
	mux.HandleFunc("/switch", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) })
	return mux
}

// TestHostileHosts: a metadata host that answers with bombs, or never, costs bounded memory, and
// tokens of other hosts get their logos.
func TestHostileHosts(t *testing.T) {
	hostile := httptest.NewServer(hostileAnswers(t))
	t.Cleanup(hostile.Close)
	fair := imageHosts(t)[0]
	up := underAttack(t, 3000, "--enrich-offchain=true", "--logos-timeout", "5s",
		"--enrich-allow-private", hostile.Listener.Addr().String(), "--enrich-allow-private", fair.addr)
	var urls []string
	for n := range most(30, 3) {
		for _, path := range []string{"gzip", "deep", "long", "endless", "slow", "loop", "headers", "switch"} {
			urls = append(urls, fmt.Sprintf("%s/%s?%d", hostile.URL, path, n))
		}
	}
	mints := tellOfURLs(t, up.brokers(), urls)
	tellOfLogos(t, up.brokers(), []*imageHost{fair}, 50)
	for n := range 50 {
		if mint, url, status := logoMint(n, []*imageHost{fair}); status == "ok" {
			up.awaitLogo(mint, status, url)
		}
	}
	for n, mint := range mints {
		up.awaitLogo(mint, "broken", urls[n])
	}
}
