package root

import (
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Builder computes the root of a registry whose mints are added one by one, in any order. The zero
// value is ready. It must not be used concurrently.
type Builder struct {
	tree *Tree
	next uint32
}

// Add adds a mint with its state. Each mint may be added only once, and 2^29-1 of them at most.
func (b *Builder) Add(mint pubkey.Key, state *registry.State) {
	b.init()
	b.tree.Add(b.next, mint, state)
	b.next++
}

// Root returns the root of the added mints, for the given slot.
func (b *Builder) Root(slot uint64) Root {
	b.init()
	return b.tree.Root(slot)
}

func (b *Builder) init() {
	if b.tree == nil {
		b.tree = NewTree()
	}
}
