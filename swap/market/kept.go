package market

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// kept is a value that is remembered of a pair until the time till.
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
