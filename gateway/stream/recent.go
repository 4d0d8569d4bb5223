package stream

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// recentBlocks is how many blocks are remembered: more than a blockhash is valid for.
	recentBlocks = 512
	// validFor is how many blocks a blockhash is valid for (agave, MAX_PROCESSING_AGE).
	validFor = 150
)

// recent remembers the latest blocks, and the highest finalized slot.
type recent struct {
	mu        sync.Mutex
	blocks    []*eventspb.StreamBlock // ascending by slot
	finalized uint64
}

// take records a note: the end of a slot brings its block, a dead slot takes its block away, and a
// finalized slot may raise finalized. A note without a block hash brings no block.
func (r *recent) take(n *note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n.kind {
	case noteEnd, noteProcessed:
		if n.end.GetBlockhash() == nil {
			return
		}
		i, found := slices.BinarySearchFunc(r.blocks, n.slot, compareSlot)
		if found {
			r.blocks[i] = n.end
			return
		}
		r.blocks = slices.Insert(r.blocks, i, n.end)
		if len(r.blocks) > recentBlocks {
			r.blocks = slices.Delete(r.blocks, 0, 1)
		}
	case noteFinalized:
		r.finalized = max(r.finalized, n.slot)
	case noteDead:
		if i, found := slices.BinarySearchFunc(r.blocks, n.slot, compareSlot); found {
			r.blocks = slices.Delete(r.blocks, i, i+1)
		}
	case noteGap, noteStalled, noteResumed, noteInterim:
	}
}

func compareSlot(b *eventspb.StreamBlock, slot uint64) int {
	switch {
	case b.GetSlot() < slot:
		return -1
	case b.GetSlot() > slot:
		return 1
	}
	return 0
}

// root returns the highest finalized slot; 0 while none is known.
func (r *recent) root() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finalized
}

// latest returns the highest block, or with levelFinal the highest finalized one; nil if none is
// known.
func (r *recent) latest(at level) *eventspb.StreamBlock {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range slices.Backward(r.blocks) {
		if at != levelFinal || b.GetSlot() <= r.finalized {
			return b
		}
	}
	return nil
}

func (r *recent) byHash(hash pubkey.Key) *eventspb.StreamBlock {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range slices.Backward(r.blocks) {
		if bytes.Equal(b.GetBlockhash(), hash[:]) {
			return b
		}
	}
	return nil
}

// covers returns whether recent has all blocks whose hashes are valid at a block height: the last
// validFor.
func (r *recent) covers(height uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := height
	for _, b := range slices.Backward(r.blocks) {
		switch {
		case b.GetBlockHeight() > next:
			continue // above the height, or of another fork
		case b.GetBlockHeight() < next:
			return false
		case next == 0 || height-next >= validFor:
			return true
		}
		next--
	}
	return false
}

// latestAt returns the highest block at a commitment. A nil commitment is the stream's own. of is
// the recent that has the blocks of that commitment.
func (g *geyser) latestAt(commitment *pb.CommitmentLevel) (b *eventspb.StreamBlock, of *recent, err error) {
	at, err := g.levelOf(commitment)
	if err != nil {
		return nil, nil, err
	}
	of = &g.recent
	if at == levelProcessed {
		of, at = &g.processed.recent, levelLog
	}
	if b := of.latest(at); b != nil {
		return b, of, nil
	}
	return nil, nil, status.Error(codes.Unavailable, "no block of this commitment has come yet")
}

var (
	errNoHeight      = status.Error(codes.Unavailable, "the source does not tell the heights of blocks")
	errBlocksMissing = status.Errorf(codes.Unavailable, "whether it is valid is not known: not all of the last %d blocks came yet", validFor)
)

// GetLatestBlockhash implements geyser.Geyser.
func (g *geyser) GetLatestBlockhash(_ context.Context, in *pb.GetLatestBlockhashRequest) (*pb.GetLatestBlockhashResponse, error) {
	b, _, err := g.latestAt(in.Commitment)
	if err != nil {
		return nil, err
	}
	if b.BlockHeight == nil {
		return nil, errNoHeight
	}
	return &pb.GetLatestBlockhashResponse{
		Slot: b.GetSlot(), Blockhash: base58.Encode(b.GetBlockhash()), LastValidBlockHeight: b.GetBlockHeight() + validFor,
	}, nil
}

// GetBlockHeight implements geyser.Geyser.
func (g *geyser) GetBlockHeight(_ context.Context, in *pb.GetBlockHeightRequest) (*pb.GetBlockHeightResponse, error) {
	b, _, err := g.latestAt(in.Commitment)
	if err != nil {
		return nil, err
	}
	if b.BlockHeight == nil {
		return nil, errNoHeight
	}
	return &pb.GetBlockHeightResponse{BlockHeight: b.GetBlockHeight()}, nil
}

// IsBlockhashValid implements geyser.Geyser.
func (g *geyser) IsBlockhashValid(_ context.Context, in *pb.IsBlockhashValidRequest) (*pb.IsBlockhashValidResponse, error) {
	hash, err := pubkey.Parse(in.GetBlockhash())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "blockhash %.50q: must be 32 bytes in base58", in.GetBlockhash())
	}
	latest, blocks, err := g.latestAt(in.Commitment)
	if err != nil {
		return nil, err
	}
	if latest.BlockHeight == nil {
		return nil, errNoHeight
	}
	of := blocks.byHash(hash)
	if of == nil && !blocks.covers(latest.GetBlockHeight()) {
		// A client that believes its valid hash expired sends its transaction twice.
		return nil, errBlocksMissing
	}
	valid := of != nil && of.GetSlot() <= latest.GetSlot() && of.GetBlockHeight()+validFor >= latest.GetBlockHeight()
	return &pb.IsBlockhashValidResponse{Slot: latest.GetSlot(), Valid: valid}, nil
}

// SubscribeReplayInfo implements geyser.Geyser.
func (g *geyser) SubscribeReplayInfo(ctx context.Context, _ *pb.SubscribeReplayInfoRequest) (*pb.SubscribeReplayInfoResponse, error) {
	log, err := g.extent(ctx)
	switch {
	case errors.Is(err, errNoSlot):
		return &pb.SubscribeReplayInfoResponse{}, nil
	case err != nil:
		return nil, status.Error(codes.Unavailable, "the log cannot be read")
	}
	return &pb.SubscribeReplayInfoResponse{FirstAvailable: &log.oldest}, nil
}
