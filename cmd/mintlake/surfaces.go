package main

import (
	"context"
	"net"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/balances"
	"github.com/mintlake/mintlake/gateway/das"
	"github.com/mintlake/mintlake/gateway/fees"
	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/gateway/stream"
	"github.com/mintlake/mintlake/gateway/subscriptions"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/solana"
)

// startGateway starts the JSON-RPC gateway, with subscriptions over WebSocket.
func (s *system) startGateway(ctx context.Context) error {
	store, err := s.keyStore(ctx)
	if err != nil {
		return err
	}
	estimates := fees.New()
	subscribed, err := s.startSubscriptions(estimates)
	if err != nil {
		return err
	}
	local, err := s.localMethods()
	if err != nil {
		return err
	}
	room, err := jsonrpc.New(jsonrpc.Config{
		Addr: s.cfg.RPC.Addr, WebSocketAddr: s.cfg.RPC.WSAddr, Upstreams: s.cfg.RPC.Upstream, AllowedOrigins: s.cfg.RPC.AllowedOrigins,
		TrustedProxies: s.keys.proxies,
		PollInterval:   s.cfg.RPC.PollInterval, MaxLagSlots: s.cfg.RPC.MaxLag, SendUpstreams: s.cfg.RPC.SendUpstreams,
		HedgeShare: s.cfg.RPC.HedgeShare, ShareReads: s.cfg.RPC.ShareReads, CacheBytes: s.cfg.RPC.CacheBytes,
	}, jsonrpc.Deps{Keys: store, Subscriptions: subscribed, Local: append(local, estimates), Logger: s.logger, Registerer: s.registerer, Tracer: s.tracer,
		OtherChain: s.exclusions.Has})
	if err != nil {
		return err
	}
	s.lifecycle.start("gateway", room.Run)
	if err := s.lifecycle.await(ctx, room.Ready()); err != nil {
		return err
	}
	s.addresses.add("rpc", "http://"+room.Addr())
	if host, _, err := net.SplitHostPort(room.Addr()); err == nil && keys.LoopbackHost(host) {
		s.gatewayURL = "http://" + room.Addr()
	}
	if addr := room.WebSocketAddr(); addr != "" {
		s.addresses.add("rpc_ws", "ws://"+addr)
	}
	return nil
}

// localMethods returns the servers of methods that the gateway answers without an upstream: those
// of DAS, and those about balances.
func (s *system) localMethods() ([]jsonrpc.Local, error) {
	api := s.cfg.RPC.DASAPI
	if api == "" {
		api = s.apiURL
	}
	if api == "" || api == dasOff {
		return nil, nil
	}
	assets, err := das.New(das.Config{API: api, Token: s.cfg.API.InternalToken}, das.Deps{Registerer: s.registerer})
	if err != nil {
		return nil, err
	}
	if !s.cfg.RPC.AnswerBalances {
		return []jsonrpc.Local{assets}, nil
	}
	held, err := balances.New(balances.Config{API: api, Token: s.cfg.API.InternalToken}, balances.Deps{Registerer: s.registerer})
	if err != nil {
		return nil, err
	}
	return []jsonrpc.Local{assets, held}, nil
}

const (
	// statusPatience is how long a request for signature statuses is tried. The next request comes
	// soon anyway.
	statusPatience = 3 * time.Second
	// statusCalls bounds these requests per second; one has up to 256 signatures.
	statusCalls = 20
	// statusAnswer bounds a response in bytes; 256 statuses have some 60 KB.
	statusAnswer = 4 << 20
	// accountPatience and accountAnswer are the same for accounts, which are read after a change of
	// upstream. An account of 10 MiB has 14 MB in base64.
	accountPatience = 30 * time.Second
	accountAnswer   = 32 << 20
)

// startSubscriptions starts the room behind the WebSockets of the RPC address and the estimates of
// fees. It reads what ingest publishes, and what the upstreams send.
func (s *system) startSubscriptions(estimates *fees.Server) (*subscriptions.Server, error) {
	deps := subscriptions.Deps{
		Offsets: s.admin, Fees: estimates, Logger: s.logger, Registerer: s.registerer,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: start, Name: "subscriptions"},
				s.kafka)
		},
	}
	if len(s.cfg.RPC.Upstream) > 0 {
		client, err := solana.NewClient(solana.Config{
			Endpoints: s.cfg.RPC.Upstream, Timeout: statusPatience, MaxElapsed: statusPatience, RequestsPerSecond: statusCalls, MaxBodyBytes: statusAnswer,
		}, s.solanaDeps())
		if err != nil {
			return nil, err
		}
		deps.RPC = client
		if len(s.cfg.RPC.UpstreamWS) > 0 {
			if deps.Accounts, err = solana.NewClient(solana.Config{
				Endpoints: s.cfg.RPC.Upstream, MaxElapsed: accountPatience, RequestsPerSecond: statusCalls, MaxBodyBytes: accountAnswer,
			}, s.solanaDeps()); err != nil {
				return nil, err
			}
		}
	}
	room, err := subscriptions.New(subscriptions.Config{Commitment: s.cfg.blockCommitment(), WebSockets: s.cfg.RPC.UpstreamWS}, deps)
	if err != nil {
		return nil, err
	}
	s.lifecycle.start("subscriptions", room.Run)
	return room, nil
}

// geyserEndpoint returns the URL of the source that is a Geyser server, or of the demo's server;
// empty if there is none.
func (s *system) geyserEndpoint() string {
	for _, text := range s.cfg.Source {
		if isDemo(text) && s.demoGeyser != "" {
			text = s.demoGeyser
		}
		if spec, err := source.ParseSpec(text); err == nil && spec.Kind == source.KindGeyser {
			return spec.Endpoint
		}
	}
	return ""
}

// processedSource returns the server of stream.processed; an empty one if that is off.
func (s *system) processedSource() (stream.ProcessedConfig, error) {
	if !s.cfg.Stream.Processed {
		return stream.ProcessedConfig{}, nil
	}
	endpoint := s.geyserEndpoint()
	if endpoint == "" {
		return stream.ProcessedConfig{}, errProcessedSource
	}
	return stream.ProcessedConfig{Endpoint: endpoint, Token: s.cfg.Geyser.Token}, nil
}

// startStream starts the stream, which serves the transactions that ingest publishes over gRPC and
// WebSocket.
func (s *system) startStream(ctx context.Context) error {
	store, err := s.keyStore(ctx)
	if err != nil {
		return err
	}
	processed, err := s.processedSource()
	if err != nil {
		return err
	}
	room, err := stream.New(stream.Config{Addr: s.cfg.Stream.Addr, Processed: processed, Commitment: s.cfg.blockCommitment(), Version: thisBuild().Version,
		Transactions: s.cfg.Stream.Transactions, AllowedOrigins: s.cfg.Stream.AllowedOrigins, TrustedProxies: s.keys.proxies,
		MaxSubscribers: s.cfg.Stream.MaxSubscribers, MaxConnections: s.cfg.Stream.MaxConnections,
		MaxConnectionsPerAddress: s.cfg.Stream.MaxPerAddress, MaxReplays: s.cfg.Stream.MaxReplays,
		CertFile: s.cfg.Stream.TLS.CertFile, KeyFile: s.cfg.Stream.TLS.KeyFile}, stream.Deps{
		Keys: store, Offsets: s.admin, Logger: s.logger, Registerer: s.registerer, Unknowns: s.unknowns,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: start, Name: "stream"},
				s.kafka)
		},
	})
	if err != nil {
		return err
	}
	s.stream.Store(room)
	s.lifecycle.start("stream", room.Run)
	if err := s.lifecycle.await(ctx, room.Ready()); err != nil {
		return err
	}
	s.addresses.add("stream", "http://"+room.Addr())
	return nil
}

// startGatewayRoom starts the gateway and the stream. With administers set, startKeys starts the
// admin API before them.
func (s *system) startGatewayRoom(ctx context.Context) error {
	s.administers = true
	if err := s.startGateway(ctx); err != nil {
		return err
	}
	return s.startStream(ctx)
}
