package simulation

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/mintlake/mintlake/solana"
)

// Node is a JSON-RPC node of a world, for the rpc source. Safe for concurrent use.
type Node struct {
	provider *Provider
	mu       sync.Mutex
	rng      *rand.Rand
	// missing is the time until which the node pretends not to have a block, by slot.
	missing map[uint64]time.Duration
}

// NewNode returns the node that belongs to a provider.
func NewNode(p *Provider) *Node {
	return &Node{provider: p, rng: random(p.world.Seed, 5), missing: map[uint64]time.Duration{}}
}

// fault draws whether something goes wrong. It returns false from 10 s after the world's last
// fault.
func (n *Node) fault(chance float64) bool {
	return chance > 0 && n.provider.Now() < n.provider.world.Calm+10*time.Second && n.rng.Float64() < chance
}

// enter simulates a call: it waits for its latency and fails sometimes. It returns the highest
// confirmed slot, or a lower one if the node lags.
func (n *Node) enter(ctx context.Context) (uint64, error) {
	n.mu.Lock()
	takes := time.Duration(1+n.rng.IntN(30)) * time.Millisecond
	n.mu.Unlock()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(takes):
		// This must not hold mu: the bubble's clock stands still while a goroutine waits for a
		// mutex.
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fault(n.provider.plan.Fail) {
		return 0, []error{&solana.HTTPError{Status: http.StatusServiceUnavailable}, &solana.HTTPError{Status: http.StatusTooManyRequests},
			&solana.RPCError{Code: solana.CodeNodeUnhealthy}, &solana.RPCError{Code: solana.CodeInternal}, solana.ErrMalformed}[n.rng.IntN(5)]
	}
	head := n.provider.world.confirmed(n.provider.Now())
	if n.fault(n.provider.plan.Lagging) {
		head -= min(n.rng.Uint64N(n.provider.plan.Lag), head-firstSlot)
	}
	return head, nil
}

// hides reports whether the node pretends not to have a block at present. The first call for a slot
// draws until when, up to three minutes, also when the world is calm. The caller holds mu.
func (n *Node) hides(slot uint64) bool {
	until, known := n.missing[slot]
	if !known {
		if n.rng.Float64() < n.provider.plan.Missing {
			until = n.provider.Now() + time.Duration(n.rng.Int64N(int64(3*time.Minute)))
		}
		n.missing[slot] = until
	}
	return n.provider.Now() < until
}

// GetSlot returns the highest confirmed slot, see enter.
func (n *Node) GetSlot(ctx context.Context, _ solana.Commitment) (uint64, error) { return n.enter(ctx) }

// GetBlocks returns the slots from from to to, both included, whose block the node has and does not
// hide.
func (n *Node) GetBlocks(ctx context.Context, from, to uint64, _ solana.Commitment) ([]uint64, error) {
	head, err := n.enter(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var slots []uint64
	for slot := max(from, firstSlot); slot <= min(to, head); slot++ {
		if n.provider.world.At(slot).Fate == OnChain && !n.hides(slot) {
			slots = append(slots, slot)
		}
	}
	if n.fault(n.provider.plan.Short) {
		slots = slots[:max(len(slots), 3)-3]
	}
	return slots, nil
}

// GetBlock returns one block, or an error that a real node might give.
func (n *Node) GetBlock(ctx context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error) {
	head, err := n.enter(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.provider.world.At(slot)
	switch {
	case slot > head:
		return nil, &solana.RPCError{Code: solana.CodeBlockNotAvailable}
	case s == nil || s.Fate != OnChain:
		return nil, &solana.RPCError{Code: solana.CodeSlotSkipped}
	case n.hides(slot):
		codes := []int{solana.CodeSlotSkipped, solana.CodeLongTermStorageSlotSkipped, solana.CodeBlockNotAvailable, solana.CodeBlockStatusNotAvailableYet, solana.CodeBlockCleanedUp}
		return nil, &solana.RPCError{Code: codes[n.rng.IntN(len(codes))]}
	case n.fault(n.provider.plan.Rubbish):
		return json.RawMessage(`{"blockhash":"0OIl"}`), nil
	}
	return s.Block.JSON(opts.HeaderOnly), nil
}
