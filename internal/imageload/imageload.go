// Package imageload brings images from the web: fetched, proved to be images, and stored.
//
// In: a URL that anyone may have written. Out: what the image is, and its bytes in a blobs.Store; or an error with a fetch.Class.
// Guarantees: fetch's about addresses, time and size; picture's about what an image is. A URL is fetched once at a time however many ask, and
// what was just found answers those who ask shortly after.
package imageload

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mintlake/mintlake/internal/blobs"
	"github.com/mintlake/mintlake/internal/fetch"
	"github.com/mintlake/mintlake/internal/picture"
)

// Fetcher is *fetch.Fetcher.
type Fetcher interface {
	Do(ctx context.Context, request fetch.Request) (*fetch.Response, error)
}

// Config of a Loader. Zero values take the default.
type Config struct {
	// Limits of images.
	Limits picture.Limits
	// Decoders is how many images are decoded at once: each takes up to four bytes a pixel of the limit. Default one a core.
	Decoders int
	// Recent is how long what was found answers for the same URL again: many tokens share one image. Default 2 min.
	Recent time.Duration
	// Flight bounds one load, also when nobody waits for it any more. Default 1 min.
	Flight time.Duration
}

// recentSize bounds the URLs whose last outcome is remembered.
const recentSize = 50_000

// Deps are the collaborators.
type Deps struct {
	Fetcher Fetcher
	// Store keeps the bytes. It may be nil: then they are only looked at.
	Store *blobs.Store
	// Now may be nil: then it is time.Now.
	Now func() time.Time
}

// Image is what was found under a URL.
type Image struct {
	// Key is the SHA-256 of the bytes, and their key in the store.
	Key  blobs.Key
	Size int
	picture.Info
	// Verified: the bytes are what the URL's content identifier names.
	Verified bool
	// Validators of the answer.
	ETag, LastModified string
	// NotModified: the answer confirmed the request's validators; nothing else is set.
	NotModified bool
}

// Request is what to load.
type Request struct {
	URL string
	// ETag and LastModified of what is known already, empty for nothing.
	ETag, LastModified string
	// Anew passes over what was found for the URL shortly before.
	Anew bool
}

// Loader loads images. Any number of goroutines may use it.
type Loader struct {
	cfg      Config
	deps     Deps
	flights  singleflight.Group
	decoding chan struct{}
	recent   *lru.Cache[string, found]
}

type found struct {
	image *Image
	err   error
	at    time.Time
}

// New checks the collaborators.
func New(cfg Config, deps Deps) (*Loader, error) {
	if deps.Fetcher == nil {
		return nil, errors.New("imageload: a fetcher is required")
	}
	if cfg.Decoders <= 0 {
		cfg.Decoders = runtime.GOMAXPROCS(0)
	}
	if cfg.Recent <= 0 {
		cfg.Recent = 2 * time.Minute
	}
	if cfg.Flight <= 0 {
		cfg.Flight = time.Minute
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	recent, err := lru.New[string, found](recentSize)
	if err != nil {
		return nil, fmt.Errorf("imageload: %w", err)
	}
	return &Loader{cfg: cfg, deps: deps, decoding: make(chan struct{}, cfg.Decoders), recent: recent}, nil
}

// Load fetches, checks and stores the image under a URL. Errors are *fetch.Error. When ctx ends first, the load goes on for those who ask next.
func (l *Loader) Load(ctx context.Context, request Request) (*Image, error) {
	key := request.URL + "\x00" + request.ETag + "\x00" + request.LastModified
	if last, ok := l.recent.Get(key); ok && !request.Anew && l.deps.Now().Sub(last.at) < l.cfg.Recent {
		return last.image, last.err
	}
	if request.Anew {
		key += "\x00anew"
	}
	flight := l.flights.DoChan(key, func() (any, error) {
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Flight)
		defer cancel()
		image, err := l.load(whole, request)
		if !fetch.Retryable(err) && fetch.ClassOf(err) != fetch.ClassCanceled { // what passes is tried again by whoever asks next
			l.recent.Add(key, found{image, err, l.deps.Now()})
		}
		return image, err
	})
	select {
	case result := <-flight:
		image, _ := result.Val.(*Image)
		return image, result.Err //nolint:wrapcheck // is ours
	case <-ctx.Done():
		return nil, &fetch.Error{Class: fetch.ClassOf(ctx.Err()), Err: ctx.Err()}
	}
}

func (l *Loader) load(ctx context.Context, request Request) (*Image, error) {
	var info picture.Info
	response, err := l.deps.Fetcher.Do(ctx, fetch.Request{
		URI: request.URL, ETag: request.ETag, LastModified: request.LastModified,
		Accept: "image/avif,image/webp,image/png,image/jpeg,image/gif,image/svg+xml;q=0.9,*/*;q=0.5",
		// Within the fetch, so that a gateway that gives half an image is followed by the next one.
		Check: func(response *fetch.Response) error {
			var failed error
			info, failed = l.inspect(ctx, response.Body)
			return failed
		},
	})
	switch {
	case err != nil:
		return nil, err //nolint:wrapcheck // has its class
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

func (l *Loader) inspect(ctx context.Context, body []byte) (picture.Info, error) {
	if picture.Sniff(body) == "" {
		return picture.Info{}, &fetch.Error{Class: fetch.ClassNotImage, Err: picture.ErrNotImage}
	}
	select {
	case l.decoding <- struct{}{}:
		defer func() { <-l.decoding }()
	case <-ctx.Done():
		return picture.Info{}, &fetch.Error{Class: fetch.ClassOf(ctx.Err()), Err: ctx.Err()}
	}
	info, err := picture.Inspect(body, l.cfg.Limits)
	switch {
	case err == nil:
		return info, nil
	case errors.Is(err, picture.ErrBounds):
		return info, &fetch.Error{Class: fetch.ClassImageBounds, Err: err}
	case errors.Is(err, picture.ErrNotImage):
		return info, &fetch.Error{Class: fetch.ClassNotImage, Err: err}
	}
	return info, &fetch.Error{Class: fetch.ClassBadImage, Err: err}
}

// Variant is a form of a stored image, made and stored when it is asked for first. It is false when the image is not in the store, or when ctx
// ends. Where a form cannot be made, the image itself is given.
func (l *Loader) Variant(ctx context.Context, key blobs.Key, variant picture.Variant) (*blobs.Blob, bool) {
	if l.deps.Store == nil {
		return nil, false
	}
	if variant == (picture.Variant{}) {
		return l.deps.Store.Get(key)
	}
	derived := key.Derived(fmt.Sprintf("%d %s", variant.Size, variant.Type))
	if blob, ok := l.deps.Store.Get(derived); ok {
		return blob, true
	}
	original, ok := l.deps.Store.Get(key)
	if !ok || original.Type == picture.SVG {
		return original, ok
	}
	flight := l.flights.DoChan("variant "+derived.String(), func() (any, error) {
		l.decoding <- struct{}{}
		defer func() { <-l.decoding }()
		body, kind, err := picture.Make(original.Body, original.Type, variant, l.cfg.Limits)
		if err != nil {
			return original, nil //nolint:nilerr // the image itself is better than none
		}
		return l.deps.Store.Put(derived, kind, body), nil
	})
	select {
	case result := <-flight:
		blob, ok := result.Val.(*blobs.Blob)
		return blob, ok
	case <-ctx.Done():
		return nil, false
	}
}
