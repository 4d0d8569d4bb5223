package trust

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// updateOf is a result of getTransaction as a Yellowstone stream has it.
func updateOf(t *testing.T, raw json.RawMessage) *pb.SubscribeUpdateTransaction {
	t.Helper()
	var a answered
	require.NoError(t, json.Unmarshal(raw, &a))
	wire, err := base64.StdEncoding.DecodeString(a.Transaction[0])
	require.NoError(t, err)
	var tx txwire.Transaction
	require.NoError(t, tx.Parse(wire))
	meta := &pb.TransactionStatusMeta{PreBalances: a.Meta.PreBalances, PostBalances: a.Meta.PostBalances, LogMessages: []string{"log"}}
	if a.Meta.Err != nil {
		meta.Err = &pb.TransactionError{Err: []byte{1}}
	}
	keys := func(list []venue.Key) (raw [][]byte) {
		for _, key := range list {
			raw = append(raw, key.Bytes())
		}
		return raw
	}
	meta.LoadedWritableAddresses, meta.LoadedReadonlyAddresses = keys(a.Meta.Loaded.Writable), keys(a.Meta.Loaded.Readonly)
	for _, l := range a.Meta.Inner {
		list := &pb.InnerInstructions{Index: uint32(l.Index)}
		for _, i := range l.Instructions {
			data, err := base58.Decode(i.Data)
			require.NoError(t, err)
			height, call := uint32(i.Height), &pb.InnerInstruction{ProgramIdIndex: uint32(i.Program), Data: data}
			call.StackHeight = &height
			for _, account := range i.Accounts {
				call.Accounts = append(call.Accounts, byte(account))
			}
			list.Instructions = append(list.Instructions, call)
		}
		meta.InnerInstructions = append(meta.InnerInstructions, list)
	}
	balances := func(list []tokenBalance) (out []*pb.TokenBalance) {
		for _, b := range list {
			out = append(out, &pb.TokenBalance{AccountIndex: uint32(b.Index), Mint: b.Mint.String(), UiTokenAmount: &pb.UiTokenAmount{Amount: b.Amount.Amount}})
		}
		return out
	}
	meta.PreTokenBalances, meta.PostTokenBalances = balances(a.Meta.PreTokens), balances(a.Meta.PostTokens)
	return &pb.SubscribeUpdateTransaction{Slot: a.Slot, Transaction: &pb.SubscribeUpdateTransactionInfo{
		Signature: tx.Signatures[0], Transaction: yellowstone.TransactionOf(&tx), Meta: meta,
	}}
}

// TestATransactionIsTheSameFromBothSources: from a stream and from a JSON-RPC server.
func TestATransactionIsTheSameFromBothSources(t *testing.T) {
	s := newScene(t)
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/transactions"), "*.json"))
	require.NoError(t, err)
	answers := []json.RawMessage{s.chain.Run(swaptest.Ran{Pool: s.pool, In: 1000, Out: 900}), s.chain.Run(swaptest.Ran{Pool: s.pool, Failed: true})}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var recorded struct {
			Raw json.RawMessage `json:"raw"`
		}
		if json.Unmarshal(raw, &recorded) == nil && len(recorded.Raw) > 0 {
			answers = append(answers, recorded.Raw)
		}
	}
	for _, raw := range answers {
		if rewritten := swaptest.AsVersion1(raw); rewritten != nil {
			answers = append(answers, rewritten)
		}
	}
	inner, loaded, failed := 0, 0, 0
	for _, raw := range answers {
		want, err := parseAnswer(raw)
		if err != nil {
			continue // no transaction in base64
		}
		got, err := parseUpdate(updateOf(t, raw))
		require.NoError(t, err)
		want.UnixTime = 0 // a stream does not tell it
		for _, list := range [][]Invoked{want.Calls, got.Calls} {
			for i := range list { // none is nil or empty
				list[i].Data, list[i].Accounts = append([]byte{}, list[i].Data...), append([]byte{}, list[i].Accounts...)
			}
		}
		require.Equal(t, want, got)
		for _, c := range got.Calls {
			if c.Height > 1 {
				inner++
			}
		}
		var a answered
		require.NoError(t, json.Unmarshal(raw, &a))
		loaded += len(a.Meta.Loaded.Writable) + len(a.Meta.Loaded.Readonly)
		if got.failed {
			failed++
		}
	}
	require.Greater(t, inner, 20)
	require.Greater(t, loaded, 20, "lookup tables")
	require.Positive(t, failed)
}

func TestATransactionThatIsMalformedIsPassedOver(t *testing.T) {
	s := newScene(t)
	for name, damage := range map[string]func(u *pb.SubscribeUpdateTransaction){
		"nothing":           func(u *pb.SubscribeUpdateTransaction) { u.Transaction = nil },
		"no meta":           func(u *pb.SubscribeUpdateTransaction) { u.Transaction.Meta = nil },
		"no message":        func(u *pb.SubscribeUpdateTransaction) { u.Transaction.Transaction = nil },
		"a short signature": func(u *pb.SubscribeUpdateTransaction) { u.Transaction.Signature = []byte{1} },
		"a short key":       func(u *pb.SubscribeUpdateTransaction) { u.Transaction.Transaction.Message.AccountKeys[0] = []byte{1} },
		"a balance too few": func(u *pb.SubscribeUpdateTransaction) { u.Transaction.Meta.PreBalances = []uint64{1} },
		"a program too high": func(u *pb.SubscribeUpdateTransaction) {
			u.Transaction.Transaction.Message.Instructions[0].ProgramIdIndex = 1 << 31
		},
		"an account too high": func(u *pb.SubscribeUpdateTransaction) {
			u.Transaction.Meta.InnerInstructions[0].Instructions[0].Accounts = []byte{255}
		},
		"an amount that is none": func(u *pb.SubscribeUpdateTransaction) { u.Transaction.Meta.PreTokenBalances[0].UiTokenAmount = nil },
		"a mint that is none":    func(u *pb.SubscribeUpdateTransaction) { u.Transaction.Meta.PreTokenBalances[0].Mint = "0" },
	} {
		t.Run(name, func(t *testing.T) {
			u := updateOf(t, s.chain.Run(swaptest.Ran{Pool: s.pool, In: 1000, Out: 900}))
			_, err := parseUpdate(u)
			require.NoError(t, err)
			damage(u)
			_, err = parseUpdate(u)
			require.ErrorIs(t, err, errTransaction)
			require.Empty(t, newJoin().transaction(u))
		})
	}
}

// swapped makes a swap, and tells it as the two halves of the stream do.
func (s *scene) swapped(more uint64) (state.Step, *pb.SubscribeUpdateTransaction) {
	before := s.before()
	raw := s.chain.Run(swaptest.Ran{Pool: s.pool, In: 1_000_000, Out: s.gives(1_000_000) + more})
	u := updateOf(s.t, raw)
	return state.Step{
		Venue: cpmm.Name, Ref: s.ref, Slot: u.GetSlot(), UnixTime: 1_700_000_000, Before: before,
		Transaction: state.HashOf(u.GetTransaction().GetSignature()),
	}, u
}

func TestStepsAndTransactionsMeetInEitherOrder(t *testing.T) {
	s := newScene(t)
	j := newJoin()
	first, u := s.swapped(0)
	require.Empty(t, j.transaction(u))
	require.Empty(t, u.GetTransaction().GetMeta().GetLogMessages(), "nobody reads them")
	require.Equal(t, []paired{{first, u}}, j.step(first))
	other := first
	other.Venue = "another pool of the same transaction"
	require.Equal(t, []paired{{other, u}}, j.step(other))

	first, u = s.swapped(0)
	require.Empty(t, j.step(first))
	other.Slot, other.Transaction = first.Slot, first.Transaction
	require.Empty(t, j.step(other))
	require.Equal(t, []paired{{first, u}, {other, u}}, j.transaction(u))
}

// TestHalvesThatWaitedTooLongGo: most transactions of the venues never meet a step.
func TestHalvesThatWaitedTooLongGo(t *testing.T) {
	j := newJoin()
	see := func(slot uint64) {
		signature := make([]byte, 64)
		signature[0] = byte(slot)
		require.Empty(t, j.transaction(&pb.SubscribeUpdateTransaction{Slot: slot, Transaction: &pb.SubscribeUpdateTransactionInfo{Signature: signature}}))
		require.Empty(t, j.step(state.Step{Slot: slot, Transaction: 1 << 40}))
	}
	for slot := range uint64(100) {
		see(2000 + slot)
	}
	require.LessOrEqual(t, len(j.seen), joinSlots+joinSlots/4)
	require.LessOrEqual(t, len(j.steps), joinSlots+joinSlots/4)
	require.GreaterOrEqual(t, len(j.seen), joinSlots)
	now := len(j.seen)
	see(2060) // late: the stream was away
	require.Equal(t, now+1, len(j.seen))
	for slot := range uint64(20) { // a chain that began anew
		see(slot)
	}
	require.LessOrEqual(t, len(j.seen), joinSlots+joinSlots/4)

	for n := range uint64(maxHalves + 10) { // all in one slot
		j.step(state.Step{Slot: 19, Transaction: n})
	}
	require.LessOrEqual(t, len(j.steps), maxHalves)
}

// server is a Yellowstone server of transactions. nil among updates ends the connection.
type server struct {
	pb.UnimplementedGeyserServer
	requests chan *pb.SubscribeRequest
	updates  chan *pb.SubscribeUpdate
}

func (s *server) Subscribe(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate]) error {
	go func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			s.requests <- request
		}
	}()
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case u := <-s.updates:
			if u == nil {
				return status.Error(codes.Unavailable, "restart")
			}
			if err := stream.Send(u); err != nil {
				return err
			}
		}
	}
}

// TestSwapsOfTheStreamAreReplayed: over a connection of its own, which is made anew when it ends.
func TestSwapsOfTheStreamAreReplayed(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	memory, serving := bufconn.Listen(1<<20), grpc.NewServer()
	stream := &server{requests: make(chan *pb.SubscribeRequest, 16), updates: make(chan *pb.SubscribeUpdate)}
	pb.RegisterGeyserServer(serving, stream)
	go func() { _ = serving.Serve(memory) }()
	t.Cleanup(serving.Stop)
	tr, err := New(Config{Endpoint: "http://test:1"}, Deps{
		RPC: s.chain, Venues: venue.List{s.venue}, Terms: Terms{Matches: 3, Probe: hang},
		Dial: func(ctx context.Context, _ string) (net.Conn, error) { return memory.DialContext(ctx) },
	})
	require.NoError(t, err)
	s.look(tr)
	s.deploy("second")
	s.look(tr)
	require.Equal(t, ReasonRedeployed, s.reason(tr))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tr.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	request := <-stream.requests
	require.Equal(t, []string{cpmm.Program.String()}, request.Transactions["mintlake"].AccountInclude)
	stream.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}}
	require.NotNil(t, (<-stream.requests).GetPing())

	send := func(u *pb.SubscribeUpdateTransaction) {
		stream.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Transaction{Transaction: u}}
	}
	matches := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool {
			kinds := tr.Report(cpmm.Name).Kinds
			return len(kinds) == 1 && kinds[0].Matches == want
		}, hang, time.Millisecond)
	}
	step, u := s.swapped(0)
	send(u)
	tr.Step(step)
	matches(1)
	stream.updates <- nil
	require.NotNil(t, (<-stream.requests).GetTransactions(), "another connection")
	step, u = s.swapped(0)
	tr.Step(step)
	send(u)
	matches(2)
	malformed := proto.CloneOf(u)
	malformed.Transaction.Meta.PreBalances = nil
	malformed.Transaction.Signature[0]++
	step.Transaction = state.HashOf(malformed.GetTransaction().GetSignature())
	tr.Step(step)
	send(malformed)
	step, u = s.swapped(0)
	tr.Step(step)
	send(u)
	matches(3)
	require.True(t, s.quoted(tr))
	step, u = s.swapped(1)
	tr.Step(step)
	send(u)
	require.Eventually(t, func() bool { return s.reason(tr) == ReasonMismatch }, hang, time.Millisecond)
}
