package root_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// byDefinition is the root's hash of a version as docs/registry-root.md defines it.
func byDefinition(version byte, elements map[pubkey.Key][]byte) root.Sum {
	depth := map[byte]int{1: 6, 2: 7}[version]
	leaves := map[uint32][][]byte{}
	for mint, element := range elements {
		place := sha256.Sum256([]byte(mint.String()))
		bucket := binary.BigEndian.Uint32(place[:4]) >> (32 - 3*depth)
		leaf := sha256.Sum256(append([]byte{0}, element...))
		leaves[bucket] = append(leaves[bucket], leaf[:])
	}
	level := map[uint32][]byte{}
	for bucket, list := range leaves {
		slices.SortFunc(list, bytes.Compare)
		digest := sha256.Sum256(append([]byte{1}, bytes.Join(list, nil)...))
		level[bucket] = digest[:]
	}
	zeros := make([]byte, 32)
	of := func(level map[uint32][]byte, node uint32) []byte {
		if digest, ok := level[node]; ok {
			return digest
		}
		return zeros
	}
	for range depth {
		above := map[uint32][]byte{}
		for node := range level {
			input := []byte{2}
			for child := range uint32(8) {
				input = append(input, of(level, node/8*8+child)...)
			}
			digest := sha256.Sum256(input)
			above[node/8] = digest[:]
		}
		level = above
	}
	input := binary.BigEndian.AppendUint64([]byte{3, version}, uint64(len(elements)))
	return sha256.Sum256(append(input, of(level, 0)...))
}

// rootByDefinition is the root of some elements at a slot.
func rootByDefinition(slot uint64, elements map[pubkey.Key][]byte) root.Root {
	return root.Root{Slot: slot, Tokens: len(elements), Hash: byDefinition(1, elements), HashV2: byDefinition(2, elements)}
}

// numbered is one of many mints.
func numbered(number int) (mint pubkey.Key) {
	copy(mint[:], fmt.Sprintf("mint%d", number))
	return mint
}

// named is a member of the registry with a name, and its element.
func named(mint pubkey.Key, name string) (*registry.State, []byte) {
	state := stateOf(fact(registry.RegisterProgram, 1, "p"), fact(registry.RegisterDecimals, 1, "6"), fact(registry.RegisterMetaplexName, 1, name))
	element, ok := root.AppendEncode(nil, mint, state)
	if !ok {
		panic("no member")
	}
	return state, element
}

// TestKnownRoots holds the format: who changes it changes the version.
func TestKnownRoots(t *testing.T) {
	tree := root.NewTree()
	require.Equal(t, rootByDefinition(7, nil), tree.Root(7))
	require.Equal(t, "DmT5VteBXyhDwF7CCwi3bBMNyEooggZQ8EvVodxkwxog", tree.Sum().String(), "no tokens")
	require.Equal(t, "DBdaHrHz9sX6VMfsGHBAfM6BhoG4g5Baq2246KFDmzit", tree.Root(7).HashV2.String(), "no tokens, version 2")
	state, _ := named(mintA, "a name")
	tree.Put(0, mintA, state)
	require.Equal(t, "2dVrR7feTtT4hyi7BKm9ccWCTuntCqRFdFVJoXzg372G", tree.Sum().String(), "one token")
}

// TestTreeIsAFunctionOfItsSet: whatever was put, replaced and taken out, in whatever order and with
// whatever work in between, the sum is that of the elements there are. Many mints share few
// buckets, so that cells fill, overflow and empty.
func TestTreeIsAFunctionOfItsSet(t *testing.T) {
	mints := crowded(t, 24, 3)
	rapid.Check(t, func(t *rapid.T) {
		tree, elements := root.NewTree(), map[pubkey.Key][]byte{}
		for range rapid.IntRange(0, 100).Draw(t, "changes") {
			number := rapid.IntRange(0, len(mints)-1).Draw(t, "mint")
			mint := mints[number]
			if rapid.IntRange(0, 2).Draw(t, "take out") == 0 {
				tree.Put(uint32(number), mint, &registry.State{})
				delete(elements, mint)
			} else {
				state, element := named(mint, rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name"))
				tree.Put(uint32(number), mint, state)
				elements[mint] = element
			}
			if rapid.Bool().Draw(t, "work") {
				tree.Work(rapid.IntRange(1, 20).Draw(t, "steps"))
			}
			if rapid.IntRange(0, 19).Draw(t, "ask") == 0 {
				require.Equal(t, rootByDefinition(7, elements), tree.Root(7))
			}
		}
		require.Equal(t, rootByDefinition(7, elements), tree.Root(7))
		require.True(t, tree.Work(0), "nothing is left to do")
		for number, mint := range mints {
			tree.Put(uint32(number), mint, &registry.State{})
		}
		require.Equal(t, rootByDefinition(7, nil), tree.Root(7), "nothing is left of what was there")
	})
}

// crowded are mints of a few buckets.
func crowded(t testing.TB, count, inBuckets int) (mints []pubkey.Key) {
	t.Helper()
	byBucket := map[uint32][]pubkey.Key{}
	for i := 0; len(mints) < count; i++ {
		mint := numbered(i)
		digest := sha256.Sum256([]byte(mint.String()))
		bucket := binary.BigEndian.Uint32(digest[:]) >> 14
		if byBucket[bucket] = append(byBucket[bucket], mint); len(byBucket[bucket]) == count/inBuckets {
			mints = append(mints, byBucket[bucket]...)
		}
	}
	return mints
}

// TestDoneInParts: work with a limit comes to an end, however small the limit, while other things
// change.
func TestDoneInParts(t *testing.T) {
	tree, elements := root.NewTree(), map[pubkey.Key][]byte{}
	for number := range 300 {
		mint := numbered(number)
		state, element := named(mint, "")
		tree.Put(uint32(number), mint, state)
		elements[mint] = element
		tree.Work(1)
	}
	steps := 0
	for !tree.Work(1) {
		steps++
	}
	require.Greater(t, steps, 300)
	require.Len(t, elements, 300)
	require.Equal(t, rootByDefinition(7, elements), tree.Root(7))
}

// FuzzTree: two bytes are a change of a mint: its number, and the name that it gets, 0 to take it
// out. After all of them both roots are as defined.
func FuzzTree(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 1})
	f.Add([]byte{1, 1, 1, 2, 1, 0})
	f.Add([]byte{0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1, 3, 0, 0, 0, 7, 2, 8, 1})
	mints := crowded(f, 24, 3)
	f.Fuzz(func(t *testing.T, changes []byte) {
		tree, elements := root.NewTree(), map[pubkey.Key][]byte{}
		for ; len(changes) >= 2; changes = changes[2:] {
			number := int(changes[0]) % len(mints)
			mint := mints[number]
			if changes[1] == 0 {
				tree.Put(uint32(number), mint, &registry.State{})
				delete(elements, mint)
				continue
			}
			state, element := named(mint, strconv.Itoa(int(changes[1])))
			tree.Put(uint32(number), mint, state)
			elements[mint] = element
			tree.Work(int(changes[1]) % 4)
		}
		require.Equal(t, rootByDefinition(7, elements), tree.Root(7))
	})
}
