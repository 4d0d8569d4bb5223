// Package imageload loads images from the web: it fetches them, checks that they are images, and
// stores them.
//
// In: a URL that anyone may have written. Out: what the image is, and its bytes in a blobs.Store;
// or an error with a fetch.Class.
// Guarantees: fetch's about addresses, time and size; picture's about what an image is; decoder's
// about the time and memory of decoding. An SVG is given out only in its sanitized form, also one
// that an older version stored. If many ask for a URL at once, it is fetched once, and its outcome
// answers those who ask within the next two minutes.
package imageload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/internal/sharedcall"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/picture"
)

// Fetcher is *fetch.Fetcher.
type Fetcher interface {
	Do(ctx context.Context, request fetch.Request) (*fetch.Response, error)
}

// Decoder decodes images in processes that can do no harm. *decoder.Pool is one.
type Decoder interface {
	Inspect(ctx context.Context, body []byte) (picture.Info, error)
	Make(ctx context.Context, body []byte, kind string, variant picture.Variant) ([]byte, string, error)
}

// Config of a Loader. Zero values take the default.
type Config struct {
	// limits bound the structure of images: pixels, frames, parts.
	limits picture.Limits
	// recent is how long the outcome of a load answers later requests for the same URL: many tokens
	// share one image. Default 2 min.
	recent time.Duration
	// flight is the time limit of one load, which goes on even if nobody waits for it any more.
	// Default 1 min.
	flight time.Duration
}

const (
	// recentSize bounds the URLs whose last outcome is remembered.
	recentSize = 50_000
	// judgedSize bounds the stored images for which Loader.judged remembers whether they are within
	// today's limits.
	judgedSize = 100_000
)

// Deps are the collaborators.
type Deps struct {
	Fetcher Fetcher
	Decoder Decoder
	// Store keeps the bytes. It may be nil: then images are only checked.
	Store *blobs.Store
	// Now may be nil: then it is time.Now.
	Now func() time.Time
}

// Image is the image that a URL points to.
type Image struct {
	// Key is the SHA-256 of the bytes, and their key in the store.
	Key  blobs.Key
	Size int
	picture.Info
	// Verified is true if the bytes are what the URL's content identifier names.
	Verified bool
	// ETag and LastModified are the validators of the server's answer.
	ETag, LastModified string
	// NotModified is true if the server confirmed the request's validators; then nothing else is
	// set.
	NotModified bool
}

// Request is what to load.
type Request struct {
	URL string
	// ETag and LastModified are the validators of the image that the caller has; empty if it has
	// none.
	ETag, LastModified string
	// Anew asks the server even if the URL was loaded shortly before. The new outcome then answers
	// later requests.
	Anew bool
}

// Loader loads images. Any number of goroutines may use it.
type Loader struct {
	cfg   Config
	deps  Deps
	loads sharedcall.Group[*Image]      // of images, by URL and validators
	makes sharedcall.Group[*blobs.Blob] // of variants, by their keys
	// checks bounds the images that are decoded at once to check them: one per core. A decoder.Pool
	// has by default one decoder more, so slow checks do not delay a variant that a user waits for.
	checks *semaphore.Weighted
	recent *lru.Cache[string, found]
	judged *lru.Cache[blobs.Key, bool] // whether a stored image may be given out
}

type found struct {
	image *Image
	err   error
	at    time.Time
}

// New checks the collaborators.
func New(cfg Config, deps Deps) (*Loader, error) {
	if deps.Fetcher == nil || deps.Decoder == nil {
		return nil, errors.New("imageload: a fetcher and a decoder are required")
	}
	cfg.recent = cmp.Or(max(cfg.recent, 0), 2*time.Minute)
	cfg.flight = cmp.Or(max(cfg.flight, 0), time.Minute)
	if deps.Now == nil {
		deps.Now = time.Now
	}
	recent, err := lru.New[string, found](recentSize)
	if err != nil {
		return nil, fmt.Errorf("imageload: %w", err)
	}
	judged, err := lru.New[blobs.Key, bool](judgedSize)
	if err != nil {
		return nil, fmt.Errorf("imageload: %w", err)
	}
	return &Loader{cfg: cfg, deps: deps, checks: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))), recent: recent, judged: judged}, nil
}

// Load fetches, checks and stores the image that a URL points to. Errors are *fetch.Error. If ctx
// ends first, the load goes on for those who ask next.
func (l *Loader) Load(ctx context.Context, request Request) (*Image, error) {
	key := request.URL + "\x00" + request.ETag + "\x00" + request.LastModified
	if last, ok := l.recent.Get(key); ok && !request.Anew && l.deps.Now().Sub(last.at) < l.cfg.recent {
		return last.image, last.err
	}
	flightKey := key
	if request.Anew {
		flightKey += "\x00anew" // does not join an ordinary load that began earlier
	}
	image, err := l.loads.Do(ctx, flightKey, l.cfg.flight, func(ctx context.Context) (*Image, error) {
		image, err := l.load(ctx, request)
		// A transient error is not remembered: whoever asks next tries again.
		if !fetch.Retryable(err) && fetch.ClassOf(err) != fetch.ClassCanceled {
			l.recent.Add(key, found{image, err, l.deps.Now()})
		}
		return image, err
	})
	if err != nil && !errors.As(err, new(*fetch.Error)) { // it is ctx's error
		err = &fetch.Error{Class: fetch.ClassOf(err), Err: err}
	}
	return image, err
}

// load fetches and checks an image, and stores it if there is a store.
func (l *Loader) load(ctx context.Context, request Request) (*Image, error) {
	var info picture.Info
	response, err := l.deps.Fetcher.Do(ctx, fetch.Request{
		URI: request.URL, ETag: request.ETag, LastModified: request.LastModified,
		Accept: "image/avif,image/webp,image/png,image/jpeg,image/gif,image/bmp,image/x-icon,image/svg+xml;q=0.9,*/*;q=0.5",
		// The image is checked within the fetch: if a gateway sends half an image, the next gateway
		// is asked.
		Check: func(response *fetch.Response) error {
			var failed error
			info, failed = l.inspect(ctx, response.Body)
			return failed
		},
	})
	switch {
	case err != nil:
		return nil, err
	case response.NotModified:
		return &Image{NotModified: true}, nil
	}
	image := &Image{
		Key: blobs.KeyOf(response.Body), Size: len(response.Body), Info: info, Verified: response.Verified,
		ETag: response.ETag, LastModified: response.LastModified,
	}
	if l.deps.Store != nil {
		l.deps.Store.Put(image.Key, info.Type, response.Body)
		l.deps.Store.Point(request.URL, image.Key, l.deps.Now())
	}
	return image, nil
}

// inspect has a decoder check an image. The check has a time limit of its own (flight), not what
// the fetch has left of ctx's: a wait for a decoder is not the server's fault.
func (l *Loader) inspect(ctx context.Context, body []byte) (picture.Info, error) {
	if picture.Sniff(body) == "" {
		return picture.Info{}, &fetch.Error{Class: fetch.ClassNotImage, Err: picture.ErrNotImage}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.flight)
	defer cancel()
	if err := l.checks.Acquire(ctx, 1); err != nil {
		return picture.Info{}, &fetch.Error{Class: fetch.ClassDecoder, Err: err}
	}
	defer l.checks.Release(1)
	info, err := l.deps.Decoder.Inspect(ctx, body)
	if err != nil {
		return info, &fetch.Error{Class: classOf(err), Err: err}
	}
	return info, nil
}

// classOf is the class of a decoder's error. An error that is not the image's fault is
// ClassDecoder.
func classOf(err error) fetch.Class {
	switch {
	case errors.Is(err, picture.ErrBudget):
		return fetch.ClassImageBudget
	case errors.Is(err, picture.ErrBounds):
		return fetch.ClassImageBounds
	case errors.Is(err, picture.ErrNotImage):
		return fetch.ClassNotImage
	case errors.Is(err, picture.ErrBroken):
		return fetch.ClassBadImage
	}
	return fetch.ClassDecoder
}
