package runner

import (
	"fmt"
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxContradictions is how many blocks in a row may take a slot in which the ledger has another
// block. One or two are forks that were said to be confirmed; a chain that begins again takes every
// slot.
const maxContradictions = 8

// links watches whether the blocks of a source continue the chain in the ledger. Sources without
// getGenesisHash have nothing else to tell a chain by.
type links struct {
	mu sync.Mutex
	// joined says that some block's parent was found in the ledger, as the ledger has it.
	joined         bool
	contradictions int
}

// check returns an error when block is of another chain than the ledger. The first block whose
// parent the ledger knows must name it as the ledger has it; and no run of blocks may take slots
// that the ledger has other blocks in.
func (r *Runner) checkLink(block *chain.Block, kind string) error {
	if !r.cfg.CheckLinks || kind == source.KindFile || !block.Whole || block.ParentSlot == nil || block.ParentGuessed {
		return nil
	}
	l := &r.links
	l.mu.Lock()
	defer l.mu.Unlock()
	parent := *block.ParentSlot
	switch {
	case l.joined || block.ParentBlockhash == (pubkey.Key{}) || !r.ledger.Known(parent):
	case r.ledger.Ingested(parent, block.ParentBlockhash):
		l.joined = true
	default:
		return fmt.Errorf("another chain: block %d (%s) of the source names block %s in slot %d as its parent, and the data has another block there: %s",
			block.Slot, block.Blockhash, block.ParentBlockhash, parent, otherChain)
	}
	if !r.ledger.Contradicted(block.Slot, block.Blockhash) {
		l.contradictions = 0
		return nil
	}
	if l.contradictions++; l.contradictions < maxContradictions {
		return nil
	}
	return fmt.Errorf("another chain: the last %d blocks of the source, up to block %d (%s), take slots in which the data has other blocks: %s",
		maxContradictions, block.Slot, block.Blockhash, otherChain)
}

// otherChain is the way on.
const otherChain = "the chain was reset, or this is another cluster; start with another data folder (--data-dir), or another Kafka, to follow it. If the data's " +
	"last block lost its fork, start once with --check-links=false"
