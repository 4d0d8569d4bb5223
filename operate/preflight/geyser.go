package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/source/geyser"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

const (
	// latencyCalls is how many calls are made to measure a latency, which is their median.
	latencyCalls = 5
	// maxMessage bounds a message, in bytes. The message is decoded whole, which takes several
	// times its size.
	maxMessage = 64 << 20
	// maxWatched bounds the bytes that one check reads from a stream.
	maxWatched = 512 << 20
	// replayed is how many slots in the past a stream is asked to begin: some seconds.
	replayed = 32
)

// geyserAsker makes the checks of one Geyser server.
type geyserAsker struct {
	*run
	host   string
	server yellowstone.Server
	conn   *grpc.ClientConn
	source *geyser.Source
}

func (r *run) geyserConfig() geyser.Config {
	return geyser.Config{Endpoint: r.cfg.Source.Endpoint, Token: r.cfg.Token, Commitment: r.cfg.Commitment,
		AllTransactions: r.cfg.AllTransactions, NoAccountUpdates: !r.cfg.AccountUpdates}
}

// askGeyser makes all checks of the source's server. reads reports whether ingest can read it.
func (r *run) askGeyser(ctx context.Context) (reads bool, err error) {
	s, err := geyser.New(r.geyserConfig(), geyser.Deps{})
	if err != nil {
		return false, err
	}
	u, err := yellowstone.ParseURL(r.cfg.Source.Endpoint)
	if err != nil {
		return false, err
	}
	a := &geyserAsker{run: r, host: u.Host, server: yellowstone.Server{URL: u, Token: r.cfg.Token}, source: s}
	a.conn, err = a.server.Connect(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.ForceCodecV2(yellowstone.RawCodec{})))
	if err != nil {
		return false, err
	}
	defer func() { _ = a.conn.Close() }()
	if !a.reach(ctx) || !a.blocks(ctx) {
		return false, nil
	}
	a.accounts(ctx)
	a.replay(ctx)
	return true, nil
}

func (a *geyserAsker) check(name string, state State, means, found string, args ...any) {
	a.add(Check{Name: "source." + name, Endpoint: a.host, State: state, Found: fmt.Sprintf(found, args...), Means: means})
}

// reach calls GetSlot latencyCalls times, and reports whether the server can be asked further. A
// server without GetSlot can: its streams are checked next.
func (a *geyserAsker) reach(ctx context.Context) bool {
	client, level := pb.NewGeyserClient(a.conn), pb.CommitmentLevel_CONFIRMED
	var took []time.Duration
	for range latencyCalls {
		within, cancel := context.WithTimeout(a.server.WithToken(ctx), a.cfg.Wait)
		begin := time.Now()
		slot, err := client.GetSlot(within, &pb.GetSlotRequest{Commitment: &level})
		cancel()
		switch status.Code(err) {
		case codes.OK:
			took = append(took, time.Since(begin))
			a.tip = max(a.tip, slot.GetSlot())
		case codes.Unimplemented:
			a.check("reach", Unknown, "", "it has no GetSlot; its latency is not known")
			return true
		case codes.Unauthenticated, codes.PermissionDenied:
			a.check("reach", Fails, "nothing can be read: set MINTLAKE_GEYSER_TOKEN", "it refuses the token: %s", said(err))
			return false
		default:
			a.check("reach", Fails, "nothing can be read", "%s", said(err))
			return false
		}
	}
	a.add(Check{Name: "source.reach", Endpoint: a.host, State: OK, Found: fmt.Sprintf("answers at slot %d", a.tip), Millis: median(took)})
	return true
}

// errEnough ends a watch that has seen what it wanted.
var errEnough = errors.New("enough")

// watch opens a stream and passes its messages to visit until that returns an error. It returns
// nil for errEnough.
func (a *geyserAsker) watch(ctx context.Context, request *pb.SubscribeRequest, visit func(*pb.SubscribeUpdate, int) error) error {
	ctx, cancel := context.WithTimeout(a.server.WithToken(ctx), a.cfg.Wait)
	defer cancel()
	stream, err := a.conn.NewStream(ctx, &pb.Geyser_ServiceDesc.Streams[0], pb.Geyser_Subscribe_FullMethodName)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for seen := 0; seen < maxWatched; {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		seen += len(message)
		var update pb.SubscribeUpdate
		if err := proto.Unmarshal(message, &update); err != nil {
			return fmt.Errorf("a message that does not parse: %w", err)
		}
		if err := visit(&update, len(message)); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("over %d bytes without what was asked for", maxWatched)
}

// seenBlock is what was counted in a block of a stream. version1 counts transactions of version 1,
// and unclear those that may be of version 0 or 1. executed is the block's own count of its
// transactions.
type seenBlock struct {
	bytes, transactions, votes, version1, unclear int
	executed                                      uint64
}

// look counts what a block has. size is the length of its message in bytes.
func look(block *pb.SubscribeUpdateBlock, size int) seenBlock {
	s := seenBlock{bytes: size, transactions: len(block.GetTransactions()), executed: block.GetExecutedTransactionCount()}
	for _, tx := range block.GetTransactions() {
		if tx.GetIsVote() {
			s.votes++
		}
		message := tx.GetTransaction().GetMessage()
		switch version := yellowstone.VersionOf(message); {
		case version == txwire.V1:
			s.version1++
		case version == txwire.V0 && len(message.GetAddressTableLookups()) == 0:
			s.unclear++
		}
	}
	return s
}

// blocks makes the request of ingest, and looks at the first block that has transactions. It
// reports whether ingest can read the blocks.
func (a *geyserAsker) blocks(ctx context.Context) bool {
	var seen seenBlock
	first := func(update *pb.SubscribeUpdate, size int) error {
		block := update.GetBlock()
		if block == nil {
			return nil
		}
		a.tip = max(a.tip, block.GetSlot())
		if seen = look(block, size); seen.transactions == 0 {
			return nil
		}
		return errEnough
	}
	request := a.source.Request(nil, false)
	err := a.watch(ctx, request, first)
	if err != nil && !a.cfg.AllTransactions { // an answer other than silence may refuse the filter
		if refusal := status.Code(err); refusal != codes.DeadlineExceeded && refusal != codes.Unavailable {
			return a.withoutFilters(ctx, request, first, err)
		}
	}
	switch {
	case err != nil:
		a.check("blocks", Fails, "nothing can be read", "no block comes: %s", said(err))
		return false
	case seen.votes > 0 && !a.cfg.AllTransactions:
		a.check("blocks", Less, "every transaction is sent and paid for, votes too", "the filter by accounts is not obeyed: %d of %d transactions of a block are votes", seen.votes, seen.transactions)
	default:
		a.check("blocks", OK, "", "%d of %d transactions of a block, %d bytes", seen.transactions, max(seen.executed, uint64(seen.transactions)), seen.bytes)
	}
	a.versions(seen)
	return true
}

// withoutFilters tries whether the server, which refused the filter by accounts, sends blocks
// without that filter, and adds the failed check. It returns false: with the default settings
// ingest needs the filter.
func (a *geyserAsker) withoutFilters(ctx context.Context, request *pb.SubscribeRequest, visit func(*pb.SubscribeUpdate, int) error, refusal error) bool {
	for _, blocks := range request.GetBlocks() {
		blocks.AccountInclude = nil
	}
	means := "nothing can be read: another provider, or another plan, is needed"
	if a.watch(ctx, request, visit) == nil {
		means = "nothing can be read by default; with stream.transactions: all it can, but every transaction is sent and paid for, votes too"
	}
	a.check("blocks", Fails, means, "blocks are not filtered by accounts: %s", said(refusal))
	return false
}

func (a *geyserAsker) versions(seen seenBlock) {
	switch {
	case seen.version1 > 0:
		a.check("versions", OK, "", "%d of %d transactions are of version 1", seen.version1, seen.transactions)
	case seen.unclear > 0:
		a.check("versions", Unknown, "", "no transaction of version 1 was in the block; %d are of version 0, or of 1 from a server before yellowstone-grpc 15.1", seen.unclear)
	default:
		a.check("versions", Unknown, "", "no transaction of version 1 was in the block")
	}
}

// accounts checks whether the stream also sends the accounts of mints and metadata.
func (a *geyserAsker) accounts(ctx context.Context) {
	if !a.cfg.AccountUpdates {
		return
	}
	err := a.watch(ctx, a.source.Request(nil, true), func(update *pb.SubscribeUpdate, _ int) error {
		if update.GetAccount() != nil {
			return errEnough
		}
		return nil
	})
	switch {
	case err == nil:
		a.check("accounts", OK, "", "accounts of mints are sent as transactions write them")
	case status.Code(err) == codes.DeadlineExceeded:
		a.check("accounts", Unknown, "", "they are not refused, and none came in %s", a.cfg.Wait)
	default:
		a.check("accounts", Less, "the state of mints comes from instructions and account reads alone, some seconds later", "refused: %s", said(err))
	}
}

// replay checks whether the stream can begin at a slot in the past.
func (a *geyserAsker) replay(ctx context.Context) {
	const means = "after a break of the connection the slots between come by getBlock of an upstream, or stay a gap"
	within, cancel := context.WithTimeout(a.server.WithToken(ctx), a.cfg.Wait)
	defer cancel()
	info, err := pb.NewGeyserClient(a.conn).SubscribeReplayInfo(within, &pb.SubscribeReplayInfoRequest{})
	first := uint64(0)
	if err == nil {
		first = info.GetFirstAvailable()
	}
	tip := a.tip
	from := max(tip-min(tip, replayed), min(first, tip))
	if tip == 0 {
		a.check("from_slot", Unknown, "", "the server told no slot")
		return
	}
	oldest := tip + 1
	err = a.watch(ctx, a.source.Request(&from, false), func(update *pb.SubscribeUpdate, _ int) error {
		if block := update.GetBlock(); block != nil {
			oldest = min(oldest, block.GetSlot())
			return errEnough
		}
		return nil
	})
	switch {
	case err != nil:
		a.check("from_slot", Less, means, "not offered: %s", said(err))
	case oldest > tip:
		a.check("from_slot", Less, means, "it is not obeyed: the first block is that of slot %d, where %d was asked for", oldest, from)
	case first == 0:
		a.check("from_slot", OK, "", "blocks from slot %d on came again; how far back it goes is not told", oldest)
	default:
		a.check("from_slot", OK, "", "blocks of the last %d slots can be had again", tip-min(tip, first))
	}
}
