package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/solana/txwire"
)

// withheld returns the block of a slot that the node withholds, as it has transactions of a version
// above the highest that was asked for. It has only a header, for which nodes do not look at
// versions: with it the block takes its place in the chain. version is 0 if the node names none; it
// is then at least one above the highest.
func (s *Source) withheld(ctx context.Context, slot uint64, version uint8) (*chain.Block, error) {
	highest := s.cfg.Reader.Highest()
	if version == 0 {
		version = uint8(highest + 1)
	}
	withheld := fmt.Errorf("the node withholds the block: %w", &txwire.VersionError{Version: version, Highest: highest})
	b, err := s.block(ctx, slot, asking{headerOnly: true})
	if err != nil {
		return nil, fmt.Errorf("%w; its header: %w", withheld, err)
	}
	b.Unread = []chain.Unread{{Index: -1, Err: withheld}}
	s.partial.note(b)
	return b, nil
}

const (
	// maxAsked is how often a source asks for a block of which something cannot be read. Another
	// server may answer better.
	maxAsked = 3
	// maxPartial bounds the slots that are remembered. At the bound all of them are forgotten. It
	// is more than a day's slots of 400 ms.
	maxPartial = 1 << 18
)

// partial are the slots of which this process has got a block that it cannot read whole, with how
// often it asked. The ledger shows them as gaps, so that the filler of gaps and an upgraded process
// ask again. Safe for concurrent use; the zero value is empty.
type partial struct {
	mu    sync.Mutex
	asked map[uint64]uint8
}

// note counts that a block came. Asking again for an unknown version brings nothing.
func (p *partial) note(b *chain.Block) {
	if !b.Partial() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked[b.Slot] + 1
	var version *txwire.VersionError
	for i := range b.Unread {
		if errors.As(b.Unread[i].Err, &version) {
			asked = maxAsked
			break
		}
	}
	if p.asked == nil || len(p.asked) >= maxPartial {
		p.asked = make(map[uint64]uint8)
	}
	p.asked[b.Slot] = min(asked, maxAsked)
}

// enough reports whether a slot is not to be asked for again.
func (p *partial) enough(slot uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[slot] >= maxAsked
}
