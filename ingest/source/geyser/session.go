package geyser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// ended is why a session is over: a metric label, and the error behind it.
type ended struct {
	reason string
	err    error
}

func (e *ended) Error() string { return fmt.Sprintf("%s: %v", e.reason, e.err) }
func (e *ended) Unwrap() error { return e.err }

// The reasons for which a connection is given up.
const (
	endClosed      = "closed"
	endUnavailable = "unavailable"
	endAuth        = "auth"
	endFromSlot    = "from_slot"
	endTooLarge    = "too_large"
	endServerError = "server_error"
	endSilent      = "silent"
	endGarbage     = "garbage"
	endGap         = "gap"
)

// verdict classifies a stream's error by its gRPC status code alone. asked is the from_slot of the
// request; nil if it had none.
func verdict(err error, asked *uint64) *ended {
	if errors.Is(err, io.EOF) {
		return &ended{endClosed, err}
	}
	switch status.Code(err) { //nolint:exhaustive // every other code is the server's own failure
	case codes.Unauthenticated, codes.PermissionDenied:
		return &ended{endAuth, err}
	case codes.OutOfRange: // yellowstone's answer to a from_slot that it no longer has
		if asked != nil {
			return &ended{endFromSlot, err}
		}
	case codes.ResourceExhausted:
		return &ended{endTooLarge, err}
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted:
		return &ended{endUnavailable, err}
	}
	return &ended{endServerError, err}
}

// maxQueued is how many messages are received ahead of the sink.
const maxQueued = 8

// session runs one connection. It returns *ended, or an error of the sink or the context.
func (f *follower) session(ctx context.Context) error {
	conn, err := f.dial()
	if err != nil {
		return &ended{endUnavailable, err}
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(f.server().WithToken(ctx))
	defer cancel()
	from := f.fromSlot(ctx, conn)
	// A server that is away may be able to replay when it is back.
	f.live = from == nil
	f.replaying = from != nil && conn.GetState() == connectivity.Ready
	stream, err := conn.NewStream(ctx, &pb.Geyser_ServiceDesc.Streams[0], pb.Geyser_Subscribe_FullMethodName)
	if err != nil {
		return verdict(err, from)
	}
	f.asked = f.asksAccounts(time.Now())
	// After io.EOF, the next receive returns the reason.
	if err := stream.SendMsg(f.Request(from, f.asked)); err != nil && !errors.Is(err, io.EOF) {
		return verdict(err, from)
	}
	f.metrics.Connected()
	in, pings := &intake{messages: make(chan []byte, maxQueued)}, make(chan struct{}, 1)
	var tasks sync.WaitGroup
	tasks.Go(func() { in.receive(ctx, stream, from) })
	tasks.Go(func() { f.ping(ctx, stream, pings) })
	err = f.consume(ctx, in, pings)
	cancel() // ends a receive that waits for the server
	tasks.Wait()
	return err
}

// intake has the messages that were received and not yet handled. err is why the stream ended. It
// is read only when messages is closed and empty, so that all messages are handled first.
type intake struct {
	messages chan []byte
	err      error
}

// receive puts the messages of the stream into in, until the stream or ctx ends.
func (in *intake) receive(ctx context.Context, stream grpc.ClientStream, from *uint64) {
	defer close(in.messages)
	for {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			in.err = verdict(err, from)
			return
		}
		select {
		case in.messages <- message:
		case <-ctx.Done():
			in.err = ctx.Err()
			return
		}
	}
}

// ping sends a ping every pingEvery, and also for each value of asked, which stands for a ping of
// the server.
func (f *follower) ping(ctx context.Context, stream grpc.ClientStream, asked <-chan struct{}) {
	tick := time.NewTicker(f.cfg.pingEvery)
	defer tick.Stop()
	for id := int32(1); ; id++ {
		select {
		case <-ctx.Done():
			return
		case <-asked:
		case <-tick.C:
		}
		if stream.SendMsg(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: id}}) != nil {
			return // the receiving side learns the reason
		}
	}
}
