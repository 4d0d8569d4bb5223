package root

import (
	"fmt"
	"math"
)

// Root is the root of a registry at a slot. It covers what is known of all slots up to this one,
// and nothing later.
type Root struct {
	Slot uint64
	// Tokens is the number of elements: the members of the registry.
	Tokens int
	// Hash is the hash of version 1, and HashV2 that of version 2. Both cover the same elements.
	Hash, HashV2 Sum
}

// Versions is how many versions of the root's tree there are. Every node makes all of them, so that
// nodes of different releases have one in common (docs/decisions/0036).
const Versions = 2

// Default is the version that is meant where none is named: all releases have it.
const Default = 1

// HashOf returns the hash of a version; false if there is no such version.
func (r *Root) HashOf(version int) (Sum, bool) {
	switch version {
	case 1:
		return r.Hash, true
	case 2:
		return r.HashV2, true
	default:
		return Sum{}, false
	}
}

// Line returns a root in the form in which people compare it: slot, tokens and the hash of a
// version, which is named unless it is Default.
func Line(slot uint64, tokens int, hash Sum, version int) string {
	line := fmt.Sprintf("slot=%d tokens=%d root=%s", slot, tokens, hash)
	if version != Default {
		line += fmt.Sprintf(" version=%d", version)
	}
	return line
}

// EverySlot is the slot for NewReplay if no fact is to be left out.
const EverySlot = math.MaxUint64

// SealEvery is how many slots lie between two roots of a live chain: an hour, at 200 ms a slot. So
// two nodes that are asked at about the same time give the root of the same slot. It is fixed and
// not measured: nodes that measured would seal different slots (docs/decisions/0028). A mint is
// hashed at most once in this time, however often it changes, so a long time makes the root cheap
// (docs/registry-root.md).
const SealEvery = 18_000
