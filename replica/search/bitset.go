package search

import (
	"iter"
	"math/bits"
)

// bitset is a set of numbers. Most searches find a few terms among a million, so used records which
// of the words are not 0: reading or clearing a small set takes little time.
type bitset struct {
	words []uint64
	used  []uint64 // a bit for each word that is not 0
}

// grow makes room for a number of words. The set must be empty.
func (b *bitset) grow(words int) {
	if words > len(b.words) {
		b.words, b.used = make([]uint64, words), make([]uint64, (words+63)/64)
	}
}

func (b *bitset) add(n uint32) { b.addWord(int(n/64), 1<<(n%64)) }

// addWord adds the numbers 64*at+i for each bit i of word.
func (b *bitset) addWord(at int, word uint64) {
	if word != 0 {
		b.words[at] |= word
		b.used[at/64] |= 1 << (at % 64)
	}
}

func (b *bitset) has(n uint32) bool { return hasBit(b.words, n) }

// count returns how many numbers there are.
func (b *bitset) count() (count int) {
	for at := range usedWords(b, b) {
		count += bits.OnesCount64(b.words[at])
	}
	return count
}

// clear empties the set.
func (b *bitset) clear() {
	for at := range usedWords(b, b) {
		b.words[at] = 0
	}
	clear(b.used)
}

// all iterates over the numbers, ascending.
func (b *bitset) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for at := range usedWords(b, b) {
			for word := b.words[at]; word != 0; word &= word - 1 {
				if !yield(uint32(at*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// usedWords iterates over the indexes of the words that are not 0 in a or in b, which have the same
// size.
func usedWords(a, b *bitset) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range a.used {
			for used := a.used[i] | b.used[i]; used != 0; used &= used - 1 {
				if !yield(i*64 + bits.TrailingZeros64(used)) {
					return
				}
			}
		}
	}
}

// hasBit returns whether n is in a bitmap.
func hasBit(bitmap []uint64, n uint32) bool { return bitmap[n/64]>>(n%64)&1 != 0 }

// newBitmap returns a bitmap for the numbers below numbers, with the bits of those in listed set.
func newBitmap(numbers int, listed []uint32) []uint64 {
	bitmap := make([]uint64, (numbers+63)/64)
	for _, n := range listed {
		bitmap[n/64] |= 1 << (n % 64)
	}
	return bitmap
}

// countBits counts the numbers of a bitmap that are in [from, to).
func countBits(bitmap []uint64, from, to uint32) int {
	if from >= to {
		return 0
	}
	first, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(63-(to-1)%64)
	if first == last {
		return bits.OnesCount64(bitmap[first] & head & tail)
	}
	count := bits.OnesCount64(bitmap[first]&head) + bits.OnesCount64(bitmap[last]&tail)
	for _, word := range bitmap[first+1 : last] {
		count += bits.OnesCount64(word)
	}
	return count
}
