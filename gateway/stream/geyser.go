package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// tokenHeader is the metadata that carries the RPC key, as at other Yellowstone servers.
const tokenHeader = "x-token"

// maxRequestBytes bounds one message of a client; 50,000 addresses take 2.3 MB.
const maxRequestBytes = 4 << 20

const formGRPC = "grpc"

// geyser implements the gRPC service.
type geyser struct {
	pb.UnimplementedGeyserServer
	*Server
}

func (s *Server) newGRPC() *grpc.Server {
	server := grpc.NewServer(
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxRequestBytes), grpc.MaxConcurrentStreams(64), grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(s.cfg.beginTimeout),
		grpc.KeepaliveParams(s.keepalive()),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(s.interceptUnary), grpc.StreamInterceptor(s.interceptStream),
	)
	pb.RegisterGeyserServer(server, &geyser{Server: s})
	return server
}

// keepalive returns gRPC's settings for connections, without gRPC's pings: these read the wall
// clock, and when it is set back they end each healthy connection within half a minute. A client
// that is gone is noticed by the kernel's TCP keepalive (listen.TCP), or because its queue is full.
func (s *Server) keepalive() keepalive.ServerParameters {
	const never = time.Duration(math.MaxInt64)
	return keepalive.ServerParameters{Time: never, MaxConnectionIdle: s.cfg.idleTimeout}
}

// GetVersion implements geyser.Geyser.
func (g *geyser) GetVersion(context.Context, *pb.GetVersionRequest) (*pb.GetVersionResponse, error) {
	text, err := json.Marshal(g.about())
	if err != nil { // cannot happen: these are strings
		return nil, status.Error(codes.Internal, "internal error")
	}
	return &pb.GetVersionResponse{Version: string(text)}, nil
}

// GetSlot implements geyser.Geyser: the highest slot seen, or the highest one at a commitment.
func (g *geyser) GetSlot(_ context.Context, in *pb.GetSlotRequest) (*pb.GetSlotResponse, error) {
	at, err := g.levelOf(in.Commitment)
	if err != nil {
		return nil, err
	}
	slot := g.hub.slot.Load()
	switch at {
	case levelFinal:
		slot = g.recent.root()
	case levelProcessed:
		slot = g.processed.slot()
	case levelLog:
	}
	if slot == 0 {
		return nil, status.Error(codes.Unavailable, "no slot of this commitment has come yet")
	}
	return &pb.GetSlotResponse{Slot: slot}, nil
}

// Ping implements geyser.Geyser.
func (g *geyser) Ping(_ context.Context, in *pb.PingRequest) (*pb.PongResponse, error) {
	return &pb.PongResponse{Count: in.GetCount()}, nil
}

// Subscribe implements geyser.Geyser. Each request replaces the filters. A request with a ping is
// answered with a pong and changes nothing.
func (g *geyser) Subscribe(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate]) error {
	sub, err := g.hub.add(leaseOf(stream.Context()).ID(), formGRPC, g.cfg.buffer)
	if err != nil {
		g.metrics.refused.WithLabelValues(formGRPC, "full").Inc()
		return endStatus(err)
	}
	defer g.hub.remove(sub)
	g.metrics.subscriptions.WithLabelValues(formGRPC).Inc()
	// receive and send have a goroutine each. A client that does not read blocks send. This
	// goroutine can still end the stream when the hub cuts the subscriber off.
	ended := make(chan error, 2)
	pongs := make(chan int32, 1)
	go func() { ended <- g.guarded(func() error { return g.receive(stream, sub, pongs) }) }()
	go func() { ended <- g.guarded(func() error { return g.send(stream, sub, pongs) }) }()
	select {
	case err := <-ended:
		return err
	case <-sub.Ended():
		return endStatus(sub.Why())
	case <-leaseOf(stream.Context()).Ended():
		return g.refuseGRPC(leaseOf(stream.Context()).Why())
	}
}

// guarded calls work and returns its error. If work panics, it returns the status Internal.
func (s *Server) guarded(work func() error) (err error) {
	defer panics.Catch(s.deps.Logger, s.metrics.panics, func() { err = endStatus(socket.ErrInternal) })
	return work()
}

// endStatus returns the gRPC status for the reason why a stream ends.
func endStatus(why error) error {
	switch {
	case errors.Is(why, socket.ErrStops):
		return status.Error(codes.Unavailable, why.Error())
	case errors.Is(why, socket.ErrInternal):
		return status.Error(codes.Internal, why.Error())
	}
	return status.Error(codes.ResourceExhausted, why.Error())
}

// receive applies the client's requests to sub until the stream ends. An error ends the stream.
func (g *geyser) receive(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate], sub *subscriber, pongs chan<- int32) error {
	var replayGate *gate // of the stream's replay, which serves the filters of later requests, too
	filtered, replayAt := false, levelLog
	for {
		in, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			// The client has said all it wants to say; it still listens.
			<-stream.Context().Done()
			return nil
		case err != nil:
			return err
		}
		if in.Ping != nil {
			select {
			case pongs <- in.Ping.Id:
			default: // a client that pings faster than it reads gets fewer pongs
			}
			continue
		}
		at, err := g.levelOf(in.Commitment)
		if err != nil {
			return g.refuseRequest(err)
		}
		filters, watches, err := g.filtersOf(in, at)
		switch {
		case err != nil:
		case in.FromSlot != nil && len(filters)+len(watches) == 0:
			err = errors.New("from_slot: must come with filters: a replay serves those of its request")
		case in.FromSlot != nil && filtered:
			err = errors.New("from_slot: only in the first request with filters; open another stream")
		case in.FromSlot != nil && at == levelProcessed:
			err = errLiveOnly
		case replayGate != nil && at != replayAt:
			err = errors.New("commitment: stays what it was on a stream that began with from_slot; open another stream")
		}
		if err != nil {
			return g.refuseRequest(err)
		}
		if refused := leaseOf(stream.Context()).Addresses(askedFor(filters)); refused != nil {
			return g.refuseGRPC(refused)
		}
		filtered = filtered || len(filters)+len(watches) > 0
		var r *replay
		if in.FromSlot != nil {
			if r, err = g.newReplay(stream.Context(), sub, *in.FromSlot, at); err != nil {
				return g.replayStatus(err)
			}
			replayGate, replayAt = r.gate, at
		}
		for _, f := range filters {
			f.gate = replayGate
		}
		for _, w := range watches {
			w.gate = replayGate
		}
		if err := g.apply(stream.Context(), sub, filters, watches, r); err != nil {
			return err
		}
	}
}

// apply makes filters and watches the subscriber's, and starts a replay for them; r may be nil.
// After an error the replay was released.
func (g *geyser) apply(ctx context.Context, sub *subscriber, filters []namedFilter, watches []*watch, r *replay) error {
	if err := g.hub.set(sub, filters, watches); err != nil {
		g.metrics.refused.WithLabelValues(formGRPC, "full").Inc()
		if r != nil {
			r.release()
		}
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	if r != nil {
		go r.run(ctx)
	}
	leaseOf(ctx).SetAddresses(askedFor(filters))
	return nil
}

// filtersOf reads the filters and the watches of a request. It refuses what this stream does not
// offer, because a client whose request was ignored would wait for ever.
func (g *geyser) filtersOf(in *pb.SubscribeRequest, at level) ([]namedFilter, []*watch, error) {
	filters, err := readFilters(in.Transactions, limits{g.cfg.maxFilters, g.cfg.maxAddresses})
	if err != nil {
		return nil, nil, err
	}
	statuses, err := readFilters(in.TransactionsStatus, limits{g.cfg.maxFilters - len(filters), g.cfg.maxAddresses - addressesIn(filters)})
	if err != nil {
		return nil, nil, fmt.Errorf("transactions_status: %w", err)
	}
	for _, f := range statuses {
		f.status = true
	}
	filters = append(filters, statuses...)
	for _, f := range filters {
		f.at = at
		if f.vote != nil && *f.vote {
			return nil, nil, fmt.Errorf("filter %q: %w", f.name, errVotes)
		}
	}
	watches, err := watchesOf(in, at, g.cfg.maxFilters)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range watches {
		w.final = g.onlyFinal() && in.GetCommitment() == pb.CommitmentLevel_FINALIZED
	}
	if err := refusedFields.UnknownField(in); err != nil {
		return nil, nil, err
	}
	for name, n := range map[string]int{
		"accounts": len(in.Accounts), "blocks": len(in.Blocks),
		"entry": len(in.Entry), "accounts_data_slice": len(in.AccountsDataSlice),
	} {
		if n > 0 {
			return nil, nil, fmt.Errorf("%s: this stream has transactions, transactions_status, slots and blocks_meta; ask the provider's own Geyser server for others", name)
		}
	}
	return filters, watches, nil
}

// refusedFields are the fields of requests that this stream does not serve. It need not list fields
// of the filters for accounts, blocks and entries, because these filters are refused as a whole.
var refusedFields = yellowstone.Refused{"geyser.SubscribeRequest.block_footer"}

// levelOf returns the level of a request; levelLog if commitment is nil. Its errors are gRPC
// statuses.
func (g *geyser) levelOf(commitment *pb.CommitmentLevel) (level, error) {
	if commitment == nil {
		return levelLog, nil
	}
	at, err := g.Server.levelOf(strings.ToLower(commitment.String()))
	switch {
	case errors.Is(err, errNotFinal):
		return at, status.Error(codes.Unavailable, err.Error())
	case err != nil:
		return at, status.Error(codes.InvalidArgument, err.Error())
	}
	return at, nil
}

// refuseRequest counts a request that this stream does not accept and returns its gRPC status.
func (g *geyser) refuseRequest(err error) error {
	g.metrics.refused.WithLabelValues(formGRPC, "invalid").Inc()
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.InvalidArgument, err.Error())
}

// replayStatus returns the gRPC status of a replay that cannot begin. A slot that is too old gives
// OUT_OF_RANGE, as in Yellowstone, with the oldest slot in a google.rpc.ErrorInfo. Too many replays
// give RESOURCE_EXHAUSTED. Any other error is reported as a log that cannot be read.
func (g *geyser) replayStatus(err error) error {
	var old *oldSlotError
	switch {
	case errors.As(err, &old):
		g.metrics.refused.WithLabelValues(formGRPC, "old_slot").Inc()
		refused, detailErr := status.New(codes.OutOfRange, err.Error()).WithDetails(&errdetails.ErrorInfo{
			Reason: "SLOT_TOO_OLD", Domain: "mintlake", Metadata: map[string]string{"oldest_slot": strconv.FormatUint(old.oldest, 10)},
		})
		if detailErr != nil { // cannot happen: the detail is made here
			return status.Error(codes.OutOfRange, err.Error())
		}
		return refused.Err()
	case errors.Is(err, errReplays), errors.Is(err, errKeyReplays):
		g.metrics.refused.WithLabelValues(formGRPC, "full").Inc()
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	return status.Error(codes.Unavailable, errLostLog.Error())
}

// send sends the subscriber's deliveries, pongs and pings until the stream ends. Notes that do not
// wait behind transactions are sent after the next transaction at the latest.
func (g *geyser) send(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate], sub *subscriber, pongs <-chan int32) error {
	ping := time.NewTicker(g.timings.PingInterval)
	defer ping.Stop()
	ctx := stream.Context()
	for {
		var update *pb.SubscribeUpdate
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sub.notes.ready:
			if err := g.sendNotes(stream, sub); err != nil {
				return err
			}
			continue
		case <-sub.out.ready:
			for d, ok := sub.out.pop(); ok; d, ok = sub.out.pop() {
				if err := g.sendOne(stream, d); err != nil {
					return err
				}
				if err := g.sendNotes(stream, sub); err != nil {
					return err
				}
			}
			continue
		case id := <-pongs:
			update = &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Pong{Pong: &pb.SubscribeUpdatePong{Id: id}}}
		case <-ping.C:
			update = &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}}
		}
		if err := stream.Send(update); err != nil {
			return err
		}
	}
}

// sendNotes sends the subscriber's notes that do not wait behind transactions.
func (g *geyser) sendNotes(stream grpc.ServerStream, sub *subscriber) error {
	for d, ok := sub.notes.pop(); ok; d, ok = sub.notes.pop() {
		if err := g.sendOne(stream, d); err != nil {
			return err
		}
	}
	return nil
}

// sendOne sends a delivery: a note, or a transaction as up to two updates, one for the filters of
// transactions and one for those of transactions_status.
func (g *geyser) sendOne(stream grpc.ServerStream, d delivery) error {
	if d.note != nil {
		return stream.SendMsg(d.slotUpdate())
	}
	// An update consists of the names of the subscriber's filters, and of bytes that all
	// subscribers share.
	if names := d.names(false); names != nil {
		if err := stream.SendMsg(d.tx.update(names)); err != nil {
			return err
		}
	}
	names := d.names(true)
	if names == nil {
		return nil
	}
	status := d.tx.statusUpdate()
	if status == nil {
		return nil // the transaction cannot be decoded, so there is no status to send
	}
	return stream.SendMsg(mem.BufferSlice{mem.SliceBuffer(names), mem.SliceBuffer(status)})
}
