package geyser

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // servers may compress
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// rawCodec hands received messages over undecoded: the block is parsed in place, and an undecodable
// message is ours to judge and not gRPC's.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("marshal %T: no protobuf message", v)
	}
	data, err := proto.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	switch to := v.(type) {
	case *[]byte:
		*to = data.Materialize()
		return nil
	case proto.Message:
		return proto.Unmarshal(data.Materialize(), to)
	}
	return fmt.Errorf("unmarshal into %T", v)
}

// window lets a whole large block be under way.
const window = 8 << 20

func (s *Source) dial() (*grpc.ClientConn, error) {
	host, port := s.url.Hostname(), s.url.Port()
	creds := insecure.NewCredentials()
	if s.url.Scheme == "https" {
		conf := &tls.Config{MinVersion: tls.VersionTLS12}
		if s.deps.TLS != nil {
			conf = s.deps.TLS
		}
		creds = credentials.NewTLS(conf)
	}
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[s.url.Scheme]
	}
	scheme, options := "dns:///", []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(2 * window),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(s.cfg.maxMessageBytes), grpc.ForceCodecV2(rawCodec{})),
	}
	if s.deps.Dial != nil {
		scheme, options = "passthrough:///", append(options, grpc.WithContextDialer(s.deps.Dial))
	}
	return grpc.NewClient(scheme+net.JoinHostPort(host, port), options...)
}

func (s *Source) withToken(ctx context.Context) context.Context {
	if s.cfg.Token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "x-token", s.cfg.Token)
}

func commitmentLevel(name string) (pb.CommitmentLevel, error) {
	switch name {
	case "confirmed":
		return pb.CommitmentLevel_CONFIRMED, nil
	case "finalized":
		return pb.CommitmentLevel_FINALIZED, nil
	}
	return 0, fmt.Errorf("commitment %.20q, want confirmed or finalized", name)
}

// request is the subscription: blocks with the transactions that touch our programs, every slot
// status, dead ones included, and the accounts where they are asked for.
func (s *Source) request(from *uint64, accounts bool) *pb.SubscribeRequest {
	level, _ := commitmentLevel(s.cfg.Commitment) // checked by New
	yes, no := true, false
	request := &pb.SubscribeRequest{
		Blocks:     map[string]*pb.SubscribeRequestFilterBlocks{"mintlake": {AccountInclude: s.cfg.accounts, IncludeTransactions: &yes, IncludeAccounts: &no, IncludeEntries: &no}},
		Slots:      map[string]*pb.SubscribeRequestFilterSlots{"mintlake": {FilterByCommitment: &no, InterslotUpdates: &yes}},
		Commitment: &level,
		FromSlot:   from,
	}
	if s.cfg.AllTransactions {
		request.Blocks["mintlake"].AccountInclude = nil
	}
	if accounts {
		request.Accounts = accountFilters()
	}
	if s.cfg.BlocksMeta {
		request.BlocksMeta = map[string]*pb.SubscribeRequestFilterBlocksMeta{"mintlake": {}}
	}
	return request
}
