// Package root is the registry's root: one short hash over what the chain states about every token.
//
// In: states of the fold, or the facts that make them. Out: a root, which is a slot, a count and 32
// bytes for each version. Guarantees: pure; the same facts give the same root in any order, with
// any repeats, in one part or in many; a root can be kept up to date at a cost that grows with what
// changed and not with the registry.
//
// The root is that of a Merkle tree over a set with one element for each token.
// docs/registry-root.md specifies the elements and the tree of each version, and what a root proves
// and what it does not.
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

// The tree's shape is fixed, so that it depends on the set only. A mint's place is the number that
// the first placeBits bits of the SHA-256 of its base58 address make. The first groupBits of them
// tell its group. Version 1 hashes the leaves of a group as one bucket. Version 2 hashes the leaves
// of each place as a bucket, and a node over the fanOut buckets of the group. Above, both are
// alike: each node has fanOut children. Two million tokens make about eight to a group, thirty
// million about fourteen to a place.
const (
	fanBits   = 3
	fanOut    = 1 << fanBits
	depth     = 6 // levels above the groups
	groupBits = fanBits * depth
	groups    = 1 << groupBits
	placeBits = groupBits + fanBits
)

// A small registry should not need the memory of a large one. So the digests of the lower levels
// are allocated by branches. A branch is everything below one node of the middle level.
const (
	middle     = depth / 2
	branchBits = fanBits * middle
	branches   = groups >> branchBits
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

// Tree is a set of elements, at most one for each mint's number, and the hashes over them, of every
// version. It stores digests, not elements: about 53 bytes for each of two million, and 39 for each
// of thirty million. It must not be used concurrently.
type Tree struct {
	encoder encoder
	leaves  leaves
	// nodes are the digests of each version, of the groups and above. The digests of a node that
	// waits are out of date. Those of version 2's buckets are not kept: eight of them are made
	// again from the leaves whenever their group has changed, which costs less than 32 bytes for
	// each of two million buckets.
	nodes [Versions]nodes
	// waits has a bit for each node of each level, which is set if the node waits to be hashed
	// again. waiting is the number of bits set.
	waits   [depth + 1][]uint64
	waiting int
	found   []placed // buffer of rehashGroup
	buf     []byte
}

// NewTree returns an empty tree.
func NewTree() *Tree {
	t := new(Tree)
	for version := range t.nodes {
		t.nodes[version].top = make([]byte, sumSize*(fanOut*branches-1)/(fanOut-1))
	}
	for level := range t.waits {
		t.waits[level] = make([]uint64, (groups>>(fanBits*level)+63)/64)
	}
	return t
}

// Len is the number of elements.
func (t *Tree) Len() int { return t.leaves.count }

// Put sets the element of a mint to that of state, or removes it if the state has none. A number
// must be at most 2^29-2, as 3 bits of a place are kept beside it, and always stand for the same
// mint.
func (t *Tree) Put(number uint32, mint pubkey.Key, state *registry.State) {
	leaf, _ := t.encoder.leaf(mint, state)
	t.put(number, t.encoder.place(mint), &leaf)
}

// Add is Put for a mint that was not put before. It is quicker, as it does not look for the mint
// among the others of its group.
func (t *Tree) Add(number uint32, mint pubkey.Key, state *registry.State) {
	if leaf, ok := t.encoder.leaf(mint, state); ok {
		t.add(number, t.encoder.place(mint), &leaf)
	}
}

// put is Put for a leaf. It removes the element if leaf is nothing.
func (t *Tree) put(number, place uint32, leaf *Sum) {
	if t.leaves.put(number, place, leaf) {
		t.markStale(0, place>>fanBits)
	}
}

// add is Add for a leaf.
func (t *Tree) add(number, place uint32, leaf *Sum) {
	t.leaves.add(number, place, leaf)
	t.markStale(0, place>>fanBits)
}

// markStale marks a node as out of date: Work hashes it again.
func (t *Tree) markStale(level int, node uint32) {
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

// rehash computes the digests of a group (level 0) or node again. If one changed, the parent waits.
func (t *Tree) rehash(level int, node uint32) {
	var digests [Versions]Sum
	if level == 0 {
		digests = t.rehashGroup(node)
	} else {
		for version := range t.nodes {
			digests[version] = t.nodeOver(t.nodes[version].digests(level-1, fanOut*node, fanOut))
		}
	}
	changed := false
	for version := range t.nodes {
		held := t.nodes[version].digests(level, node, 1)
		if !bytes.Equal(held, digests[version][:]) {
			copy(held, digests[version][:])
			changed = true
		}
	}
	if changed && level < depth {
		t.markStale(level+1, node>>fanBits)
	}
}

// rehashGroup returns the digests of a group: of its one bucket in version 1, and of the node over
// its eight buckets in version 2.
func (t *Tree) rehashGroup(group uint32) (digests [Versions]Sum) {
	t.found = t.leaves.appendTo(t.found[:0], group)
	slices.SortFunc(t.found, func(a, b placed) int { return bytes.Compare(a.leaf[:], b.leaf[:]) })
	t.buf = append(t.buf[:0], tagBucket)
	for i := range t.found {
		t.buf = append(t.buf, t.found[i].leaf[:]...)
	}
	digests[0] = bucketOf(t.buf)
	var children [fanOut * sumSize]byte
	for child := range uint8(fanOut) {
		t.buf = append(t.buf[:0], tagBucket)
		for i := range t.found {
			if t.found[i].child == child {
				t.buf = append(t.buf, t.found[i].leaf[:]...)
			}
		}
		digest := bucketOf(t.buf)
		copy(children[sumSize*int(child):], digest[:])
	}
	digests[1] = t.nodeOver(children[:])
	return digests
}

// bucketOf returns the digest of a bucket for its hash's input: the tag and the sorted leaves.
func bucketOf(input []byte) Sum {
	if len(input) == 1 {
		return nothing
	}
	return sha256.Sum256(input)
}

// nodeOver returns the digest of the node over eight digests.
func (t *Tree) nodeOver(children []byte) Sum {
	if bytes.Equal(children, nothings[:]) {
		return nothing
	}
	t.buf = append(append(t.buf[:0], tagNode), children...)
	return sha256.Sum256(t.buf)
}

// nothings are the children's digests of a node without leaves below it.
var nothings [sumSize * fanOut]byte

// Sum hashes what is out of date and returns the hash of the root of version 1.
func (t *Tree) Sum() Sum { return t.sum(1) }

func (t *Tree) sum(version byte) Sum {
	for !t.Work(groups) {
	}
	return sumOf(version, t.Len(), Sum(t.nodes[version-1].digests(depth, 0, 1)))
}

// Root is the root at a slot, with the hashes of both versions.
func (t *Tree) Root(slot uint64) Root {
	return Root{Slot: slot, Tokens: t.Len(), Hash: t.Sum(), HashV2: t.sum(2)}
}

// sumOf returns the root's hash for the digest of the top node.
func sumOf(version byte, tokens int, top Sum) Sum {
	var input [2 + 8 + sumSize]byte
	input[0], input[1] = tagRoot, version
	binary.BigEndian.PutUint64(input[2:], uint64(tokens))
	copy(input[10:], top[:])
	return sha256.Sum256(input[:])
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

// place returns the place of a mint's leaf. The address is hashed, so that vanity addresses and
// numbered test mints do not crowd into a few places.
func (e *encoder) place(mint pubkey.Key) uint32 {
	e.buf = mint.Append(e.buf[:0])
	digest := sha256.Sum256(e.buf)
	return binary.BigEndian.Uint32(digest[:]) >> (32 - placeBits)
}
