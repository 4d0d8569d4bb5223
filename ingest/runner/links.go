package runner

import (
	"fmt"
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxContradictions is how many blocks in a row must contradict the ledger to prove that the source
// is of another chain. A block contradicts the ledger if the ledger has another block in its slot.
// One or two such blocks may be of forks that the server called confirmed. On a chain that was
// reset, every slot has another block.
const maxContradictions = 8

// links is what checkLink remembers. Parent links are the only way to recognise the chain of a
// source that does not offer getGenesisHash.
type links struct {
	mu sync.Mutex
	// joined means that a block named a parent that the ledger has, with the right hash.
	joined bool
	// contradictions counts the last blocks in a row that contradict the ledger.
	contradictions int
}

// checkLink returns an error if block is of another chain than the ledger. The first block whose
// parent slot is in the ledger must name the parent's hash. Also, fewer than maxContradictions
// blocks in a row may contradict the ledger. checkLink does not check blocks of files, lone
// transactions, and blocks whose parent is unknown or guessed.
func (r *Runner) checkLink(block *chain.Block, kind string) error {
	if !r.cfg.CheckLinks || kind == source.KindFile || !block.InLedger() || block.ParentSlot == nil || block.ParentGuessed {
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

// otherChain tells the operator what to do.
const otherChain = "the chain was reset, or this is another cluster; start with another data folder (--data-dir), or another Kafka, to follow it. If the data's " +
	"last block lost its fork, start once with --check-links=false"
