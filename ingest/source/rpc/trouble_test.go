package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana"
)

// trouble are errors that say nothing of the chain.
func trouble() (errs []error) {
	for _, code := range []int{-32000, -32005, -32012, -32016, -32029, -32097, -32099, -32603, -32700, 0, 12, 429, 503, 1015} {
		errs = append(errs, &solana.RPCError{Code: code})
	}
	for _, status := range []int{202, 302, 402, 408, 418, 425, 429, 451, 499, 500, 502, 503, 504, 520, 529} {
		errs = append(errs, &solana.HTTPError{Status: status, Told: &solana.RPCError{Code: -32601}})
	}
	return append(errs, solana.ErrMalformed, fmt.Errorf("x: %w: html", solana.ErrMalformed))
}

// TestTroubleOfAServerIsWaitedOut, whatever method it meets, at the start and later, for moments
// and for hours.
func TestTroubleOfAServerIsWaitedOut(t *testing.T) {
	c := sourcetest.NewChain(1000, 10)
	from, to := ends(c)
	for _, err := range trouble() {
		for _, times := range []int{1, 3, 200} {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, c)
				n.fails = map[string][]error{"getSlot": slices.Repeat([]error{err}, times), "getBlocks": slices.Repeat([]error{err}, min(times, 3)),
					"getBlock": slices.Repeat([]error{err}, min(times, 3))}
				sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
				sourcetest.RequireChain(t, c, sink.Blocks())
			})
		}
	}
}

// troubled is a server that has an error for one block, or for all calls from a moment on.
type troubled struct {
	*node
	err   error
	slot  uint64
	after int
	calls int
	until time.Time
}

func (n *troubled) GetBlock(ctx context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error) {
	n.mu.Lock()
	n.calls++
	fails := slot == n.slot || n.after > 0 && n.calls > n.after && time.Now().Before(n.until)
	n.mu.Unlock()
	if fails {
		return nil, n.err
	}
	return n.node.GetBlock(ctx, slot, opts)
}

// TestOneBlockWithTroubleIsRefusedAndTheRestRead: a server that answers, but has an error for one
// block for ever, does not hold up the others for ever.
func TestOneBlockWithTroubleIsRefusedAndTheRestRead(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	from, to := ends(c)
	final := []error{&solana.HTTPError{Status: 403}, &solana.HTTPError{Status: 404}, &solana.RPCError{Code: -32602}, &solana.RPCError{Code: -32001}}
	for _, err := range append(trouble(), final...) {
		synctest.Test(t, func(t *testing.T) {
			n := &troubled{node: newNode(t, c), err: err, slot: c[20].Slot}
			began := time.Now()
			sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
			require.Len(t, sink.Blocks(), 29, err)
			require.ErrorIs(t, sink.RefusedInputs()[fmt.Sprintf("slot %d", c[20].Slot)], err)
			require.Less(t, time.Since(began), 10*time.Minute)
		})
	}
}

// TestAKeyThatIsRefusedLaterIsWaitedFor: a proxy's 403 in the midst of the blocks ends nothing.
func TestAKeyThatIsRefusedLaterIsWaitedFor(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	from, to := ends(c)
	for _, status := range []int{401, 403, 404} {
		synctest.Test(t, func(t *testing.T) {
			n := &troubled{node: newNode(t, c), err: &solana.HTTPError{Status: status}, after: 12, until: time.Now().Add(time.Minute)}
			sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
			sourcetest.RequireChain(t, c, sink.Blocks())

			n = &troubled{node: newNode(t, c), err: &solana.HTTPError{Status: status}, after: 1, until: time.Now().Add(time.Hour)}
			n.calls = 1 // from the start
			require.Error(t, open(t, Config{From: from, To: to}, n).Run(t.Context(), sourcetest.Ledger{}, &sourcetest.Sink{}))
		})
	}
}

// TestTheTipIsAskedForAgain while it is followed, after any error, also after those that are final
// for other calls.
func TestTheTipIsAskedForAgain(t *testing.T) {
	c := sourcetest.NewChain(1000, 10)
	for _, err := range append(trouble(), &solana.RPCError{Code: -32601}, &solana.RPCError{Code: -32007}, &solana.HTTPError{Status: 403}) {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t, c)
			n.tip = c[4].Slot
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			sink := &sourcetest.Sink{OnBlock: func(_ context.Context, b *chain.Block) error {
				switch b.Slot {
				case c[4].Slot:
					n.mu.Lock()
					n.fails["getSlot"], n.tip = slices.Repeat([]error{err}, 30), c[9].Slot
					n.mu.Unlock()
				case c[9].Slot:
					cancel()
				}
				return nil
			}}
			require.NoError(t, open(t, Config{From: &c[0].Slot}, n).Run(ctx, sourcetest.Ledger{}, sink))
			require.Len(t, sink.Blocks(), 10, err)
		})
	}
}

// TestAListThatIsRefusedIsDoneWithout, whatever the refusal.
func TestAListThatIsRefusedIsDoneWithout(t *testing.T) {
	c := sourcetest.NewChain(1000, 20)
	from, to := ends(c)
	for _, err := range []error{&solana.RPCError{Code: -32601}, &solana.RPCError{Code: -32602}, &solana.HTTPError{Status: 404}, &solana.HTTPError{Status: 405},
		&solana.HTTPError{Status: 400}, &solana.HTTPError{Status: 413}, errors.New("another")} {
		n := newNode(t, c)
		n.fails = map[string][]error{"getBlocks": {err}}
		sourcetest.RequireChain(t, c, runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{}).Blocks())
	}
}
