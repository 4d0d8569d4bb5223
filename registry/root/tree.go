// Package root is the registry's root: one short hash over what the chain states about every token.
//
// In: states of the fold, or the facts that make them. Out: a root, which is a slot, a count and 32
// bytes. Guarantees: pure; the same facts give the same root in any order, with any repeats, in one
// part or in many; a root can be kept up to date at a cost that grows with what changed and not
// with the registry.
//
// The root is that of a Merkle tree over a set with one element for each token.
// docs/registry-root.md specifies the elements and the tree, and what a root proves and what it
// does not.
package root

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// The tree's shape is fixed, so that it depends on the set only. A mint's bucket is the number that
// the first bucketBits bits of the SHA-256 of its base58 address make. Each node above has fanOut
// children. With 2^18 buckets, two million tokens make about eight to a bucket.
const (
	fanBits    = 3
	fanOut     = 1 << fanBits
	depth      = 6 // levels above the buckets
	bucketBits = fanBits * depth
	buckets    = 1 << bucketBits
)

// A small registry should not need the memory of a large one. So the digests of the lower levels
// are allocated by branches. A branch is everything below one node of the middle level.
const (
	middle     = depth / 2
	branchBits = fanBits * middle
	branches   = buckets >> branchBits
	// branchNodes is how many digests a branch has, of all levels below the middle.
	branchNodes = (1<<branchBits - 1) * fanOut / (fanOut - 1)
)

// The first byte of a hash's input tells what is hashed, so that a hash of one kind cannot pass for
// another.
const (
	tagLeaf = iota
	tagBucket
	tagNode
	tagRoot
)

const sumSize = sha256.Size

// nothing is the digest of a bucket without leaves, and of a node above such buckets only. No input
// is known that hashes to it.
var nothing Sum

// Tree is a set of elements, at most one for each mint's number, and the hashes over them. It
// stores digests, not elements: about 47 bytes for each of two million. It must not be used
// concurrently.
type Tree struct {
	encoder encoder
	leaves  leaves
	// branches and top store the digests of the lower and of the upper levels, the lowest level
	// first. The digest of a node that waits is out of date.
	branches [branches][]byte
	top      []byte
	// waits has a bit for each node of each level, which is set if the node waits to be hashed
	// again. waiting is the number of bits set.
	waits   [depth + 1][]uint64
	waiting int
	buf     []byte
}

// NewTree returns an empty tree.
func NewTree() *Tree {
	t := &Tree{top: make([]byte, sumSize*(fanOut*branches-1)/(fanOut-1))}
	for level := range t.waits {
		t.waits[level] = make([]uint64, (buckets>>(fanBits*level)+63)/64)
	}
	return t
}

// Len is the number of elements.
func (t *Tree) Len() int { return t.leaves.count }

// Put sets the element of a mint to that of state, or removes it if the state has none. A number
// must be below 2^32-1 and always stand for the same mint.
func (t *Tree) Put(number uint32, mint pubkey.Key, state *registry.State) {
	leaf, _ := t.encoder.leaf(mint, state)
	t.put(number, t.encoder.bucket(mint), &leaf)
}

// put is Put for a leaf. It removes the element if leaf is nothing.
func (t *Tree) put(number, bucket uint32, leaf *Sum) {
	if t.leaves.put(number, bucket, leaf) {
		if branch := &t.branches[bucket>>branchBits]; *branch == nil {
			*branch = make([]byte, sumSize*branchNodes)
		}
		t.wait(0, bucket)
	}
}

// digests returns the digests of count adjacent nodes of a level, from node on. Below the middle
// level the nodes must lie in one branch, and a leaf must have been put into that branch before.
func (t *Tree) digests(level int, node, count uint32) []byte {
	in, from, below := t.top, node, level-middle // below: levels that come first in it
	if level < middle {
		bits := branchBits - fanBits*level // of the node's number within its branch
		in, from, below = t.branches[node>>bits], node&(1<<bits-1), level
	}
	// A level has an eighth of the digests of the level below it.
	size := uint32(1 << branchBits)
	for range below {
		from += size
		size >>= fanBits
	}
	return in[sumSize*from:][:sumSize*count]
}

// wait marks a node as out of date.
func (t *Tree) wait(level int, node uint32) {
	word, bit := &t.waits[level][node/64], uint64(1)<<(node%64)
	if *word&bit == 0 {
		*word |= bit
		t.waiting++
	}
}

// Work hashes buckets and nodes that are out of date, at most limit of them. It reports whether
// none is left.
func (t *Tree) Work(limit int) bool {
	for level := 0; level <= depth && t.waiting > 0; level++ {
		for i, word := range t.waits[level] {
			for ; word != 0; word &= word - 1 {
				if limit--; limit < 0 {
					return false
				}
				t.waits[level][i] &= word - 1
				t.waiting--
				t.rehash(level, uint32(64*i+bits.TrailingZeros64(word)))
			}
		}
	}
	return true
}

// rehash computes the digest of a bucket (level 0) or node again. If it changed, the parent waits.
func (t *Tree) rehash(level int, node uint32) {
	digest := nothing
	if level == 0 {
		t.buf = t.leaves.appendTo(append(t.buf[:0], tagBucket), node)
		if len(t.buf) > 1 {
			sortSums(t.buf[1:])
			digest = sha256.Sum256(t.buf)
		}
	} else {
		children := t.digests(level-1, fanOut*node, fanOut)
		if !bytes.Equal(children, nothings[:]) {
			t.buf = append(append(t.buf[:0], tagNode), children...)
			digest = sha256.Sum256(t.buf)
		}
	}
	held := t.digests(level, node, 1)
	if !bytes.Equal(held, digest[:]) {
		copy(held, digest[:])
		if level < depth {
			t.wait(level+1, node>>fanBits)
		}
	}
}

// nothings are the children's digests of a node without leaves below it.
var nothings [sumSize * fanOut]byte

// Sum hashes what is out of date and returns the root's hash.
func (t *Tree) Sum() Sum {
	for !t.Work(buckets) {
	}
	return sumOf(t.Len(), Sum(t.digests(depth, 0, 1)))
}

// sumOf returns the root's hash for the digest of the top node.
func sumOf(tokens int, top Sum) Sum {
	var input [2 + 8 + sumSize]byte
	input[0], input[1] = tagRoot, Version
	binary.BigEndian.PutUint64(input[2:], uint64(tokens))
	copy(input[10:], top[:])
	return sha256.Sum256(input[:])
}

// insertionLimit is how many digests sortSums sorts by insertion at most. A bucket has about eight
// and seldom thirty.
const insertionLimit = 64

// sortSums sorts the digests in list, which follow each other without a gap. An insertion sort in
// place allocates nothing, but would be quadratic for a long list.
func sortSums(list []byte) {
	if len(list) > insertionLimit*sumSize {
		sums := slices.SortedFunc(slices.Chunk(list, sumSize), bytes.Compare)
		copy(list, bytes.Join(sums, nil))
		return
	}
	for end := sumSize; end < len(list); end += sumSize {
		inserted := Sum(list[end : end+sumSize])
		at := end
		for at > 0 && bytes.Compare(list[at-sumSize:at], inserted[:]) > 0 {
			at -= sumSize
		}
		copy(list[at+sumSize:end+sumSize], list[at:end])
		copy(list[at:], inserted[:])
	}
}

// encoder computes leaves. It keeps its buffer, so that nothing is allocated.
type encoder struct{ buf []byte }

// leaf returns the digest of a state's element; nothing and false if it has none.
func (e *encoder) leaf(mint pubkey.Key, state *registry.State) (Sum, bool) {
	element, ok := AppendEncode(append(e.buf[:0], tagLeaf), mint, state)
	e.buf = element
	if !ok {
		return nothing, false
	}
	return sha256.Sum256(element), true
}

// bucket returns the bucket of a mint's leaf. The address is hashed, so that vanity addresses and
// numbered test mints do not crowd into a few buckets.
func (e *encoder) bucket(mint pubkey.Key) uint32 {
	e.buf = mint.Append(e.buf[:0])
	digest := sha256.Sum256(e.buf)
	return binary.BigEndian.Uint32(digest[:]) >> (32 - bucketBits)
}
