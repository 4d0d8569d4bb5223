package root

import "github.com/mintlake/mintlake/registry"

// Builder makes the root of a registry that is told one mint after the other, in any order. The
// zero value is ready. It is for one goroutine at a time.
type Builder struct {
	tree *Tree
	next uint32
}

// Add takes a mint with all that is known of it. Each mint is told once.
func (b *Builder) Add(mint string, state *registry.State) {
	b.init()
	b.tree.Put(b.next, mint, state)
	b.next++
}

// Tokens is how many mints are members of the registry.
func (b *Builder) Tokens() int {
	b.init()
	return b.tree.Len()
}

// Sum is the hash of the root.
func (b *Builder) Sum() Sum {
	b.init()
	return b.tree.Sum()
}

func (b *Builder) init() {
	if b.tree == nil {
		b.tree = NewTree(nil)
	}
}
