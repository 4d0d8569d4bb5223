package state

import (
	"context"
	"fmt"
	"slices"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

const (
	// filterKeys is how many addresses one filter names; a request has as many filters as needed.
	filterKeys = 10_000
	// maxMessage is the largest update in bytes: an account has at most 10 MiB.
	maxMessage = 16 << 20
	// growEvery is how often new addresses are added to the subscription, and how often catchUp
	// looks whether the replay is over.
	growEvery = 100 * time.Millisecond
)

// session is one connection to the stream.
type session struct {
	*Feed
	stream pb.Geyser_SubscribeClient
	// received counts messages, updates the messages that are no ping or pong. replay says that the
	// subscription began at an older slot.
	received, updates int
	replay            bool
	// asked has the addresses that each request added to the subscription, by the number of the
	// ping that was sent behind the request.
	asked map[int32][]venue.Key
	// ping is the number of the last ping.
	ping int32
	// live says that the first subscription is in force.
	live bool
}

// run subscribes, and passes on the updates until the connection ends.
func (s *session) run(ctx context.Context) error {
	conn, err := s.server.Connect(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancelCause(s.server.WithToken(ctx))
	defer cancel(nil)
	if s.stream, err = pb.NewGeyserClient(conn).Subscribe(ctx); err != nil {
		return err
	}
	s.asked = map[int32][]venue.Key{}
	begun := make(chan error, 1)
	s.enqueue(ctx, func() { begun <- s.begin() })
	select {
	case err = <-begun:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go s.grow(ctx, done)
	if s.replay {
		go s.catchUp(ctx)
	}
	silent := time.AfterFunc(s.cfg.silence, func() { cancel(fmt.Errorf("no message for %s", s.cfg.silence)) })
	defer silent.Stop()
	for {
		u, err := s.stream.Recv()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		silent.Reset(s.cfg.silence)
		s.received++
		if u.GetPing() == nil && u.GetPong() == nil {
			s.updates++
		}
		s.enqueue(ctx, func() { s.take(u) })
	}
}

// begin subscribes to everything held, from the root on. It runs as a task, so that no address is
// added meanwhile.
func (s *session) begin() error {
	s.fold.Disconnected()
	s.fold.Fresh() // thrown away, because Explicit has these too
	request := s.request()
	if root := s.fold.Root(); root > 0 {
		from := root + 1
		request.FromSlot, s.replay = &from, true
	}
	s.behind.Store(s.replay)
	return s.subscribe(request, s.fold.Explicit())
}

// subscribe sends a request and then a ping. The pong says that the request is in force.
func (s *session) subscribe(request *pb.SubscribeRequest, keys []venue.Key) error {
	s.asked[s.ping+1] = keys
	if err := s.stream.Send(request); err != nil {
		return err
	}
	return s.alive()
}

// alive sends a ping with the next number.
func (s *session) alive() error {
	s.ping++
	return s.stream.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: s.ping}})
}

// grow adds new addresses to the subscription, and pings the server every 10 s to keep the
// connection.
func (s *session) grow(ctx context.Context, done <-chan struct{}) {
	tick := time.NewTicker(growEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		s.enqueue(ctx, func() {
			if fresh := s.fold.Fresh(); len(fresh) > 0 {
				_ = s.subscribe(s.request(), fresh) // Recv returns the reason
			} else if n%100 == 0 {
				_ = s.alive()
			}
		})
	}
}

// take handles an update.
func (s *session) take(u *pb.SubscribeUpdate) {
	if pong := u.GetPong(); pong != nil {
		// The new subscription has all writes of the slots that were not seen yet.
		s.fold.Covered(s.asked[pong.GetId()], s.seen)
		delete(s.asked, pong.GetId())
		if !s.live { // the first subscription names the watched accounts too
			s.live = true
			s.deps.Live(true, s.seen)
		}
		return
	}
	s.message(u)
}

// request returns the subscription to everything held.
func (s *session) request() *pb.SubscribeRequest {
	no, yes, level := false, true, pb.CommitmentLevel_PROCESSED
	request := &pb.SubscribeRequest{
		Commitment: &level,
		Slots:      map[string]*pb.SubscribeRequestFilterSlots{"mintlake": {FilterByCommitment: &no, InterslotUpdates: &yes}},
		BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"mintlake": {}},
		Accounts:   map[string]*pb.SubscribeRequestFilterAccounts{},
	}
	addPrograms(request.Accounts, s.deps.Venues)
	if len(s.deps.Watched) > 0 {
		watched := &pb.SubscribeRequestFilterAccounts{}
		for _, key := range s.deps.Watched {
			watched.Account = append(watched.Account, key.String())
		}
		request.Accounts["watched"] = watched
	}
	number := 0
	for keys := range slices.Chunk(s.fold.Explicit(), filterKeys) {
		filter := &pb.SubscribeRequestFilterAccounts{}
		for _, key := range keys {
			filter.Account = append(filter.Account, key.String())
		}
		request.Accounts[fmt.Sprintf("accounts_%d", number)] = filter
		number++
	}
	return request
}

// addPrograms adds the filters by which the venues' pools and arrays are told: one filter for all
// programs of which every account may be needed, and for each other program one filter for each
// kind of account.
func addPrograms(filters map[string]*pb.SubscribeRequestFilterAccounts, venues venue.List) {
	whole := &pb.SubscribeRequestFilterAccounts{}
	for _, v := range venues {
		kinds := venue.KindsOf(v)
		if len(kinds) == 0 {
			whole.Owner = append(whole.Owner, v.Program().String())
		}
		for i, kind := range kinds {
			filters[fmt.Sprintf("%s_%d", v.Name(), i)] = &pb.SubscribeRequestFilterAccounts{Owner: []string{v.Program().String()}, Filters: conditions(kind)}
		}
	}
	if len(whole.Owner) > 0 { // a filter without a condition matches all accounts of the chain
		filters["programs"] = whole
	}
}

// conditions returns a venue's filter as the stream takes it.
func conditions(kind venue.Filter) (list []*pb.SubscribeRequestFilterAccountsFilter) {
	if kind.Size > 0 {
		list = append(list, &pb.SubscribeRequestFilterAccountsFilter{Filter: &pb.SubscribeRequestFilterAccountsFilter_Datasize{Datasize: uint64(kind.Size)}})
	}
	for _, part := range kind.Parts {
		list = append(list, &pb.SubscribeRequestFilterAccountsFilter{Filter: &pb.SubscribeRequestFilterAccountsFilter_Memcmp{Memcmp: &pb.SubscribeRequestFilterAccountsFilterMemcmp{
			Offset: uint64(part.Offset), Data: &pb.SubscribeRequestFilterAccountsFilterMemcmp_Bytes{Bytes: part.Bytes},
		}}})
	}
	return list
}

// account takes in an account update. It ignores a malformed one.
func (f *Feed) account(u *pb.SubscribeUpdateAccount) {
	info := u.GetAccount()
	if len(info.GetPubkey()) != 32 || len(info.GetOwner()) != 32 {
		return
	}
	w := Write{Slot: u.GetSlot(), Bank: u.GetBankId(), Order: info.GetWriteVersion(), Key: venue.Key(info.GetPubkey()), Transaction: HashOf(info.GetTxnSignature())}
	if info.GetLamports() > 0 { // a closed one may keep its owner and data
		w.Account = &solana.Account{Owner: venue.Key(info.GetOwner()), Lamports: info.GetLamports(), Data: info.GetData(), Executable: info.GetExecutable()}
	}
	if slices.Contains(f.deps.Watched, w.Key) {
		f.deps.Wrote(w)
		return
	}
	f.fold.Write(w)
}
