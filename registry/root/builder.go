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

// Add adds a mint with its state. Each mint may be added only once.
func (b *Builder) Add(mint pubkey.Key, state *registry.State) {
	b.init()
	b.tree.Put(b.next, mint, state)
	b.next++
}

// Tokens returns how many of the added mints are members of the registry.
func (b *Builder) Tokens() int {
	b.init()
	return b.tree.Len()
}

// Sum returns the hash of the root.
func (b *Builder) Sum() Sum {
	b.init()
	return b.tree.Sum()
}

func (b *Builder) init() {
	if b.tree == nil {
		b.tree = NewTree()
	}
}
