package search

// buckets maps hashes to lists of items. It does not keep the keys: a list may also have items of
// other keys, so the caller must verify each.
type buckets[T uint16 | uint32] struct {
	mask  uint32
	first []uint32 // where in items each bucket begins, and at the next place ends
	items []T
}

// bucketEntry is an item to put into buckets.
type bucketEntry[T uint16 | uint32] struct {
	hash uint32
	item T
}

// maxBuckets is the most buckets that are made.
const maxBuckets = 1 << 18

// bucketsFor returns how many buckets are made for so many entries: a power of two.
func bucketsFor(entries int) int {
	size := 1
	for size < entries && size < maxBuckets {
		size *= 2
	}
	return size
}

// newBuckets is a counting sort: the items of a bucket keep their order.
func newBuckets[T uint16 | uint32](entries []bucketEntry[T]) buckets[T] {
	size := bucketsFor(len(entries))
	b := buckets[T]{mask: uint32(size - 1), first: make([]uint32, size+1), items: make([]T, len(entries))}
	for _, e := range entries {
		b.first[e.hash&b.mask+1]++
	}
	for i := range size {
		b.first[i+1] += b.first[i]
	}
	next := append([]uint32(nil), b.first[:size]...)
	for _, e := range entries {
		at := e.hash & b.mask
		b.items[next[at]] = e.item
		next[at]++
	}
	return b
}

func (b *buckets[T]) list(hash uint32) []T {
	at := hash & b.mask
	return b.items[b.first[at]:b.first[at+1]]
}
