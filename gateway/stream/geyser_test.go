package stream

import (
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/gateway/socket"
)

func TestFiltersHaveYellowstonesMeaning(t *testing.T) {
	sample := []tx{
		{number: 0, keys: []byte{1, 2}},
		{number: 1, keys: []byte{2, 3}, failed: true},
		{number: 2, keys: []byte{4}, vote: true},
		{number: 3, keys: []byte{1}, loaded: []byte{5, 6}},
		{number: 4, keys: []byte{5}},
	}
	sig := base58.Encode(sample[3].signature())
	for name, c := range map[string]struct {
		filter *pb.SubscribeRequestFilterTransactions
		want   []int
	}{
		"all":                  {&pb.SubscribeRequestFilterTransactions{}, []int{0, 1, 2, 3, 4}},
		"null":                 {nil, []int{0, 1, 2, 3, 4}},
		"no votes":             {&pb.SubscribeRequestFilterTransactions{Vote: no()}, []int{0, 1, 3, 4}},
		"votes":                {&pb.SubscribeRequestFilterTransactions{Vote: yes()}, []int{2}},
		"failed":               {&pb.SubscribeRequestFilterTransactions{Failed: yes()}, []int{1}},
		"not failed":           {&pb.SubscribeRequestFilterTransactions{Failed: no()}, []int{0, 2, 3, 4}},
		"any of":               {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(1), text(4)}}, []int{0, 2, 3}},
		"loaded from a table":  {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(5)}}, []int{3, 4}},
		"readonly from one":    {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(6)}}, []int{3}},
		"none of":              {&pb.SubscribeRequestFilterTransactions{AccountExclude: []string{text(2), text(6)}}, []int{2, 4}},
		"all of":               {&pb.SubscribeRequestFilterTransactions{AccountRequired: []string{text(1), text(2)}}, []int{0}},
		"signature":            {&pb.SubscribeRequestFilterTransactions{Signature: &sig}, []int{3}},
		"conditions are added": {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(1), text(2)}, AccountExclude: []string{text(3)}, Failed: no()}, []int{0, 3}},
	} {
		read, err := readFilters(filters{"f": c.filter}, limits{1, 10})
		require.NoError(t, err, name)
		h := newHub(1, 10)
		sub, err := h.add("", "", 1)
		require.NoError(t, err)
		require.NoError(t, h.set(sub, read, nil))
		got := []int{}
		for i, x := range sample {
			parsed, err := parseRecord(x.record())
			require.NoError(t, err)
			if sub.shard.match(levelLog, parsed) > 0 {
				_, ok := sub.out.pop()
				require.True(t, ok)
				got = append(got, i)
			}
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestSubscribeGetsWhatItWants(t *testing.T) {
	f := start(t, Config{})
	stream := f.subscribe(t, filters{"one": {AccountInclude: []string{text(1)}}, "two": {AccountInclude: []string{text(2)}}})
	f.publish(tx{number: 1, slot: 9, keys: []byte{1}, log: "hi"}, tx{number: 2, keys: []byte{3}}, tx{number: 3, keys: []byte{2, 1}})
	update, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, update.Filters)
	require.EqualValues(t, 1_700_000_000, update.CreatedAt.Seconds)
	require.True(t, proto.Equal(tx{number: 1, slot: 9, keys: []byte{1}, log: "hi"}.message(), update.GetTransaction()), "byte for byte what ingest wrote")
	n, names := next(t, stream)
	require.EqualValues(t, 3, n)
	require.Equal(t, []string{"one", "two"}, names, "once, whatever many filters want it")

	f.setFilters(t, stream, filters{"three": {AccountInclude: []string{text(3)}}})
	f.publish(tx{number: 4, keys: []byte{1}}, tx{number: 5, keys: []byte{3}})
	n, names = next(t, stream)
	require.EqualValues(t, 5, n)
	require.Equal(t, []string{"three"}, names, "a new request replaces the filters")
}

func TestUnaryCalls(t *testing.T) {
	f := start(t, Config{Version: "1.2.3"})
	c, ctx := f.client(t)
	version, err := c.GetVersion(ctx, &pb.GetVersionRequest{})
	require.NoError(t, err)
	require.JSONEq(t, `{"package":"mintlake","version":"1.2.3","commitment":"confirmed","processed":false,"transactions":"programs"}`, version.Version)
	pong, err := c.Ping(ctx, &pb.PingRequest{Count: 3})
	require.NoError(t, err)
	require.EqualValues(t, 3, pong.Count)
	_, err = c.GetSlot(ctx, &pb.GetSlotRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err))
	f.publish(tx{number: 1, slot: 77}, tx{number: 2, slot: 76})
	require.Eventually(t, func() bool {
		slot, err := c.GetSlot(ctx, &pb.GetSlotRequest{})
		return err == nil && slot.Slot == 77
	}, patience, 10*time.Millisecond)
}

// TestAnOpenStreamAnswersToLoopbackNamesOnly: a reverse proxy that passes its public name on, or a
// web page whose name points at this machine, gets nothing without a key.
func TestAnOpenStreamAnswersToLoopbackNamesOnly(t *testing.T) {
	open := startOn(t, newMemoryLog(0), Config{})
	under := func(f *fixture, name string) (unary, stream error) {
		conn, err := grpc.NewClient(f.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(name))
		require.NoError(t, err)
		defer conn.Close()
		ctx := f.context(t)
		c := pb.NewGeyserClient(conn)
		_, unary = c.GetVersion(ctx, &pb.GetVersionRequest{})
		subscribed, err := c.Subscribe(ctx)
		require.NoError(t, err)
		// Send fails if the server has refused already; Recv says why.
		_ = subscribed.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 1}})
		_, stream = subscribed.Recv()
		return unary, stream
	}
	for _, name := range []string{"stream.example", "stream.example:10000", "127.0.0.1.example"} {
		unary, stream := under(open, name)
		for _, err := range []error{unary, stream} {
			require.Equal(t, codes.PermissionDenied, status.Code(err), name)
			require.ErrorContains(t, err, "configure a key (--rpc-keys)")
		}
	}
	require.EqualValues(t, 6, testutil.ToFloat64(open.metrics.refused.WithLabelValues(formGRPC, "host")))
	for _, name := range []string{"localhost", "localhost:10000", "127.0.0.1:10000", "[::1]:10000"} {
		unary, stream := under(open, name)
		require.NoError(t, unary, name)
		require.NoError(t, stream, name)
	}
	unary, stream := under(start(t, Config{}), "stream.example")
	require.NoError(t, unary, "with a key any name is good")
	require.NoError(t, stream)
}

func TestWhatIsNotOfferedIsRefused(t *testing.T) {
	f := start(t, Config{maxFilters: 2, maxAddresses: 3})
	confirmed := pb.CommitmentLevel_CONFIRMED
	processed := pb.CommitmentLevel_PROCESSED
	bad, from := "x", uint64(1)
	for want, in := range map[string]*pb.SubscribeRequest{
		"interslot_updates":                 {Slots: map[string]*pb.SubscribeRequestFilterSlots{"a": {InterslotUpdates: yes()}}},
		"commitment: processed":             {Commitment: &processed},
		"from_slot: must come with filters": {FromSlot: &from},
		"accounts: this":                    {Accounts: map[string]*pb.SubscribeRequestFilterAccounts{"a": {}}},
		"vote: true is not served":          {Transactions: filters{"a": {Vote: yes()}}},
		"filter \"b\": vote: true is not":   {TransactionsStatus: filters{"b": {Vote: yes()}}},
		"transactions_status: 1 filters":    {Transactions: filters{"a": {}, "b": {}}, TransactionsStatus: filters{"a": {}}},
		"at most 2":                         {Transactions: filters{"a": {}, "b": {}, "c": {}}},
		"more than 3":                       {Transactions: filters{"a": {AccountInclude: []string{text(1), text(2)}}, "b": {AccountExclude: []string{text(1), text(2)}}}},
		"account_include \"x\"":             {Transactions: filters{"a": {AccountInclude: []string{"x"}}}},
		"signature \"x\"":                   {Transactions: filters{"a": {Signature: &bad}}},
		"at most 128 bytes":                 {Transactions: filters{strings.Repeat("n", 129): {}}},
		"field 7 of":                        {Transactions: filters{"a": withField(7, 1)}},
		"field 30 of":                       {Transactions: filters{"a": fixed32(30)}},
		"token_accounts 2: must be":         {Transactions: filters{"a": {TokenAccounts: pb.TokenAccountExpansionControlFlag(2).Enum()}}},
		"field 8":                           {Transactions: filters{"a": withField(8, 1)}},
		"filter \"a\": cuckoo_account_incl": {Transactions: filters{"a": withCuckoo(&filterProto{buckets: 3, data: make([]byte, 24)})}},
		"blocks: this":                      {Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"a": {CuckooAccountInclude: &pb.CuckooFilter{}}}},
		"block_footer (field 12)":           {BlockFooter: map[string]*pb.SubscribeRequestFilterBlockFooter{"a": {}}},
	} {
		c, ctx := f.client(t)
		stream, err := c.Subscribe(ctx)
		require.NoError(t, err)
		require.NoError(t, stream.Send(in))
		_, err = stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), want)
		require.ErrorContains(t, err, want)
	}
	c, ctx := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Commitment: &confirmed, Transactions: filters{"a": {}}}))
	require.NoError(t, stream.CloseSend())
	require.Eventually(t, f.oneListens, patience, 5*time.Millisecond)
	f.publish(tx{number: 1})
	n, _ := next(t, stream)
	require.EqualValues(t, 1, n, "a client that has said all still listens")
}

// withField is a filter with a number in a field that the Go package does not have.
func withField(field protowire.Number, value uint64) *pb.SubscribeRequestFilterTransactions {
	f := &pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(1)}}
	f.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), value))
	return f
}

// fixed32 is a filter with a field of a type that no version gave it.
func fixed32(field protowire.Number) *pb.SubscribeRequestFilterTransactions {
	f := &pb.SubscribeRequestFilterTransactions{}
	f.ProtoReflect().SetUnknown(protowire.AppendFixed32(protowire.AppendTag(nil, field, protowire.Fixed32Type), 1))
	return f
}

// oneListens says that there is one subscriber, and that its filters count.
func (f *fixture) oneListens() bool {
	f.hub.mu.RLock()
	defer f.hub.mu.RUnlock()
	listening := 0
	for s := range f.hub.subscribers {
		s.change.Lock()
		if len(s.entries) > 0 {
			listening++
		}
		s.change.Unlock()
	}
	return listening == 1 && len(f.hub.subscribers) == 1
}

func TestServerPings(t *testing.T) {
	f := start(t, Config{}, func(to *socket.Timings) { to.PingInterval = 20 * time.Millisecond })
	stream := f.subscribe(t, nil)
	for {
		update, err := stream.Recv()
		require.NoError(t, err)
		if update.GetPing() != nil {
			return
		}
	}
}

// TestConnectionsDoNotEndByTheWallClock: gRPC's own pings compare wall-clock times, and after the
// clock was set back every connection ended within half a minute.
func TestConnectionsDoNotEndByTheWallClock(t *testing.T) {
	var s Server
	s.cfg.idleTimeout = time.Minute
	require.Greater(t, s.keepalive().Time, 100*365*24*time.Hour)
	require.Equal(t, time.Minute, s.keepalive().MaxConnectionIdle, "measured by a monotonic clock")
}
