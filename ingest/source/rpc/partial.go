package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/solana/txwire"
)

// withheld returns the block of a slot that the node withholds, because the block has transactions
// of a version above the highest that was asked for. The returned block has only a header, which
// nodes give whatever the versions are. With the header the block takes its place in the chain.
// version is 0 if the node names no version; withheld then takes the version after the highest.
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
	// maxAsked is how often a source asks for a block of which something cannot be read, or that is
	// listed and said not to exist. Another server may answer better.
	maxAsked = 3
	// maxPartial bounds the slots that are remembered. At the bound all of them are forgotten. It
	// is more than the slots of a day, which are 432,000 of 200 ms.
	maxPartial = 1 << 19
)

// partial counts, by slot, how often this process asked for blocks that it cannot read whole. The
// ledger shows their slots as gaps, so the filler of gaps asks again until it is enough, and so
// does a later process that can read more. Safe for concurrent use; the zero value is empty.
type partial struct {
	mu    sync.Mutex
	asked map[uint64]uint8
}

// note counts a block that came and is partial. If the reason is an unknown version, asking again
// brings nothing, so note counts all maxAsked attempts.
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

// enough reports whether a slot was asked for often enough.
func (p *partial) enough(slot uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[slot] >= maxAsked
}

// allEnough reports whether each of the slots from..to, both included, was asked for often enough.
func (p *partial) allEnough(from, to uint64) bool {
	for slot := from; slot <= to; slot++ {
		if !p.enough(slot) {
			return false
		}
	}
	return true
}
