package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/trust"
)

// The values of swap.state.
const (
	stateAuto   = "auto"
	stateStream = "stream"
	stateRPC    = "rpc"
)

// quotePatience is how long a quote's RPC call is tried: a late quote is worth nothing.
const quotePatience = 4 * time.Second

// startSwap serves quotes from the upstreams' accounts.
func (s *system) startSwap(ctx context.Context) error {
	store, err := s.keyStore(ctx)
	if err != nil {
		return err
	}
	deps := swap.Deps{Keys: store, Logger: s.logger, Registerer: s.registerer, Tracer: s.tracer}
	if len(s.cfg.RPC.Upstream) > 0 {
		if deps.RPC, err = solana.NewClient(solana.Config{Endpoints: s.cfg.RPC.Upstream, MaxElapsed: quotePatience},
			solana.Deps{Logger: s.logger, Registerer: s.registerer}); err != nil {
			return err
		}
	}
	held, err := s.heldPools()
	if err != nil {
		return err
	}
	room, err := swap.New(swap.Config{
		Addr: s.cfg.Swap.Addr, AllowedOrigins: s.cfg.Swap.AllowedOrigins, TrustedProxies: s.keys.proxies, State: held, Trust: s.swapTrust(),
	}, deps)
	if err != nil {
		return err
	}
	s.lifecycle.start("swap", room.Run)
	if err := s.lifecycle.await(ctx, room.Ready()); err != nil {
		return err
	}
	s.addresses.add("swap", "http://"+room.Addr())
	if host, _, err := net.SplitHostPort(room.Addr()); err == nil && keys.LoopbackHost(host) {
		s.swapURL.Store("http://" + room.Addr())
	}
	return nil
}

// swapFolder is where trust in venues is recorded, in the data folder.
const swapFolder = "swap"

// swapTrust says which builds of venues' programs the operator accepts, and where it is recorded
// what is known of them. A machine without a disk of its own goes on without.
func (s *system) swapTrust() trust.Config {
	var cfg trust.Config
	var err error
	// Texts that are malformed were refused with the configuration.
	if cfg.Accepted, err = trust.ParseAccepted(s.cfg.Swap.Trust); err == nil {
		cfg.Dir, err = s.cfg.dataPath(swapFolder)
	}
	if err != nil {
		s.logger.Warn("builds of venues are not recorded: after a restart those that are deployed then are taken for the first ones", "err", err)
	}
	return cfg
}

// swapOrigin is the swap API for the explorer. One that listens to other machines has a name that
// only a setting can tell.
func (s *system) swapOrigin() string {
	if s.cfg.API.SwapURL != "" {
		return s.cfg.API.SwapURL
	}
	url, _ := s.swapURL.Load().(string)
	return url
}

// heldPools says which stream the swap API holds pools from; without an endpoint there is none.
func (s *system) heldPools() (state.Config, error) {
	if s.cfg.Swap.State == stateRPC {
		return state.Config{}, nil
	}
	for _, text := range s.cfg.Source {
		if isDemo(text) && s.demoGeyser != "" {
			text = s.demoGeyser
		}
		spec, err := source.ParseSpec(text)
		if err == nil && spec.Kind == source.KindGeyser {
			return state.Config{Endpoint: spec.Endpoint, Token: s.cfg.Geyser.Token, Fold: state.FoldConfig{MaxAsked: s.cfg.Swap.MaxPairs}}, nil
		}
	}
	if s.cfg.Swap.State == stateStream {
		return state.Config{}, fmt.Errorf("swap.state: %s: must be %s or %s, as no source is a stream", stateStream, stateAuto, stateRPC)
	}
	return state.Config{}, nil
}
