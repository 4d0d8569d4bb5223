package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap"
	"github.com/mintlake/mintlake/swap/lookup"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/trust"
)

// The values of swap.state.
const (
	stateAuto   = "auto"
	stateStream = "stream"
	stateRPC    = "rpc"
)

// quotePatience is how long an RPC call for a quote is tried. A late quote is useless.
const quotePatience = 4 * time.Second

// startSwap starts the swap API.
func (s *system) startSwap(ctx context.Context) error {
	store, err := s.keyStore(ctx)
	if err != nil {
		return err
	}
	deps := swap.Deps{Keys: store, Logger: s.logger, Registerer: s.registerer, Tracer: s.tracer, Unknowns: s.unknowns}
	if len(s.cfg.RPC.Upstream) > 0 {
		client, err := solana.NewClient(solana.Config{Endpoints: s.cfg.RPC.Upstream, MaxElapsed: quotePatience}, s.solanaDeps())
		if err != nil {
			return err
		}
		deps.RPC = client
		if deps.Sender, err = s.sender(client); err != nil {
			return err
		}
		if s.cfg.Swap.Fill {
			deps.Lister = client
		}
	}
	held, err := s.heldPools()
	if err != nil {
		return err
	}
	tables, err := lookup.ParseTables(s.cfg.Swap.LookupTables)
	if err != nil {
		return err
	}
	hubs, err := s.cfg.Swap.hubs()
	if err != nil {
		return err
	}
	room, err := swap.New(swap.Config{
		Addr: s.cfg.Swap.Addr, AllowedOrigins: s.cfg.Swap.AllowedOrigins, TrustedProxies: s.keys.proxies, State: held, Trust: s.swapTrust(), LookupTables: tables, Hubs: hubs,
		Market: market.Config{StateTTL: s.cfg.Swap.StateTTL, PoolsTTL: s.cfg.Swap.PoolsTTL},
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

// sender returns the client that sends transactions. It is the gateway of this process if there is
// one, because the gateway sends to several servers at the same time. If the gateway demands a key,
// client sends the transaction instead.
func (s *system) sender(client *solana.Client) (swap.Sender, error) {
	if s.gatewayURL == "" {
		return client, nil
	}
	gateway, err := solana.NewClient(solana.Config{Endpoints: []string{s.gatewayURL}, MaxElapsed: quotePatience}, solana.Deps{Logger: s.logger})
	return throughGateway{gateway, client}, err
}

// throughGateway calls the gateway. If the gateway refuses the call for lack of a key, it has sent
// nothing, and throughGateway calls the servers behind it directly.
type throughGateway struct{ gateway, direct *solana.Client }

func (t throughGateway) Call(ctx context.Context, method string, params []any, result any) error {
	err := t.gateway.Call(ctx, method, params, result)
	var refused *solana.HTTPError
	if errors.As(err, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) {
		return t.direct.Call(ctx, method, params, result)
	}
	return err
}

// swapFolder is the folder, in the data folder, that has the record of the builds of venues'
// programs, and the checkpoint of held pools.
const swapFolder = "swap"

// swapTrust returns which builds of venues' programs the operator accepts, and the folder in which
// builds are recorded. If the folder cannot be used, nothing is recorded.
func (s *system) swapTrust() trust.Config {
	var cfg trust.Config
	var err error
	// The configuration was validated, so ParseAccepted cannot fail.
	if cfg.Accepted, err = trust.ParseAccepted(s.cfg.Swap.Trust); err == nil {
		cfg.Dir, err = s.cfg.dataPath(swapFolder)
	}
	if err != nil {
		s.logger.Warn("builds of venues are not recorded: after a restart those that are deployed then are taken for the first ones", "err", err)
	}
	return cfg
}

// poolsFile returns the path of the checkpoint of held pools; empty if the data folder cannot be
// used.
func (s *system) poolsFile() string {
	folder, err := s.cfg.dataPath(swapFolder)
	if err != nil {
		s.logger.Warn("no checkpoint of pools is kept: after a restart they are read again", "err", err)
		return ""
	}
	return filepath.Join(folder, "pools.checkpoint")
}

// poolBounds returns the limits of what is held from the stream.
func (s *system) poolBounds() state.FoldConfig {
	return state.FoldConfig{MaxAsked: s.cfg.Swap.MaxPairs, MaxPools: s.cfg.Swap.MaxPools, LeastDepth: uint64(s.cfg.Swap.LeastDepth)}
}

// heldPools returns the stream from which the swap API keeps the state of pools. Its Endpoint is
// empty if there is none.
func (s *system) heldPools() (state.Config, error) {
	if s.cfg.Swap.State == stateRPC {
		return state.Config{}, nil
	}
	if endpoint := s.geyserEndpoint(); endpoint != "" {
		return state.Config{Endpoint: endpoint, Token: s.cfg.Geyser.Token, Fold: s.poolBounds(), File: s.poolsFile()}, nil
	}
	if s.cfg.Swap.State == stateStream {
		return state.Config{}, fmt.Errorf("swap.state: %s: must be %s or %s, as no source is a stream", stateStream, stateAuto, stateRPC)
	}
	return state.Config{}, nil
}
