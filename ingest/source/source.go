// Package source reads the chain: from recorded files, a JSON-RPC server or a Yellowstone Geyser
// stream.
//
// In: bytes from outside, all of which may be hostile. Out: chain.Block values passed to a Sink.
// Guarantees: a whole block is passed on once it is complete, in slot order if the source has an
// order. Broken input is reported to the sink and never stops the rest.
package source

import (
	"context"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Source is one way to read the chain. Run passes everything that it reads to the sink. Run returns
// nil when a finite source is done, or when ctx ends. It returns an error only if retrying cannot
// help.
type Source interface {
	// Kind is file, rpc, geyser, demo or backfill: a metric label and the ledger's source column.
	Kind() string
	Run(ctx context.Context, ledger Ledger, sink Sink) error
}

// Ledger tells what was ingested before, so that a restart resumes where the last run stopped.
type Ledger interface {
	// Ingested reports whether the block of this slot with this hash is in the log with all its
	// events. A source need not ask, because the sink does so for every block. It may ask to save
	// work, such as fetching the block's transactions, see chain.Block.Known.
	Ingested(slot uint64, blockhash pubkey.Key) bool
	// Resume returns the highest slot up to which sources of this kind, or of another kind that
	// follows the same chain, have ingested; 0 if they have ingested nothing.
	Resume() uint64
	// Missing returns the runs of slots in from..to, both included, that are neither ingested nor
	// known to have no block.
	Missing(from, to uint64) []coverage.Gap
}

// Sink takes what a source reads. Its methods block while the pipeline is full (back-pressure).
// They return an error only if ctx ends or the pipeline cannot go on.
type Sink interface {
	// Block takes a whole block or a lone transaction. The sink then owns the value. known means
	// that the log had the block before, so that the sink did nothing with it.
	Block(ctx context.Context, block *chain.Block) (known bool, err error)
	// Skipped records that nobody produced a block in this slot.
	Skipped(ctx context.Context, slot uint64) error
	// Dead records that the block of this slot lost its fork.
	Dead(ctx context.Context, slot uint64) error
	// Finalized records that the chain can no longer lose the slot, whether it has a block or not.
	Finalized(ctx context.Context, slot uint64) error
	// Refused counts an input that could not be read, such as a broken file. name is the input, and
	// err the reason.
	Refused(ctx context.Context, name string, err error)
	// Progress records how much of a finite source has been read. total is 0 if it is unknown.
	Progress(read, total uint64)
}
