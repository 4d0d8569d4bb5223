package trust

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/cenkalti/backoff/v5"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"

	"github.com/mintlake/mintlake/internal/pause"
)

const (
	// silence is how long the connection may be without any message before it is given up. Servers
	// ping every 10 s.
	silence = 30 * time.Second
	// maxMessage is the largest transaction in bytes, with its logs.
	maxMessage = 16 << 20
)

// follow takes transactions of the venues' programs from the stream. It uses a connection of its
// own: if that lags or is refused, the pools' state is not affected.
func (t *Trust) follow(ctx context.Context) {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = 250*time.Millisecond, 30*time.Second
	for failures := uint(1); ctx.Err() == nil; failures++ {
		received, err := t.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if received {
			delays.Reset()
			failures = 1
		}
		if bits.OnesCount(failures) == 1 { // sampled
			t.deps.Logger.Warn("stream of swaps given up", "err", err, "failures", failures)
		}
		_ = pause.For(ctx, delays.NextBackOff())
	}
}

// session is one connection. received says that a transaction came.
func (t *Trust) session(ctx context.Context) (received bool, err error) {
	conn, err := t.server.Connect(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancelCause(t.server.WithToken(ctx))
	defer cancel(nil)
	stream, err := pb.NewGeyserClient(conn).Subscribe(ctx)
	if err != nil {
		return false, err
	}
	if err := stream.Send(t.request()); err != nil {
		return false, err
	}
	silent := time.AfterFunc(silence, func() { cancel(fmt.Errorf("no message for %s", silence)) })
	defer silent.Stop()
	for {
		u, err := stream.Recv()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return received, cause
			}
			return received, err
		}
		silent.Reset(silence)
		switch m := u.GetUpdateOneof().(type) {
		case *pb.SubscribeUpdate_Ping:
			if err := stream.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 1}}); err != nil {
				return received, err
			}
		case *pb.SubscribeUpdate_Transaction:
			received = true
			t.submit(t.joined.transaction(m.Transaction))
		}
	}
}

// request returns the subscription to the transactions of the venues' programs.
func (t *Trust) request() *pb.SubscribeRequest {
	no, level := false, pb.CommitmentLevel_PROCESSED
	filter := &pb.SubscribeRequestFilterTransactions{Vote: &no, Failed: &no}
	for _, v := range t.deps.Venues {
		filter.AccountInclude = append(filter.AccountInclude, v.Program().String())
	}
	return &pb.SubscribeRequest{Commitment: &level, Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"mintlake": filter}}
}
