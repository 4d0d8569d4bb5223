package geyser

import (
	"fmt"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// server returns how to reach the source's server.
func (s *Source) server() yellowstone.Server {
	return yellowstone.Server{URL: s.url, Token: s.cfg.Token, TLS: s.deps.TLS, Dial: s.deps.Dial}
}

func (s *Source) dial() (*grpc.ClientConn, error) {
	return s.server().Connect(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(s.cfg.maxMessageBytes), grpc.ForceCodecV2(yellowstone.RawCodec{})))
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

// Request returns the subscription: blocks with the transactions that touch our programs, every
// slot status including dead ones, and the accounts if they are asked for.
func (s *Source) Request(from *uint64, accounts bool) *pb.SubscribeRequest {
	level, _ := commitmentLevel(s.cfg.Commitment) // checked by New
	yes, no := true, false
	var programs []string // a transaction must name one of these, unless there are none
	if !s.cfg.AllTransactions {
		programs = []string{schemas.ProgramToken, schemas.ProgramToken2022, schemas.ProgramMetaplex}
	}
	request := &pb.SubscribeRequest{
		Blocks:     map[string]*pb.SubscribeRequestFilterBlocks{"mintlake": {AccountInclude: programs, IncludeTransactions: &yes, IncludeAccounts: &no, IncludeEntries: &no}},
		Slots:      map[string]*pb.SubscribeRequestFilterSlots{"mintlake": {FilterByCommitment: &no, InterslotUpdates: &yes}},
		Commitment: &level,
		FromSlot:   from,
	}
	if accounts {
		request.Accounts = accountFilters()
	}
	if s.cfg.BlocksMeta {
		request.BlocksMeta = map[string]*pb.SubscribeRequestFilterBlocksMeta{"mintlake": {}}
	}
	return request
}
