// Package source reads the chain: from recorded files, a JSON-RPC server or a Yellowstone Geyser
// stream.
//
// In: bytes from outside, all of them hostile. Out: chain.Block values handed to a Sink.
// Guarantees: a whole block is handed over once complete, in slot order where the source has an
// order; broken input is reported to the sink and never stops the rest.
package source

import (
	"context"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Source is one way to the chain. Run hands everything it has to the sink and returns nil when it
// is done (finite sources) or when ctx ends; an error is one that retrying cannot mend.
type Source interface {
	// Kind is file, rpc, geyser, demo or backfill: a metric label and the ledger's source column.
	Kind() string
	Run(ctx context.Context, ledger Ledger, sink Sink) error
}

// Ledger answers what was ingested before, so that a restart reads on where it stopped.
type Ledger interface {
	// Ingested says that the block of this slot with this hash is in the log with all its events.
	Ingested(slot uint64, blockhash pubkey.Key) bool
	// Resume is the highest slot up to which this source's kind of stream has been ingested, 0 when
	// nothing was.
	Resume() uint64
	// Missing lists the runs of slots in from..to, both included, that are neither ingested nor
	// known to be without a block.
	Missing(from, to uint64) []coverage.Gap
}

// Sink takes what a source reads. Its methods block while the pipeline is full (back-pressure) and
// return an error only when ctx ends or the pipeline cannot go on.
type Sink interface {
	// Block takes a whole block or a lone transaction. The sink owns the value from then on.
	Block(ctx context.Context, block *chain.Block) error
	// Skipped records that nobody produced a block in this slot.
	Skipped(ctx context.Context, slot uint64) error
	// Dead records that the block of this slot lost its fork.
	Dead(ctx context.Context, slot uint64) error
	// Finalized tells that the chain can no longer lose the slot, whether it has a block or not.
	Finalized(ctx context.Context, slot uint64) error
	// Refused counts an input that could not be read, e.g. a broken file: name says which, err why.
	Refused(ctx context.Context, name string, err error)
	// Progress tells how much of a finite source has been read; total 0 when unknown.
	Progress(read, total uint64)
}
