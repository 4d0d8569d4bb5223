package main

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/gateway/stream"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap"
)

// keyStore holds the keys of a product that the configuration lists.
func keyStore(product keys.Product, list []string) (*keys.Static, error) {
	entries, err := keys.ParseEntries(product, list)
	if err != nil {
		return nil, err
	}
	return keys.NewStatic(entries...)
}

// startGateway serves JSON-RPC from the upstreams.
func (s *system) startGateway(ctx context.Context) error {
	store, err := keyStore(keys.RPC, s.cfg.RPC.Keys)
	if err != nil {
		return err
	}
	room, err := jsonrpc.New(jsonrpc.Config{Addr: s.cfg.RPC.Addr, Upstreams: s.cfg.RPC.Upstream},
		jsonrpc.Deps{Keys: store, Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return err
	}
	s.lifecycle.start("gateway", room.Run)
	if err := s.lifecycle.await(ctx, room.Ready()); err != nil {
		return err
	}
	s.addresses.add("rpc", "http://"+room.Addr())
	return nil
}

// startStream serves the transactions that ingest passes on, over gRPC and WebSocket.
func (s *system) startStream(ctx context.Context) error {
	store, err := keyStore(keys.RPC, s.cfg.RPC.Keys)
	if err != nil {
		return err
	}
	room, err := stream.New(stream.Config{Addr: s.cfg.Stream.Addr, Commitment: s.cfg.Geyser.Commitment, Version: version()}, stream.Deps{
		Keys: store, Offsets: s.admin, Logger: s.logger, Registerer: s.registerer,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (stream.Tailer, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: start, Name: "stream"},
				kafka.Deps{Logger: s.logger, Registerer: s.registerer})
		},
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("stream", room.Run)
	if err := s.lifecycle.await(ctx, room.Ready()); err != nil {
		return err
	}
	s.addresses.add("stream", "http://"+room.Addr())
	return nil
}

// startGatewayRoom serves both surfaces of the gateway.
func (s *system) startGatewayRoom(ctx context.Context) error {
	if err := s.startGateway(ctx); err != nil {
		return err
	}
	return s.startStream(ctx)
}

// quotePatience is how long a quote's RPC call is tried: a late quote is worth nothing.
const quotePatience = 4 * time.Second

// startSwap serves quotes from the upstreams' accounts.
func (s *system) startSwap(ctx context.Context) error {
	store, err := keyStore(keys.Swap, s.cfg.Swap.Keys)
	if err != nil {
		return err
	}
	deps := swap.Deps{Keys: store, Logger: s.logger, Registerer: s.registerer}
	if len(s.cfg.RPC.Upstream) > 0 {
		if deps.RPC, err = solana.NewClient(solana.Config{Endpoints: s.cfg.RPC.Upstream, MaxElapsed: quotePatience},
			solana.Deps{Logger: s.logger, Registerer: s.registerer}); err != nil {
			return err
		}
	}
	room, err := swap.New(swap.Config{Addr: s.cfg.Swap.Addr}, deps)
	if err != nil {
		return err
	}
	s.lifecycle.start("swap", room.Run)
	if err := s.lifecycle.await(ctx, room.Ready()); err != nil {
		return err
	}
	s.addresses.add("swap", "http://"+room.Addr())
	return nil
}
