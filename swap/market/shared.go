package market

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// kept is what is remembered of a pair until till.
type kept[T any] struct {
	value T
	till  time.Time
}

// remembered returns what a cache has of a pair; ok is false if there is nothing, or if it is too
// old.
func remembered[T any](m *Market, cache *lru.Cache[pair, kept[T]], p pair) (value T, ok bool) {
	found, ok := cache.Get(p)
	if !ok || !m.deps.Now().Before(found.till) {
		return value, false
	}
	return found.value, true
}

func remember[T any](m *Market, cache *lru.Cache[pair, kept[T]], p pair, value T, ttl time.Duration) {
	cache.Add(p, kept[T]{value, m.deps.Now().Add(ttl)})
}

// shared makes one call for all who want the same at one time. So the call does not end with the
// request that began it, but after Config.timeout. The error is the call's, or ctx's.
func shared[T any](ctx context.Context, m *Market, what string, call func(ctx context.Context) (T, error)) (value T, err error) {
	detached := context.WithoutCancel(ctx)
	result := m.flight.DoChan(what, func() (any, error) {
		ctx, cancel := context.WithTimeout(detached, m.cfg.timeout)
		defer cancel()
		return call(ctx)
	})
	select {
	case <-ctx.Done():
		return value, ctx.Err()
	case r := <-result:
		if r.Err != nil {
			return value, r.Err
		}
		return r.Val.(T), nil
	}
}
