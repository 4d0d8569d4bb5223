package search

import (
	"bytes"
	"unicode/utf8"
)

// A query of one or two letters or digits requires no gram of the terms that contain it. These
// terms are found by blocks of terms: each block is listed under the runes, and the pairs of runes,
// that occur in it. A search reads the blocks that are listed under the query.

// blockSize is how many terms a block has. The number of a block must fit 16 bits.
const blockSize = 64

// newBlocks lists the blocks of a dictionary.
func newBlocks(d *dictionary) buckets[uint16] {
	var entries []bucketEntry[uint16]
	// A bucket needs each block only once, under whatever hash. So last notes, in a cell for the
	// low bits of a hash, the number plus 1 of the block that was listed last with these bits. A
	// byte of text makes at most two entries, so there are at least as many cells as buckets.
	// Hashes of one cell are therefore in one bucket, and no bucket lacks a block.
	last := make([]uint16, bucketsFor(2*len(d.text)))
	for t := range d.terms() {
		block := t / blockSize
		add := func(hash uint32) {
			if seen := &last[hash&uint32(len(last)-1)]; *seen != uint16(block+1) {
				*seen = uint16(block + 1)
				entries = append(entries, bucketEntry[uint16]{hash, uint16(block)})
			}
		}
		previous := rune(-1)
		for text := d.term(uint32(t)); len(text) > 0; {
			r, size := utf8.DecodeRune(text)
			add(hashRunes(-1, r))
			if previous >= 0 {
				add(hashRunes(previous, r))
			}
			previous, text = r, text[size:]
		}
	}
	return newBuckets(entries)
}

// hashRunes returns the hash of two runes, or of r alone if previous is -1.
func hashRunes(previous, r rune) uint32 {
	return uint32((uint64(uint32(previous))<<32 | uint64(uint32(r))) * hashFactor >> 40)
}

// blockHash returns the hash under which blocks with a text of one or two runes are listed. Of a
// longer text it takes the first two.
func blockHash(text string) uint32 {
	first, size := utf8.DecodeRuneInString(text)
	if size == len(text) {
		return hashRunes(-1, first)
	}
	second, _ := utf8.DecodeRuneInString(text[size:])
	return hashRunes(first, second)
}

// readBlocks finds the terms that contain the text in the blocks that have its first two runes.
func (c *candidates) readBlocks() {
	s, text := c.segment, []byte(c.plan.text)
	for _, block := range s.blocks.list(c.plan.blockHash) {
		t := int(block) * blockSize
		at, end := s.ends[t], s.ends[min(t+blockSize, s.terms())]
		for at < end {
			next := bytes.Index(s.text[at:end], text)
			if next < 0 {
				break
			}
			at += uint32(next)
			for s.ends[t+1] <= at {
				t++
			}
			if at+uint32(len(text)) <= s.ends[t+1] {
				c.addContaining(uint32(t))
				at = s.ends[t+1]
			} else { // the match reaches into the next term
				at++
			}
		}
	}
}
