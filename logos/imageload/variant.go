package imageload

import (
	"context"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/picture"
	"github.com/mintlake/mintlake/logos/picture/svg"
)

// Variant returns a stored image in the size and type of variant. The variant is made and stored
// when it is first asked for. If the decoders are too busy to make it, Variant returns the image
// itself, but never an SVG that is not sanitized. It returns false if the image is not in the
// store, if today's limits refuse it, or if ctx ends.
func (l *Loader) Variant(ctx context.Context, key blobs.Key, variant picture.Variant) (*blobs.Blob, bool) {
	if l.deps.Store == nil {
		return nil, false
	}
	if variant != (picture.Variant{}) {
		if blob, ok := l.deps.Store.Get(derivedKey(key, variant)); ok {
			return blob, true
		}
	}
	original, ok := l.deps.Store.Get(key)
	switch {
	case !ok:
		return nil, false
	case original.Type == picture.SVG:
		return l.clean(ctx, key, original)
	case !l.fit(key, original):
		return nil, false
	case variant == (picture.Variant{}):
		return original, true
	}
	return l.made(ctx, derivedKey(key, variant), original, variant)
}

func derivedKey(key blobs.Key, variant picture.Variant) blobs.Key {
	return key.Derived(fmt.Sprintf("%d %s", variant.Size, variant.Type))
}

// clean returns the sanitized form of an SVG; false if that cannot be made, or not now. The SVG as
// it was fetched stays in the store, for a later version of the sanitizer.
func (l *Loader) clean(ctx context.Context, key blobs.Key, original *blobs.Blob) (*blobs.Blob, bool) {
	derived := key.Derived(fmt.Sprintf("svg %d", svg.Version))
	if blob, ok := l.deps.Store.Get(derived); ok {
		return blob, true
	}
	if good, known := l.judged.Get(key); known && !good {
		return nil, false
	}
	blob, ok := l.made(ctx, derived, original, picture.Variant{})
	if !ok || blob == original { // made returns original if the decoders are too busy
		return nil, false
	}
	return blob, true
}

// fit reports whether a stored picture is within today's limits. The picture was checked before it
// was stored, but maybe by an older version with wider limits. The result is remembered.
func (l *Loader) fit(key blobs.Key, original *blobs.Blob) bool {
	good, known := l.judged.Get(key)
	if !known {
		_, err := picture.Survey(original.Body, l.cfg.limits)
		good = err == nil
		l.judged.Add(key, good)
	}
	return good
}

// made makes a variant and stores it under derived. If the decoders are too busy, it returns
// original. It returns false if ctx ends, or if the image turns out to be broken or over its
// limits. In the second case no variant of the image is made any more; only variants that are
// stored already are still given out.
func (l *Loader) made(ctx context.Context, derived blobs.Key, original *blobs.Blob, variant picture.Variant) (*blobs.Blob, bool) {
	blob, _ := l.makes.Do(ctx, derived.String(), l.cfg.flight, func(ctx context.Context) (*blobs.Blob, error) {
		body, kind, err := l.deps.Decoder.Make(ctx, original.Body, original.Type, variant)
		switch {
		case err == nil:
			return l.deps.Store.Put(derived, kind, body), nil
		case errors.Is(err, picture.ErrBudget), errors.Is(err, picture.ErrBounds), errors.Is(err, picture.ErrBroken), errors.Is(err, picture.ErrNotImage):
			l.judged.Add(blobs.KeyOf(original.Body), false)
			return nil, nil
		}
		return original, nil // the machine is too busy: a caller that may show the original does so
	})
	return blob, blob != nil
}
