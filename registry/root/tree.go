// Package root is the registry's root: one short hash over what the chain says of every token.
//
// In: states of the fold, or the facts that make them. Out: a root, which is a slot, a count and 32
// bytes. Guarantees: pure; the same facts give the same root in any order, with any repeats, in one
// part or in many; a root can be kept up to date at a cost that grows with what changed and not
// with the registry.
//
// The root is that of a Merkle tree over a set with one element per token. docs/registry-root.md
// says what an element holds, how the tree is made, what a root proves and what it does not.
package root

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mintlake/mintlake/registry"
)

// The tree's shape is fixed, so that it is a function of the set alone: a mint's bucket is the
// number that the first bucketBits bits of the SHA-256 of its base58 make, and each node above has
// fanOut children. With 2^18 buckets two million tokens are eight to a bucket.
const (
	fanBits    = 3
	fanOut     = 1 << fanBits
	depth      = 6 // levels above the buckets
	bucketBits = fanBits * depth
	buckets    = 1 << bucketBits
)

// Small registries need not have the memory of large ones: digests of the lower levels are kept by
// branches, each with the buckets below one node of the level in the middle.
const (
	middle      = depth / 2
	branchBits  = fanBits * middle
	branches    = buckets >> branchBits
	branchNodes = (1<<branchBits - 1) * fanOut / (fanOut - 1) // of all levels below the middle
)

// Each kind of hash has its first byte, so that none can pose as another.
const (
	tagLeaf = iota
	tagBucket
	tagNode
	tagRoot
)

const sumSize = sha256.Size

// nothing is the digest of a bucket without leaves and of a node above such ones: no input is known
// that hashes to it.
var nothing Sum

// Tree is a set of elements, at most one for each mint's number, and the hashes over them. It keeps
// digests, not elements: about 47 bytes for each of two million. It is for one goroutine at a time.
type Tree struct {
	encoder encoder
	leaves  leaves
	// branches and top are the digests of the lower and of the upper levels, the lowest level
	// first. One that waits is out of date.
	branches [branches][]byte
	top      []byte
	// waits are bits, one for each node; waiting is how many are set.
	waits   [depth + 1][]uint64
	waiting int
	buf     []byte
}

// NewTree returns an empty tree. Its memory comes zeroed from take, which keeps it for as long as
// somebody holds take; nil means the heap.
func NewTree(take func(size int) []byte) *Tree {
	if take == nil {
		take = func(size int) []byte { return make([]byte, size) }
	}
	t := &Tree{leaves: leaves{take: take}, top: take(sumSize * (fanOut*branches - 1) / (fanOut - 1))}
	for level := range t.waits {
		t.waits[level] = make([]uint64, (buckets>>(fanBits*level)+63)/64)
	}
	return t
}

// Len is the number of elements.
func (t *Tree) Len() int { return t.leaves.count }

// Put makes the element of a state the mint's, or takes out what was there if the state has none. A
// number, below 2^32-1, is always the same mint's.
func (t *Tree) Put(number uint32, mint string, state *registry.State) {
	leaf, _ := t.encoder.leaf(mint, state)
	t.put(number, t.encoder.bucket(mint), &leaf)
}

// put is Put for a leaf, nothing to take it out.
func (t *Tree) put(number, bucket uint32, leaf *Sum) {
	if t.leaves.put(number, bucket, leaf) {
		if branch := &t.branches[bucket>>branchBits]; *branch == nil {
			*branch = t.leaves.take(sumSize * branchNodes)
		}
		t.wait(0, bucket)
	}
}

// digests are some of a level, in a row and in one branch: those of a node that has a child, or is
// one that was put into.
func (t *Tree) digests(level int, node, count uint32) []byte {
	in, from, below := t.top, node, level-middle // levels of which digests lie before
	if level < middle {
		bits := branchBits - fanBits*level // of the node's number within its branch
		in, from, below = t.branches[node>>bits], node&(1<<bits-1), level
	}
	// A level has an eighth of the digests of the one below.
	size := uint32(1 << branchBits)
	for range below {
		from += size
		size >>= fanBits
	}
	return in[sumSize*from:][:sumSize*count]
}

func (t *Tree) wait(level int, node uint32) {
	word, bit := &t.waits[level][node/64], uint64(1)<<(node%64)
	if *word&bit == 0 {
		*word |= bit
		t.waiting++
	}
}

// Work hashes what has changed, at most so many buckets and nodes, and says whether nothing is left
// to do.
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

var nothings [sumSize * fanOut]byte

// Sum is the root's hash.
func (t *Tree) Sum() Sum {
	for !t.Work(buckets) {
	}
	return sumOf(t.Len(), Sum(t.digests(depth, 0, 1)))
}

// sumOf is the root's hash over the top of the tree.
func sumOf(tokens int, top Sum) Sum {
	var input [2 + 8 + sumSize]byte
	input[0], input[1] = tagRoot, Version
	binary.BigEndian.PutUint64(input[2:], uint64(tokens))
	copy(input[10:], top[:])
	return sha256.Sum256(input[:])
}

// sortSums sorts the digests in list, which follow each other without a gap. A bucket has about
// eight and seldom thirty: up to 64 an insertion sort in place allocates nothing. Longer lists are
// rare, and an insertion sort of them would be quadratic.
func sortSums(list []byte) {
	if len(list) > 64*sumSize {
		sums := slices.SortedFunc(func(yield func([]byte) bool) {
			for sum := range slices.Chunk(bytes.Clone(list), sumSize) {
				if !yield(sum) {
					return
				}
			}
		}, bytes.Compare)
		copy(list, bytes.Join(sums, nil))
		return
	}
	var moved Sum
	for i := sumSize; i < len(list); i += sumSize {
		at := i
		for at > 0 && bytes.Compare(list[at-sumSize:at], list[i:i+sumSize]) > 0 {
			at -= sumSize
		}
		if at < i {
			copy(moved[:], list[i:])
			copy(list[at+sumSize:i+sumSize], list[at:i])
			copy(list[at:], moved[:])
		}
	}
}

// encoder makes leaves. It keeps its room, so that nothing is allocated.
type encoder struct{ buf []byte }

// leaf is the digest of a state's element; false, and nothing, where there is none.
func (e *encoder) leaf(mint string, state *registry.State) (Sum, bool) {
	element, ok := AppendEncode(append(e.buf[:0], tagLeaf), mint, state)
	e.buf = element
	if !ok {
		return nothing, false
	}
	return sha256.Sum256(element), true
}

// bucket is where a mint's leaf belongs. It is hashed, so that neither those who grind for pretty
// addresses nor counted test mints crowd in one.
func (e *encoder) bucket(mint string) uint32 {
	e.buf = append(e.buf[:0], mint...)
	digest := sha256.Sum256(e.buf)
	return binary.BigEndian.Uint32(digest[:]) >> (32 - bucketBits)
}
