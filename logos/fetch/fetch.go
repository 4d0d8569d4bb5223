// Package fetch gets what hostile URLs point to: token metadata, and logos.
//
// In: a URI that anyone may have written on the chain: http(s), ipfs://, a bare CID, ar://, data:.
// Out: the body, bounded, or an *Error with a class. Content that is addressed by its hash is
// fetched from several gateways in a race, the healthy ones first. It is compared with its address
// where possible (see verify.go).
// Guarantees: connects only to addresses that were checked to be on the public internet, at every
// redirect too; sends no cookie, credential or referrer; never takes longer, follows more redirects
// or keeps more bytes than configured. Bytes are counted after decompression.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

const (
	// connectTimeout bounds one connection and one TLS handshake.
	connectTimeout = 4 * time.Second
	// maxRedirects is how many redirects are followed for one URL.
	maxRedirects = 5
	// userAgent is sent with every request.
	userAgent = "Mintlake/1 (+https://github.com/mintlake/mintlake)"
)

// Config bounds a Fetcher. Zero values take the default.
type Config struct {
	// Purpose names the fetcher in metrics, e.g. metadata or image. Default "metadata".
	Purpose string
	// Timeout bounds a whole fetch, with the wait for the host's limit, redirects and all gateways.
	// Default 15 s.
	Timeout time.Duration
	// TryTimeout bounds the attempt at one URL if there are several gateways. Default 8 s.
	TryTimeout time.Duration
	// MaxBytes bounds the body after decompression. Default 1 MiB.
	MaxBytes int64
	// PerHost is how many requests may be under way to one host:port. Default 4.
	PerHost int
	// hedgeDelay is how long one gateway may take before the next one is asked too. Default 1.5 s.
	hedgeDelay time.Duration
	// PerGateway is PerHost for the hosts of the configured gateways, which serve most tokens.
	// Default 16.
	PerGateway int
	// Large is how many bodies of more than 64 KiB may be read at once. A further body waits for
	// its turn, within the time limits of its fetch. 0 means any number.
	Large int
	// IPFSGateways are URLs that a CID is appended to, in the order to try while all are healthy.
	// Default DefaultIPFSGateways. Empty but not nil means none.
	IPFSGateways []string
	// ArweaveGateways are URLs that a transaction id is appended to. Default
	// DefaultArweaveGateways. Empty but not nil means none.
	ArweaveGateways []string
	// AllowPrivate lists the exact host:port pairs, as URLs name them, that may be on private
	// addresses: the demo's and the tests' servers. Default none.
	AllowPrivate []string
}

// Deps are the collaborators of a Fetcher.
type Deps struct {
	// Resolver may be nil: then Go's own resolver is used, never libc's, which reads numbers as
	// addresses.
	Resolver Resolver
	// Connect opens a connection to an address that was checked. It may be nil: then it dials the
	// network. Tests replace it, to put a local server behind public addresses.
	Connect func(ctx context.Context, address netip.Addr, port string) (net.Conn, error)
	// Registerer may be nil: then the metrics go nowhere.
	Registerer prometheus.Registerer
	// Now is the clock of back-off. Default time.Now.
	Now func() time.Time
}

// Response is the result of a fetch.
type Response struct {
	Body []byte
	// ContentType is what the server said. It must not be trusted.
	ContentType string
	// Status is 200, also for data URIs, or 203 (a proxy changed the body); 304 when NotModified.
	Status int
	// NotModified is true if the server confirmed the validators of the Request; then there is no
	// body.
	NotModified bool
	// ETag and LastModified are the response's validators. One that is missing or over 256 bytes is
	// empty.
	ETag, LastModified string
	// Verified is true if the body was compared with the content identifier in the URI and is what
	// it names.
	Verified bool
}

// Request is what to fetch, and which responses are accepted.
type Request struct {
	URI string
	// Accept is the header's value. Default */*.
	Accept string
	// Check refuses a response by returning an *Error; then the next gateway is tried. It may
	// change the Response. May be nil.
	Check func(*Response) error
	// ETag and LastModified are the validators of an earlier response. If they still hold, the
	// response is NotModified.
	ETag, LastModified string
}

// Fetcher fetches. It may be used by many goroutines at once.
type Fetcher struct {
	cfg          Config
	allowed      map[string]bool
	ipfs         []*url.URL
	arweave      []*url.URL
	firstIPFS    string // host of the first IPFS gateway, see Host
	firstArweave string // host of the first Arweave gateway
	dialer       *dialer
	transport    *http.Transport
	client       *http.Client
	metrics      *metrics
	health       *health
	large        *semaphore.Weighted // nil: no bound
}

func (c Config) withDefaults() Config {
	c.Purpose = cmp.Or(c.Purpose, "metadata")
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.TryTimeout = cmp.Or(c.TryTimeout, 8*time.Second)
	c.MaxBytes = cmp.Or(c.MaxBytes, 1<<20)
	c.PerHost = cmp.Or(c.PerHost, 4)
	c.PerGateway = cmp.Or(c.PerGateway, 16)
	c.hedgeDelay = cmp.Or(c.hedgeDelay, 1500*time.Millisecond)
	if c.IPFSGateways == nil {
		c.IPFSGateways = DefaultIPFSGateways()
	}
	if c.ArweaveGateways == nil {
		c.ArweaveGateways = DefaultArweaveGateways()
	}
	return c
}

// DefaultIPFSGateways returns the public gateways that are asked for content of IPFS.
func DefaultIPFSGateways() []string {
	return []string{"https://ipfs.io/ipfs/", "https://dweb.link/ipfs/", "https://gateway.pinata.cloud/ipfs/"}
}

// DefaultArweaveGateways returns the public gateways that are asked for content of Arweave.
func DefaultArweaveGateways() []string {
	return []string{"https://arweave.net/", "https://permagate.io/"}
}

// New checks the configuration and registers the metrics. The error joins all problems.
func New(cfg Config, deps Deps) (*Fetcher, error) {
	cfg = cfg.withDefaults()
	f := &Fetcher{cfg: cfg, allowed: map[string]bool{}}
	var problems []error
	if cfg.Timeout < 0 || cfg.TryTimeout < 0 || cfg.MaxBytes < 0 || cfg.PerHost < 0 ||
		cfg.PerGateway < 0 || cfg.hedgeDelay < 0 {
		problems = append(problems, errors.New("fetch: limits must be positive"))
	}
	for _, pair := range cfg.AllowPrivate {
		host, port, err := net.SplitHostPort(pair)
		if err != nil || host == "" || port == "" {
			problems = append(problems, fmt.Errorf("fetch: allow_private %q: want host:port", pair))
			continue
		}
		f.allowed[strings.ToLower(net.JoinHostPort(host, port))] = true
	}
	var err error
	if f.ipfs, err = ParseGateways(cfg.IPFSGateways); err != nil {
		problems = append(problems, fmt.Errorf("fetch: ipfs_gateways: %w", err))
	}
	if f.arweave, err = ParseGateways(cfg.ArweaveGateways); err != nil {
		problems = append(problems, fmt.Errorf("fetch: arweave_gateways: %w", err))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	f.firstIPFS, f.firstArweave = firstHost(f.ipfs), firstHost(f.arweave)
	if deps.Resolver == nil {
		deps.Resolver = &net.Resolver{PreferGo: true}
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	f.health = newHealth(deps.Now)
	if cfg.Large > 0 {
		f.large = semaphore.NewWeighted(int64(cfg.Large))
	}
	if f.metrics, err = newMetrics(cfg.Purpose, deps.Registerer); err != nil {
		return nil, err
	}
	f.dialer = newDialer(deps.Resolver, f.allowed, f.isGateway, connectTimeout)
	if deps.Connect != nil {
		f.dialer.connect = func(ctx context.Context, address netip.Addr, port string, _ bool) (net.Conn, error) {
			return deps.Connect(ctx, address, port)
		}
	}
	f.transport = newTransport(f.dialer, cfg)
	f.client = &http.Client{
		Transport:     newHostLimit(f.transport, f.limitOf, f.groupsOf),
		CheckRedirect: f.checkRedirect,
		// No cookie jar, on purpose.
	}
	return f, nil
}

// limitOf returns how many requests may be under way to a host:port.
func (f *Fetcher) limitOf(host string) int {
	if f.isGateway(host) {
		return f.cfg.PerGateway
	}
	return f.cfg.PerHost
}

// ParseGateways parses URLs that an identifier is appended to. The error joins all problems.
func ParseGateways(texts []string) (gateways []*url.URL, err error) {
	var problems []error
	for _, text := range texts {
		u, err := url.Parse(text)
		switch {
		case err != nil:
			problems = append(problems, errors.New("want an http(s) URL that an identifier is appended to, and one is no URL"))
			continue
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
			problems = append(problems, fmt.Errorf("%s: want an http(s) URL without a user that an identifier is appended to", u.Redacted()))
			continue
		}
		gateways = append(gateways, u)
	}
	return gateways, errors.Join(problems...)
}

// firstHost is the host of the first gateway; empty if there is none.
func firstHost(gateways []*url.URL) string {
	if len(gateways) == 0 {
		return ""
	}
	return gateways[0].Host
}

// Close drops idle connections.
func (f *Fetcher) Close() { f.transport.CloseIdleConnections() }

func (f *Fetcher) checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return failure(ClassRedirects, "more than %d redirects", maxRedirects)
	}
	request.Header.Del("Referer")
	return f.checkURL(request.URL)
}
