package replica

import (
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Row is a row of the registry.
//
// Its bytes belong to the replica: they are read only, and valid until the function that was given
// the row returns. Copy what you keep, a text with strings.Clone. A *registry.Token that a method
// returns is the caller's own.
type Row struct {
	// ID is the mint's row id. IDs are dense, from 0 on, never change and are never given to
	// another mint while the process lives.
	ID   uint32
	Mint pubkey.Key
	// Token is nil when the mint is not in the registry (any more).
	Token *registry.Token
	// Extensions are the kinds of the mint's Token-2022 extensions, sorted.
	Extensions []string
	// TransferFee is the transfer fee of a Token-2022 mint, in basis points.
	TransferFee uint16
}

// Change is the row of a mint as it is now, for a Listener.
type Change struct {
	Row
	// Was is true if the mint was a member before.
	Was bool
	// Same is true if the mint is a member, as before, and nothing changed by which tokens are
	// searched or compared: text, program, extensions, tags, volume, first_seen_at. Then Token is
	// nil. Most changes are of the supply alone.
	Same bool
}

// Gone returns whether the mint is not in the registry any more. Then Was is true: a change of a
// mint that is no member and was none is not reported.
func (c *Change) Gone() bool { return c.Token == nil && !c.Same }

// Listener gets every change after the index has it, one batch at a time, in the order of the fold.
// While the copy loads, a batch may be large.
type Listener interface {
	Apply(changes []Change)
}

// Filler is a Listener that can load faster than change by change: while the copy loads, Fill is
// called instead of Apply, and at the end Filled.
type Filler interface {
	Fill(changes []Change)
	Filled()
}
