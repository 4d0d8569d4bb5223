package stream

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

const (
	// maxUpdate bounds one message of the server in bytes. The largest is a transaction with its
	// logs.
	maxUpdate = 16 << 20
	// replayBack is how many slots before the last ended slot the replay of a new session begins:
	// blocks of other forks may not have been complete.
	replayBack = 8
)

type processedMetrics struct {
	records, bad, repeated, gaps, dead, withdrawn prometheus.Counter
	// sessions counts the sessions that received a transaction, a slot or a block.
	sessions prometheus.Counter
}

func processedCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_gateway_stream_processed_" + name, Help: help})
}

func newProcessedMetrics() processedMetrics {
	return processedMetrics{
		records:   processedCounter("records_total", "Processed transactions that the source's node sent."),
		bad:       processedCounter("bad_updates_total", "Updates of the source's node that could not be read and were left out."),
		repeated:  processedCounter("repeated_total", "Updates that the source's node sent more than once and that were left out."),
		gaps:      processedCounter("gaps_total", "Times that processed slots were missing, and subscribers were told."),
		dead:      processedCounter("dead_slots_total", "Slots that the source's node called dead."),
		withdrawn: processedCounter("withdrawn_total", "Blocks that subscribers were told of and that were withdrawn, as another block of the slot took their place, or their parent's."),
		sessions:  processedCounter("connections_total", "Connections to the source's node that brought transactions, slots or blocks."),
	}
}

// follow runs one session after the other until ctx ends. The pauses between them grow while no
// news comes.
func (p *processed) follow(ctx context.Context) {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = p.cfg.firstPause, p.cfg.maxPause
	plain := false // ask for no replay, because the server refused the last one
	for failures := uint(1); ctx.Err() == nil; failures++ {
		var from uint64
		if tip := p.tip.Load(); tip > 0 && !plain {
			from = max(tip, replayBack+1) - replayBack
		}
		came, err := p.session(ctx, from)
		if ctx.Err() != nil {
			return
		}
		plain = from > 0 && !came && refusesReplay(err)
		if came {
			delays.Reset()
			failures = 1
		}
		if bits.OnesCount(failures) == 1 { // log failures 1, 2, 4, 8 and so on
			p.server.deps.Logger.Warn("connection for what is processed given up", "err", err, "failures", failures)
		}
		_ = pause.For(ctx, delays.NextBackOff()) // the loop ends with ctx
	}
}

// refusesReplay returns whether a session's error may be about its from_slot. Servers without a
// replay answer with various codes, so every code counts that has no other usual reason.
func refusesReplay(err error) bool {
	refused, ok := status.FromError(err)
	if !ok {
		return false // the server closed the stream, or was silent
	}
	switch refused.Code() { //nolint:exhaustive // every other code may be about from_slot
	case codes.Unauthenticated, codes.PermissionDenied, codes.ResourceExhausted,
		codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted:
		return false
	}
	return true
}

// isNews returns whether a message is about a transaction, a slot or a block. Servers also send
// pings, even before they refuse a from_slot.
func isNews(message []byte) (news bool) {
	f := protofields.Fields{Rest: message}
	for f.Next() {
		news = news || f.IsBytes(fieldUpdateTransaction) || f.IsBytes(fieldUpdateSlotStatus) || f.IsBytes(fieldUpdateBlockMeta)
	}
	return news // take counts a message that cannot be read
}

// session opens a connection and passes on what comes, until the connection ends. If from is not 0,
// it asks for a replay from that slot on. It returns why the connection ended, and whether news
// came before.
func (p *processed) session(ctx context.Context, from uint64) (came bool, err error) {
	conn, err := p.upstream.Connect(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxUpdate), grpc.ForceCodecV2(yellowstone.RawCodec{})))
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancelCause(p.upstream.WithToken(ctx))
	defer cancel(nil)
	stream, err := conn.NewStream(ctx, &pb.Geyser_ServiceDesc.Streams[0], pb.Geyser_Subscribe_FullMethodName)
	if err != nil {
		return false, err
	}
	if err := stream.SendMsg(p.request(from)); err != nil {
		return false, stream.RecvMsg(&[]byte{}) // returns why the server ended the stream
	}
	go p.keepAlive(ctx, stream)
	silent := time.AfterFunc(p.cfg.silence, func() { cancel(fmt.Errorf("no message for %s", p.cfg.silence)) })
	defer silent.Stop()
	for {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return came, cause
			}
			return came, err
		}
		silent.Reset(p.cfg.silence)
		now := time.Now()
		if !came && isNews(message) {
			came = true
			p.server.metrics.processed.sessions.Inc()
			p.hand(ctx, received{begins: true, replays: from > 0})
		}
		p.hand(ctx, received{message: message, at: now})
	}
}

// hand passes a message, or the beginning of the session, on to publish.
func (p *processed) hand(ctx context.Context, r received) {
	select {
	case p.received <- r:
	case <-ctx.Done():
	}
}

// keepAlive pings the server, because some servers close connections on which the client sends
// nothing.
func (p *processed) keepAlive(ctx context.Context, stream grpc.ClientStream) {
	for id := int32(1); ; id++ {
		if pause.For(ctx, p.cfg.silence/2) != nil {
			return
		}
		if stream.SendMsg(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: id}}) != nil {
			return // the receiving side learns the reason
		}
	}
}

// request returns the subscription: the same transactions that ingest asks for, all statuses of
// slots, and the metadata of blocks.
func (p *processed) request(from uint64) *pb.SubscribeRequest {
	no, yes, at := false, true, pb.CommitmentLevel_PROCESSED
	request := &pb.SubscribeRequest{
		Commitment:   &at,
		Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"mintlake": {Vote: &no}},
		Slots:        map[string]*pb.SubscribeRequestFilterSlots{"mintlake": {FilterByCommitment: &no, InterslotUpdates: &yes}},
		BlocksMeta:   map[string]*pb.SubscribeRequestFilterBlocksMeta{"mintlake": {}},
	}
	if p.server.cfg.Transactions != transactionsAll {
		request.Transactions["mintlake"].AccountInclude = []string{schemas.ProgramToken, schemas.ProgramToken2022, schemas.ProgramMetaplex}
	}
	if from > 0 {
		request.FromSlot = &from
	}
	return request
}
