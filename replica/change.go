package replica

import "github.com/mintlake/mintlake/registry"

// Row is a row of the registry in the hands of the function that it was given to.
//
// One rule says who owns its bytes: the replica does. They are read only, and valid until that
// function returns. Who keeps something of a row copies it, strings.Clone for a text. What a method
// returns as a *registry.Token instead is the caller's own.
type Row struct {
	// ID is the mint's row id. IDs are dense, from 0 on, never change and are never given to
	// another mint while the process lives.
	ID uint32
	// Mint is base58 of 32 bytes.
	Mint string
	// Token is nil when the mint is not in the registry (any more).
	Token *registry.Token
	// Extensions are the kinds of the mint's Token-2022 extensions, sorted.
	Extensions []string
}

// Change tells a Listener what the row of a mint is now.
type Change struct {
	Row
	// Same says that since the last change of the mint nothing changed that tokens are searched or
	// compared by: text, program, extensions, tags, volume and first_seen_at; nor that it is in the
	// registry. Then Token is nil. Most changes are of the supply alone.
	Same bool
}

// Gone says that the mint is not in the registry any more.
func (c *Change) Gone() bool { return c.Token == nil && !c.Same }

// Listener hears of every change after the index has it, one batch at a time, in the order of the
// fold. While the copy loads, a batch may be large.
type Listener interface {
	Apply(changes []Change)
}

// Filler is a Listener that takes what is there when the copy loads sooner by another way: Fill is
// Apply until Filled.
type Filler interface {
	Fill(changes []Change)
	Filled()
}
