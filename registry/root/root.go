package root

import "math"

// Root is the root of a registry at a slot: of everything known of the slots up to it, and of
// nothing behind it.
type Root struct {
	Slot uint64
	// Tokens is the number of elements: the members of the registry.
	Tokens int
	Hash   Sum
}

// EverySlot is the slot to replay up to when nothing is to be left out.
const EverySlot = math.MaxUint64

// SealEvery is how many slots lie between two roots of a live chain, an hour: two nodes that look
// at about the same time see the root of the same slot. A mint that changes is hashed once in that
// time, however often it does, so a long time makes the root cheap (docs/registry-root.md).
const SealEvery = 9000
