package search

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// prefixed is a text to sort. Most texts differ in their first eight bytes, which are compared as
// one number.
type prefixed struct {
	prefix uint64
	at     uint32
}

// textOrder returns the numbers below count in the order of their texts; numbers of equal texts are
// ascending.
func textOrder(count int, text func(at uint32) string) []uint32 {
	prefix := func(at uint32) uint64 {
		var buf [8]byte
		copy(buf[:], text(at))
		return binary.BigEndian.Uint64(buf[:])
	}
	return orderOf(count, prefix, func(a, b uint32) int { return strings.Compare(text(a), text(b)) })
}

// mintOrder returns the numbers of mints in the order of their texts; numbers of equal mints are
// ascending.
func mintOrder(mints []pubkey.Key) []uint32 {
	prefix := func(at uint32) uint64 { return mints[at].Prefix() }
	return orderOf(len(mints), prefix, func(a, b uint32) int { return pubkey.Compare(mints[a], mints[b]) })
}

// orderOf sorts the numbers below count by prefix, then by compare, then ascending.
func orderOf(count int, prefix func(at uint32) uint64, compare func(a, b uint32) int) []uint32 {
	list := make([]prefixed, count)
	for i := range list {
		list[i] = prefixed{prefix(uint32(i)), uint32(i)}
	}
	slices.SortFunc(list, func(a, b prefixed) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return cmp.Or(compare(a.at, b.at), cmp.Compare(a.at, b.at))
	})
	order := make([]uint32, count)
	for i := range list {
		order[i] = list[i].at
	}
	return order
}

// byCount sorts numbers by their counts. It is a stable counting sort.
func byCount(numbers []uint32, counts []uint16) []uint32 {
	most := uint16(0)
	for _, count := range counts {
		most = max(most, count)
	}
	first := make([]uint32, int(most)+1)
	for _, count := range counts {
		first[count]++
	}
	sum := uint32(0)
	for i, count := range first {
		first[i], sum = sum, sum+count
	}
	sorted := make([]uint32, len(numbers))
	for _, number := range numbers {
		sorted[first[counts[number]]] = number
		first[counts[number]]++
	}
	return sorted
}
