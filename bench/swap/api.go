package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/swap"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue/all"
)

// followed is the swap API, which began with a checkpoint of many pools and follows a node that
// makes slots with trades.
type followed struct {
	*chain
	server *swap.Server
	stop   func()
}

// startAPI starts a node and the API.
func startAPI(pools int) (*followed, error) {
	c, err := realistic(pools, all.Venues())
	if err != nil {
		return nil, err
	}
	n, err := startNode(c.fold.Head())
	if err != nil {
		return nil, err
	}
	name, err := c.save()
	if err != nil {
		return nil, err
	}
	c.fold = nil // the API has its own
	server, err := swap.New(swap.Config{Addr: "127.0.0.1:0", State: state.Config{Endpoint: n.endpoint, File: name, Fold: bounds}},
		swap.Deps{Keys: &keys.Static{}, RPC: n})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, over := make(chan error, 1), make(chan struct{})
	go func() { done <- server.Run(ctx) }()
	<-server.Ready()
	go n.keepGoing(c, slotTime, over, func(uint64, *pool) {})
	return &followed{c, server, func() {
		close(over)
		cancel()
		<-done
		n.stop()
		_ = os.Remove(name)
	}}, nil
}

// questions are the URLs of quotes of random tokens for SOL.
func (f *followed) questions() []string {
	random := rand.New(rand.NewPCG(18, 5))
	urls := make([]string, 4096)
	for i := range urls {
		a, b := f.tokens[random.IntN(len(f.tokens))].String(), mint.WrappedSOL.String()
		if random.IntN(2) == 0 {
			a, b = b, a
		}
		urls[i] = fmt.Sprintf("http://%s/api/v2/quote?src_mint=%s&dst_mint=%s&amount_in=%d&slippage_bps=50", f.server.Addr(), a, b, uint64(math.Exp(random.Float64()*8)*1e5))
	}
	return urls
}
