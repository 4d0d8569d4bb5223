// Package logos answers with the logo of a token: from memory, from disk, or fetched now.
//
// In: what the registry says about a token's logo; the topic registry.enrichments.v1, for the
// content of each logo and the decisions of operators; the web.
// Out: bytes that were proved to be an image, or nothing; which tokens have similar logos.
// Guarantees: an answer never waits longer than maxWait for the web. A logo that was good once
// is served as long as the node has it, whatever becomes of its URL. A node decides nothing about a
// logo's status.
package logos

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/hostqueue"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/logos/picture"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Loader fetches images into the store and makes variants. *imageload.Loader is one.
type Loader interface {
	Load(ctx context.Context, request imageload.Request) (*imageload.Image, error)
	Variant(ctx context.Context, key blobs.Key, variant picture.Variant) (*blobs.Blob, bool)
}

// Store reports which bytes the node has. *blobs.Store is one.
type Store interface {
	Has(key blobs.Key) bool
	Lookup(name string) (blobs.Name, bool)
}

const (
	// maxWait is how long a request waits for an image that the node does not have.
	maxWait = 200 * time.Millisecond
	// fetchesAtOnce is how many images that the node does not have are fetched at one time. One
	// domain or address never takes more of these places than it leaves free. A request that finds
	// no place gets the fallback immediately.
	fetchesAtOnce = 64
	// retryAfter is how long a URL is not fetched again after a failure that may pass. After a
	// final failure the time is 240 times as long, after any other failure six times.
	retryAfter = 30 * time.Second
)

// Config of a Service. There are no settings yet.
type Config struct {
}

// Deps are the collaborators.
type Deps struct {
	Loader Loader
	Store  Store
	// OpenTail reads schemas.TopicEnrichments from its first record.
	OpenTail func() (kafka.TailReader, error)
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Now may be nil: then it is time.Now.
	Now func() time.Time
}

// failedURLs bounds the URLs whose failure is remembered.
const failedURLs = 100_000

// Service serves the logos on one node.
type Service struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	index   *index
	fetches *hostqueue.Places
	failed  *lru.Cache[string, time.Time] // until when each URL is left alone
}

// New checks the collaborators and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Service, error) {
	if deps.Loader == nil || deps.Store == nil || deps.OpenTail == nil {
		return nil, errors.New("logos: a loader, a store and a tail are required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Now == nil {
		deps.Now = time.Now
	}
	failed, _ := lru.New[string, time.Time](failedURLs) // fails only for a size below 1
	s := &Service{cfg: cfg, deps: deps, index: newIndex(), fetches: hostqueue.NewPlaces(fetchesAtOnce), failed: failed}
	var err error
	s.metrics, err = newMetrics(deps.Registerer, s.index)
	return s, err
}

// Request is what the registry has about the token whose logo is wanted, and the variant.
type Request struct {
	Mint pubkey.Key
	// URL is empty if the token has no logo; Status is then registry.LogoMissing.
	URL, Status string
	Variant     picture.Variant
}

// Answer is the image, and how long it may be cached.
type Answer struct {
	// Blob is nil if the fallback is to be shown.
	Blob *blobs.Blob
	// MaxAge is how long browsers and proxies may cache the answer.
	MaxAge time.Duration
}

// How long answers may be cached. The time is short if a better answer may come soon.
const (
	ageGood    = time.Hour
	ageBroken  = 5 * time.Minute
	ageMissing = 5 * time.Minute
	agePending = 10 * time.Second
)

// Get returns the logo that a request asks for. It takes at most maxWait, plus the time to read a
// file or to make a variant.
func (s *Service) Get(ctx context.Context, request Request) Answer {
	if request.URL == "" {
		s.metrics.missing.Inc()
		return Answer{MaxAge: ageMissing}
	}
	known := s.index.of(request.Mint)
	if blob := s.have(ctx, &request, known); blob != nil {
		s.metrics.hit.Inc()
		s.metrics.bytes.Add(float64(len(blob.Body)))
		return Answer{Blob: blob, MaxAge: ageGood}
	}
	if request.Status == registry.LogoBroken && known.content == (blobs.Key{}) {
		s.metrics.broken.Inc()
		return Answer{MaxAge: ageBroken}
	}
	if until, ok := s.failed.Get(request.URL); ok && s.deps.Now().Before(until) {
		s.metrics.broken.Inc()
		return Answer{MaxAge: agePending}
	}
	if s.fetch(ctx, &request, known) {
		if blob := s.have(ctx, &request, known); blob != nil {
			s.metrics.fetched.Inc()
			s.metrics.bytes.Add(float64(len(blob.Body)))
			return Answer{Blob: blob, MaxAge: ageGood}
		}
	}
	s.metrics.pending.Inc()
	return Answer{MaxAge: agePending}
}

// have returns the image if the node has it: the content that was found good or, if there is none,
// what was last fetched from the URL itself. What was fetched before a purge does not count.
func (s *Service) have(ctx context.Context, request *Request, known logo) *blobs.Blob {
	if known.content != (blobs.Key{}) && known.isOf(request.URL) && known.checkPurge >= known.purge {
		if blob, ok := s.deps.Loader.Variant(ctx, known.content, request.Variant); ok {
			return blob
		}
	}
	name, ok := s.deps.Store.Lookup(request.URL)
	if !ok || uint64(name.At.UnixMilli())+1000 <= known.purge { // name.At is in whole seconds
		return nil
	}
	if blob, ok := s.deps.Loader.Variant(ctx, name.Key, request.Variant); ok {
		return blob
	}
	return nil
}

// fetch fetches the image, and returns whether it came in time. The fetch goes on after the request
// has stopped waiting. If too many fetches are under way, it begins none and returns false.
func (s *Service) fetch(ctx context.Context, request *Request, known logo) bool {
	url, now := request.URL, s.deps.Now
	join, release, ok := s.fetches.Take()
	if !ok {
		return false
	}
	done := make(chan bool, 1)
	go func() {
		defer release()
		_, err := s.deps.Loader.Load(fetch.WithAdmission(context.WithoutCancel(ctx), join), imageload.Request{URL: url, Anew: known.purge > 0})
		if err != nil {
			wait := retryAfter
			switch {
			case fetch.ClassOf(err) == fetch.ClassHostBusy:
				wait = min(wait, time.Second) // the URL was not tried
			case fetch.ClassOf(err).Final():
				wait *= 240 // two hours: the bytes were refused, and will be refused again
			case !fetch.Retryable(err):
				wait *= 6
			}
			s.failed.Add(url, now().Add(wait))
		} else {
			s.failed.Remove(url)
		}
		done <- err == nil
	}()
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case ok := <-done:
		return ok
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// Similar returns how many tokens, the mint's included, show a logo that looks like the mint's:
// with the same difference hash, or for SVG with the same bytes. It returns 0 if the mint's logo is
// not known.
func (s *Service) Similar(mint pubkey.Key) int { return s.index.similar(mint) }

// Copied returns whether another token showed the mint's logo before the mint did.
func (s *Service) Copied(mint pubkey.Key) bool { return s.index.copied(mint) }

// Run follows the topic until ctx ends; then it returns nil.
func (s *Service) Run(ctx context.Context) error {
	kafka.Follow(ctx, s.deps.OpenTail, 5_000, 20*time.Millisecond, func(records []kafka.Record) {
		for i := range records {
			s.index.read(&records[i])
		}
	}, func(err error) {
		// The topic is then read from its beginning. That does no harm: what is known already is
		// ignored.
		s.deps.Logger.Warn("tail of logos ended, opening it again", "topic", schemas.TopicEnrichments, "err", err)
	})
	return nil
}
