package projector

import (
	"maps"
	"slices"
)

// details are the named values of a row. They are written in the order of their names, because a
// replay must write the same bytes and a Go map has no order. details is a column.OrderedMap of
// clickhouse-go.
type details map[string]string

// Get returns the value of a key.
func (d details) Get(key any) (any, bool) {
	name, ok := key.(string)
	value, found := d[name]
	return value, ok && found
}

// Put is never called: the map is only written.
func (d details) Put(key, value any) {
	name, _ := key.(string)
	d[name], _ = value.(string)
}

// Keys lists the keys in the order in which they are written.
func (d details) Keys() <-chan any {
	names := make(chan any, len(d))
	for _, name := range slices.Sorted(maps.Keys(d)) {
		names <- name
	}
	close(names)
	return names
}
