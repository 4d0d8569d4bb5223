package imageload

import (
	"bytes"
	"context"
	"image/jpeg"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/hostileimages"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/picture"
)

func TestMain(m *testing.M) {
	decoder.MaybeRunChild()
	os.Exit(m.Run())
}

// newDecoder is decoders in processes of their own, as the program has them.
func newDecoder(t testing.TB, cfg decoder.Config) *decoder.Pool {
	t.Helper()
	pool, err := decoder.New(cfg, decoder.Deps{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// web is a Fetcher that counts.
type web struct {
	count atomic.Int64
	serve func(request fetch.Request) (*fetch.Response, error)
}

func (w *web) Do(_ context.Context, request fetch.Request) (*fetch.Response, error) {
	w.count.Add(1)
	response, err := w.serve(request)
	if err == nil && request.Check != nil && !response.NotModified {
		err = request.Check(response)
	}
	if err != nil {
		return nil, err
	}
	return response, nil
}

func newLoader(t *testing.T, w *web, now func() time.Time) (*Loader, *blobs.Store) {
	t.Helper()
	store, err := blobs.New(blobs.Config{Dir: t.TempDir()}, blobs.Deps{})
	require.NoError(t, err)
	require.NoError(t, store.Open())
	loader, err := New(Config{recent: time.Minute}, Deps{Fetcher: w, Decoder: newDecoder(t, decoder.Config{}), Store: store, Now: now})
	require.NoError(t, err)
	return loader, store
}

func TestAURLIsFetchedOnce(t *testing.T) {
	release := make(chan struct{})
	w := &web{serve: func(fetch.Request) (*fetch.Response, error) {
		<-release
		return &fetch.Response{Body: pngOf(1)}, nil
	}}
	at := time.Unix(1000, 0)
	loader, _ := newLoader(t, w, func() time.Time { return at })
	var group sync.WaitGroup
	var began sync.WaitGroup
	for range 50 {
		began.Add(1)
		group.Go(func() {
			began.Done()
			image, err := loader.Load(context.Background(), Request{URL: "x"})
			if err != nil || image.Type != picture.PNG {
				t.Error(err)
			}
		})
	}
	began.Wait()
	close(release)
	group.Wait()
	require.EqualValues(t, 1, w.count.Load())
	_, err := loader.Load(context.Background(), Request{URL: "x", Anew: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, w.count.Load())
	w.serve = func(fetch.Request) (*fetch.Response, error) { return &fetch.Response{Body: pngOf(2)}, nil }
	anew, err := loader.Load(context.Background(), Request{URL: "x", Anew: true})
	require.NoError(t, err)
	later, err := loader.Load(context.Background(), Request{URL: "x"})
	require.NoError(t, err)
	require.Same(t, anew, later, "not what was found before")
	require.EqualValues(t, 3, w.count.Load())
	at = at.Add(2 * time.Minute)
	_, err = loader.Load(context.Background(), Request{URL: "x"})
	require.NoError(t, err)
	require.EqualValues(t, 4, w.count.Load(), "what was found is not believed for ever")
}

// Who does not wait leaves the load to those who come next.
func TestALoadOutlivesItsCaller(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{})
	w := &web{serve: func(fetch.Request) (*fetch.Response, error) {
		close(arrived)
		<-release
		return &fetch.Response{Body: pngOf(1)}, nil
	}}
	loader, store := newLoader(t, w, nil)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	_, err := loader.Load(ctx, Request{URL: "x"})
	require.Equal(t, fetch.ClassCanceled, fetch.ClassOf(err))
	close(release)
	require.Eventually(t, func() bool { return store.Has(blobs.KeyOf(pngOf(1))) }, 30*time.Second, time.Millisecond)
	require.EqualValues(t, 1, w.count.Load())
}

func TestFailuresThatPassAreTriedAgain(t *testing.T) {
	for class, again := range map[fetch.Class]bool{fetch.ClassTimeout: true, fetch.ClassRefusedAddress: false} {
		w := &web{serve: func(fetch.Request) (*fetch.Response, error) { return nil, &fetch.Error{Class: class} }}
		loader, _ := newLoader(t, w, nil)
		for range 2 {
			_, err := loader.Load(context.Background(), Request{URL: "x"})
			require.Equal(t, class, fetch.ClassOf(err))
		}
		require.Equal(t, again, w.count.Load() == 2, class)
	}
}

func TestVariantsAreMadeOnceAndStored(t *testing.T) {
	var body bytes.Buffer
	require.NoError(t, jpeg.Encode(&body, pictureOf(1), nil))
	w := &web{serve: func(fetch.Request) (*fetch.Response, error) { return &fetch.Response{Body: body.Bytes()}, nil }}
	loader, store := newLoader(t, w, nil)
	image, err := loader.Load(context.Background(), Request{URL: "x"})
	require.NoError(t, err)
	// The decoder's test makes WebP: its codec takes seconds to compile.
	variant := picture.Variant{Type: picture.PNG}
	made, ok := loader.Variant(context.Background(), image.Key, variant)
	require.True(t, ok)
	require.Equal(t, picture.PNG, made.Type)
	again, ok := loader.Variant(context.Background(), image.Key, variant)
	require.True(t, ok)
	require.Same(t, made, again)
	same, ok := loader.Variant(context.Background(), image.Key, picture.Variant{})
	require.True(t, ok)
	require.Equal(t, body.Bytes(), same.Body)
	store.Delete(image.Key)
	_, ok = loader.Variant(context.Background(), image.Key, picture.Variant{Size: 32})
	require.False(t, ok)
	kept, ok := loader.Variant(context.Background(), image.Key, variant)
	require.True(t, ok, "a variant needs its image no more")
	require.Equal(t, made.Body, kept.Body)
}

// Rules grow narrower: what an older version stored is judged again before it is given.
func TestWhatWasStoredUnderOlderRulesIsNotGiven(t *testing.T) {
	loader, store := newLoader(t, &web{}, nil)
	given := func(kind string, body []byte, variant picture.Variant) *blobs.Blob {
		key := blobs.KeyOf(body)
		store.Put(key, kind, body)
		blob, _ := loader.Variant(context.Background(), key, variant)
		return blob
	}
	for _, hostile := range hostileimages.All() {
		kind := picture.Sniff(hostile.Body)
		// The decoder's test has the large ones: each takes seconds.
		if kind == "" || len(hostile.Body) > 1<<20 {
			continue
		}
		for _, variant := range []picture.Variant{{}, {Size: 32}, {Type: picture.WebP}} {
			blob := given(kind, hostile.Body, variant)
			if hostile.Class != "" {
				require.Nil(t, blob, hostile.Name)
				continue
			}
			require.NotNil(t, blob, hostile.Name)
			require.Equal(t, picture.SVG, blob.Type)
			require.NotContains(t, strings.ToLower(string(blob.Body)), hostileimages.Mark, hostile.Name)
			again, ok := loader.Variant(context.Background(), blobs.KeyOf(hostile.Body), picture.Variant{})
			require.True(t, ok)
			require.Same(t, blob, again, "it is cleaned once")
		}
	}
	require.Equal(t, pngOf(3), given(picture.PNG, pngOf(3), picture.Variant{}).Body)
}

// A picture that exceeds its budget is broken, and the next one is looked at all the same.
func TestAPictureBeyondItsBudget(t *testing.T) {
	slow := hostileimages.JPEGScans(4096, 18)
	w := &web{serve: func(request fetch.Request) (*fetch.Response, error) {
		if request.URI == "slow" {
			return &fetch.Response{Body: slow}, nil
		}
		return &fetch.Response{Body: pngOf(1)}, nil
	}}
	store, err := blobs.New(blobs.Config{Dir: t.TempDir()}, blobs.Deps{})
	require.NoError(t, err)
	require.NoError(t, store.Open())
	loader, err := New(Config{}, Deps{Fetcher: w, Store: store, Decoder: newDecoder(t, decoder.Config{CPU: 20 * time.Millisecond, CPUPerMegapixel: 1})})
	require.NoError(t, err)
	_, err = loader.Load(context.Background(), Request{URL: "slow"})
	require.Equal(t, fetch.ClassImageBudget, fetch.ClassOf(err))
	require.False(t, fetch.Retryable(err))
	require.False(t, store.Has(blobs.KeyOf(slow)))
	_, err = loader.Load(context.Background(), Request{URL: "slow"})
	require.Equal(t, fetch.ClassImageBudget, fetch.ClassOf(err))
	require.EqualValues(t, 1, w.count.Load(), "what is known to be too much is not fetched anew")
	_, err = loader.Load(context.Background(), Request{URL: "good"})
	require.NoError(t, err)

	store.Put(blobs.KeyOf(slow), picture.JPEG, slow) // by an older version
	_, ok := loader.Variant(context.Background(), blobs.KeyOf(slow), picture.Variant{Size: 32})
	require.False(t, ok)
	_, ok = loader.Variant(context.Background(), blobs.KeyOf(slow), picture.Variant{})
	require.False(t, ok, "what could not be decoded is not given whole either")
}
