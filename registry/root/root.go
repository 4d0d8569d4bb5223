package root

import "math"

// Root is the root of a registry at a slot. It covers what is known of all slots up to this one,
// and nothing later.
type Root struct {
	Slot uint64
	// Tokens is the number of elements: the members of the registry.
	Tokens int
	Hash   Sum
}

// EverySlot is the slot for NewReplay if no fact is to be left out.
const EverySlot = math.MaxUint64

// SealEvery is how many slots lie between two roots of a live chain: an hour, at 200 ms a slot. So
// two nodes that are asked at about the same time give the root of the same slot. It is fixed and
// not measured: nodes that measured would seal different slots (docs/decisions/0028). A mint is
// hashed at most once in this time, however often it changes, so a long time makes the root cheap
// (docs/registry-root.md).
const SealEvery = 18_000
