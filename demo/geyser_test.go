package demo

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/testworld/chain"
)

func subscribe(t *testing.T, n *Node, req *pb.SubscribeRequest) pb.Geyser_SubscribeClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	st, err := dial(t, n).Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, st.Send(req))
	return st
}

// next reads the next update that is no ping.
func next(t *testing.T, st pb.Geyser_SubscribeClient) *pb.SubscribeUpdate {
	t.Helper()
	for {
		u, err := st.Recv()
		require.NoError(t, err)
		if u.GetPing() == nil {
			return u
		}
	}
}

func TestSlotsTellForksAndCommitment(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(120))
	from, yes := uint64(1000), true
	st := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {InterslotUpdates: &yes}}})
	seen := map[pb.SlotStatus]map[uint64]bool{}
	for range 900 {
		u := next(t, st).GetSlot()
		require.NotNil(t, u)
		if seen[u.GetStatus()] == nil {
			seen[u.GetStatus()] = map[uint64]bool{}
		}
		seen[u.GetStatus()][u.GetSlot()] = true
		if u.GetSlot() >= 1110 {
			break
		}
	}
	require.NotEmpty(t, seen[pb.SlotStatus_SLOT_DEAD])
	require.NotEmpty(t, seen[pb.SlotStatus_SLOT_CREATED_BANK])
	orphans := 0
	for slot := range seen[pb.SlotStatus_SLOT_PROCESSED] {
		dead, confirmed := seen[pb.SlotStatus_SLOT_DEAD][slot], seen[pb.SlotStatus_SLOT_CONFIRMED][slot]
		require.False(t, dead && confirmed, "slot %d", slot)
		if !dead && !confirmed && slot < 1100 {
			orphans++
		}
	}
	require.Positive(t, orphans, "some forks are lost without a word, as on mainnet")
	for slot := range seen[pb.SlotStatus_SLOT_FINALIZED] {
		require.True(t, seen[pb.SlotStatus_SLOT_CONFIRMED][slot])
	}
	require.Less(t, len(seen[pb.SlotStatus_SLOT_PROCESSED]), 110, "some slots are skipped")
}

func TestTransactionFilters(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(40))
	from, no, yes := uint64(1000), false, true
	st := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Transactions: map[string]*pb.SubscribeRequestFilterTransactions{
		"tokens": {Vote: &no, Failed: &no, AccountInclude: []string{chain.TokenProgram.String(), chain.Token2022Program.String()}},
		"failed": {Failed: &yes},
		"swaps":  {AccountRequired: []string{chain.CPMMProgram.String(), chain.NativeMint.String()}, AccountExclude: []string{chain.USDCMint.String()}},
	}})
	count := map[string]int{}
	for range 1500 {
		u := next(t, st)
		tx := u.GetTransaction().GetTransaction()
		keys := map[string]bool{}
		for _, k := range append(append(tx.GetTransaction().GetMessage().GetAccountKeys(), tx.GetMeta().GetLoadedWritableAddresses()...), tx.GetMeta().GetLoadedReadonlyAddresses()...) {
			keys[chain.Key(k).String()] = true
		}
		for _, f := range u.GetFilters() {
			count[f]++
			switch f {
			case "tokens":
				require.Nil(t, tx.GetMeta().GetErr())
				require.True(t, keys[chain.TokenProgram.String()] || keys[chain.Token2022Program.String()])
			case "failed":
				require.NotNil(t, tx.GetMeta().GetErr())
			case "swaps":
				require.True(t, keys[chain.CPMMProgram.String()] && keys[chain.NativeMint.String()])
				require.False(t, keys[chain.USDCMint.String()])
			}
		}
	}
	require.Positive(t, count["tokens"])
	require.Positive(t, count["failed"])
	require.Positive(t, count["swaps"])
}

func TestBlockFilterSelectsTransactionsAndAccounts(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(5))
	from, yes, no := uint64(1000), true, false
	token := chain.Token2022Program.String()
	st := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Blocks: map[string]*pb.SubscribeRequestFilterBlocks{
		"none": {IncludeTransactions: &no},
		"some": {AccountInclude: []string{token}, IncludeAccounts: &yes, IncludeEntries: &yes},
	}})
	a, b := next(t, st), next(t, st)
	require.Equal(t, []string{"none"}, a.GetFilters())
	require.Empty(t, a.GetBlock().GetTransactions())
	require.Equal(t, []string{"some"}, b.GetFilters())
	blk := b.GetBlock()
	require.NotEmpty(t, blk.GetTransactions())
	require.Less(t, uint64(len(blk.GetTransactions())), blk.GetExecutedTransactionCount())
	require.Len(t, blk.GetEntries(), int(blk.GetEntriesCount()))
	require.Positive(t, blk.GetUpdatedAccountCount())
	last := uint64(0)
	for _, acc := range blk.GetAccounts() {
		require.Greater(t, acc.GetWriteVersion(), last)
		last = acc.GetWriteVersion()
	}
}

func TestAccountFilterByOwnerMatchesRPC(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(20))
	from, size, level := uint64(1000), uint64(637), pb.CommitmentLevel_CONFIRMED
	st := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Commitment: &level, Accounts: map[string]*pb.SubscribeRequestFilterAccounts{"pools": {
		Owner:   []string{chain.CPMMProgram.String()},
		Filters: []*pb.SubscribeRequestFilterAccountsFilter{{Filter: &pb.SubscribeRequestFilterAccountsFilter_Datasize{Datasize: size}}}}},
		BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"m": {}}})
	pools := map[string][]byte{}
	for {
		u := next(t, st)
		if m := u.GetBlockMeta(); m != nil {
			if m.GetSlot() == n.Ledger().Slot(1) {
				break
			}
			continue
		}
		a := u.GetAccount().GetAccount()
		require.Len(t, a.GetData(), 637)
		pools[chain.Key(a.GetPubkey()).String()] = a.GetData()
	}
	require.NotEmpty(t, pools)
	for k, data := range pools {
		var out struct{ Value struct{ Data []byteText } }
		require.Nil(t, call(t, n, &out, "getAccountInfo", k, map[string]any{"encoding": "base64", "commitment": "confirmed"}))
		require.Equal(t, data, out.Value.Data[0].bytes(t))
	}
}

func TestReplayBeyondHistoryIsRefused(t *testing.T) {
	cfg := testConfig()
	cfg.ledger.Blocks = 100
	n := start(t, cfg)
	require.NoError(t, n.Step(250))
	from := uint64(1000)
	st := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}})
	_, err := st.Recv()
	require.Equal(t, codes.OutOfRange, status.Code(err))
	require.Contains(t, err.Error(), "broadcast from 1000 is not available, last available: ")
	info, err := dial(t, n).SubscribeReplayInfo(t.Context(), &pb.SubscribeReplayInfoRequest{})
	require.NoError(t, err)
	require.Equal(t, n.Ledger().First(), info.GetFirstAvailable())
}

func TestPingPongAndFilterChange(t *testing.T) {
	cfg := testConfig()
	cfg.pingInterval = 50 * time.Millisecond
	n := start(t, cfg)
	st := subscribe(t, n, &pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 7}})
	pong, ping := false, false
	for !pong || !ping {
		u, err := st.Recv()
		require.NoError(t, err)
		if p := u.GetPong(); p != nil {
			require.EqualValues(t, 7, p.GetId())
			pong = true
		}
		ping = ping || u.GetPing() != nil
	}
	require.NoError(t, st.Send(&pb.SubscribeRequest{BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"a": {}}}))
	require.Eventually(t, func() bool {
		require.NoError(t, n.Step(1))
		u, err := st.Recv()
		return err == nil && u.GetBlockMeta() != nil
	}, hang, time.Millisecond)
	require.NoError(t, st.Send(&pb.SubscribeRequest{Slots: map[string]*pb.SubscribeRequestFilterSlots{"b": {}}}))
	require.Eventually(t, func() bool {
		require.NoError(t, n.Step(1))
		u, err := st.Recv()
		return err == nil && u.GetSlot() != nil
	}, hang, time.Millisecond)
}

func TestBadFilterIsRefused(t *testing.T) {
	n := start(t, testConfig())
	for _, req := range []*pb.SubscribeRequest{
		{Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"x": {AccountInclude: []string{"not a key"}}}},
		{Commitment: new(pb.CommitmentLevel(9)), Slots: map[string]*pb.SubscribeRequestFilterSlots{"x": {}}},
		{Accounts: map[string]*pb.SubscribeRequestFilterAccounts{"x": {Filters: []*pb.SubscribeRequestFilterAccountsFilter{{}}}}},
	} {
		_, err := subscribe(t, n, req).Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	}
}

func TestTokenIsRequired(t *testing.T) {
	cfg := testConfig()
	cfg.token = "secret"
	n := start(t, cfg)
	require.NoError(t, n.Step(2))
	c := dial(t, n)
	_, err := c.GetSlot(t.Context(), &pb.GetSlotRequest{})
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	st, err := c.Subscribe(t.Context())
	require.NoError(t, err)
	_, err = st.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-token", "secret")
	got, err := c.GetSlot(ctx, &pb.GetSlotRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 1001, got.GetSlot())
	hash, err := c.GetLatestBlockhash(ctx, &pb.GetLatestBlockhashRequest{})
	require.NoError(t, err)
	valid, err := c.IsBlockhashValid(ctx, &pb.IsBlockhashValidRequest{Blockhash: hash.GetBlockhash()})
	require.NoError(t, err)
	require.True(t, valid.GetValid())
	height, err := c.GetBlockHeight(ctx, &pb.GetBlockHeightRequest{})
	require.NoError(t, err)
	require.Equal(t, height.GetBlockHeight()+150, hash.GetLastValidBlockHeight())
	p, err := c.Ping(ctx, &pb.PingRequest{Count: 3})
	require.NoError(t, err)
	require.EqualValues(t, 3, p.GetCount())
	v, err := c.GetVersion(ctx, &pb.GetVersionRequest{})
	require.NoError(t, err)
	require.Contains(t, v.GetVersion(), "mintlake-demo")
}

// A client that stops reading is cut off; the node goes on, and the client can come back with
// from_slot.
func TestSlowClientIsCutOff(t *testing.T) {
	cfg := testConfig()
	cfg.TPS, cfg.geyserBuffer = 500, 64
	n := start(t, cfg)
	st := subscribe(t, n, &pb.SubscribeRequest{Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"all": {}}})
	require.Eventually(t, func() bool { // until the subscription has taken effect
		require.NoError(t, n.Step(1))
		return n.Ledger().Subscribers() == 1
	}, hang, 10*time.Millisecond)
	require.NoError(t, n.Step(200))
	require.Eventually(t, func() bool { return n.Ledger().Subscribers() == 0 }, hang, 10*time.Millisecond)
	var err error
	for err == nil {
		_, err = st.Recv()
	}
	require.Equal(t, codes.Internal, status.Code(err), "%v", err)
	require.Contains(t, err.Error(), "lagged")
	from := uint64(1000)
	again := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"all": {}}})
	require.EqualValues(t, 1000, next(t, again).GetBlock().GetSlot())
}

func TestStopEndsStreams(t *testing.T) {
	n, err := New(testConfig(), testDeps())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	require.NoError(t, n.WaitReady(t.Context()))
	st := subscribe(t, n, &pb.SubscribeRequest{Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}})
	cancel()
	require.NoError(t, <-done)
	_, err = st.Recv()
	require.Error(t, err)
	require.False(t, errors.Is(err, context.DeadlineExceeded))
}

// A server whose replay is broken still says what it has, and streams what comes.
func TestAReplayThatAlwaysFails(t *testing.T) {
	cfg := testConfig()
	cfg.WithoutReplay = true
	n := start(t, cfg)
	require.NoError(t, n.Step(20))
	client := dial(t, n)
	info, err := client.SubscribeReplayInfo(t.Context(), &pb.SubscribeReplayInfoRequest{})
	require.NoError(t, err)
	request := &pb.SubscribeRequest{FromSlot: info.FirstAvailable, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}}
	_, err = subscribe(t, n, request).Recv()
	require.Equal(t, codes.Internal, status.Code(err))
	request.FromSlot = nil
	live := subscribe(t, n, request)
	require.NoError(t, live.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 7}}))
	require.EqualValues(t, 7, next(t, live).GetPong().GetId(), "the subscription is there")
	require.NoError(t, n.Step(1))
	require.NotNil(t, next(t, live).GetSlot())
}
