package root

import "github.com/mintlake/mintlake/schemas/pubkey"

// MaxParts is the most parts that a registry can be divided into.
const MaxParts = 1 << 12

// Divider says which part each mint belongs to. Parts are ranges of groups, so equal numbers of
// parts give the same division everywhere. It must not be used concurrently.
type Divider struct {
	encoder encoder
	parts   uint32
}

// NewDivider divides into that many parts, 1 to MaxParts.
func NewDivider(parts int) *Divider { return &Divider{parts: uint32(min(max(parts, 1), MaxParts))} }

// Of returns the part of a mint, from 0.
func (d *Divider) Of(mint pubkey.Key) int {
	return int(uint64(d.encoder.place(mint)>>fanBits) * uint64(d.parts) / groups)
}

// Parts computes the root of a registry of which only a part is in memory at a time. It keeps 20 MB
// of digests and no leaves. It must not be used concurrently.
type Parts struct {
	atSlot uint64
	slot   uint64
	tree   *Tree
}

// NewParts returns a Parts to which no part was added. All replays must have been made with atSlot.
func NewParts(atSlot uint64) *Parts { return &Parts{atSlot: atSlot, tree: NewTree()} }

// Add adds a part: a replay of all facts about its mints. Each part may be added only once.
func (p *Parts) Add(part *Replay) {
	p.slot = max(p.slot, part.highest())
	p.tree.take(part.tree())
}

// Root returns what Replay.Root would return for all facts.
func (p *Parts) Root() Root {
	slot := p.atSlot
	if slot == EverySlot {
		slot = p.slot
	}
	return p.tree.Root(slot)
}

// take adds the groups of another tree, which must have none in common with t.
func (t *Tree) take(other *Tree) {
	for !other.Work(groups) {
	}
	for group := range uint32(groups) {
		if other.nodes[0].branches[group>>branchBits] == nil {
			continue
		}
		if Sum(other.nodes[0].digests(0, group, 1)) == nothing {
			continue
		}
		for version := range t.nodes {
			copy(t.nodes[version].digests(0, group, 1), other.nodes[version].digests(0, group, 1))
		}
		t.markStale(1, group>>fanBits)
	}
	t.leaves.count += other.Len()
}
