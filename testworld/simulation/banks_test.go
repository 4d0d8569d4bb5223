package simulation_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/layout"
	"github.com/mintlake/mintlake/testworld/simulation"
)

// bank is what a client was told of one bank.
type bank struct {
	id, parent uint64
	supplies   map[chain.Key]uint64
}

// TestBankWorld: who sets the first bank of a slot aside when the second one is created, with all
// that is built on it, ends with the state of the chain.
func TestBankWorld(t *testing.T) {
	second, died, deep, repeated := 0, 0, 0, 0
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			w := simulation.NewBankWorld(seed, 160, seed%2 == 0)
			same := simulation.NewBankWorld(seed, 160, seed%2 == 0)
			for i, s := range w.Slots {
				require.Equal(t, s.Block == nil, same.Slots[i].Block == nil)
				if s.First == nil {
					continue
				}
				require.Equal(t, s.First.Update(), same.Slots[i].First.Update())
				second++
				if s.FirstDied {
					died++
				}
				require.Greater(t, s.Confirmed, s.Again)
				if before := w.At(s.First.Parent); before != nil && before.First != nil && before.First.Hash == s.First.ParentHash {
					deep++
				}
				for _, tx := range s.First.Txs {
					for _, other := range s.Block.Txs {
						if tx.Signatures[0] == other.Signatures[0] {
							repeated++
							require.NotEqual(t, tx.Meta.Err == nil, other.Meta.Err == nil)
						}
					}
				}
			}
			follow(t, w, seed%2 == 0)
		})
	}
	require.Greater(t, second, 40)
	require.Positive(t, died)
	require.Positive(t, deep)
	require.Positive(t, repeated)
}

// follow applies what a perfect provider tells at processed.
func follow(t *testing.T, w *simulation.World, ids bool) {
	t.Helper()
	plan := simulation.Perfect()
	plan.Accounts = simulation.AccountsEarly
	provider := simulation.NewProvider(w, plan)
	defer provider.Stop()
	conn, err := grpc.NewClient("passthrough:///provider", grpc.WithContextDialer(provider.Dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	stream, err := pb.NewGeyserClient(conn).Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Accounts: map[string]*pb.SubscribeRequestFilterAccounts{"a": {}}}))
	banks, versions := map[uint64]*bank{}, map[txwire.Version]int{}
	var drop func(uint64)
	drop = func(slot uint64) {
		delete(banks, slot)
		for s, b := range banks {
			if b.parent == slot {
				drop(s)
			}
		}
	}
	writes := map[uint64]map[chain.Key]uint64{}
	for {
		u, err := stream.Recv()
		require.NoError(t, err)
		if a := u.GetAccount(); a != nil && w.At(a.GetSlot()).First != nil {
			b := banks[a.GetSlot()]
			require.NotNil(t, b)
			require.Equal(t, ids, a.BankId != nil)
			require.Equal(t, b.id, a.GetBankId())
			b.supplies[chain.Key(a.GetAccount().GetPubkey())] = layout.Supply(a.GetAccount().GetData())
		} else if a != nil {
			if writes[a.GetSlot()] == nil {
				writes[a.GetSlot()] = map[chain.Key]uint64{}
			}
			writes[a.GetSlot()][chain.Key(a.GetAccount().GetPubkey())] = layout.Supply(a.GetAccount().GetData())
		}
		if b := u.GetBlock(); b != nil {
			require.Equal(t, ids, b.GetBankId() != 0)
			for _, tx := range b.GetTransactions() {
				versions[yellowstone.VersionOf(tx.GetTransaction().GetMessage())]++
			}
		}
		s := u.GetSlot()
		if s == nil {
			continue
		}
		switch s.GetStatus() { //nolint:exhaustive // the others do not matter
		case pb.SlotStatus_SLOT_CREATED_BANK:
			drop(s.GetSlot())
			banks[s.GetSlot()] = &bank{s.GetBankId(), s.GetParent(), map[chain.Key]uint64{}}
		case pb.SlotStatus_SLOT_DEAD:
			require.Nil(t, s.BankId)
			drop(s.GetSlot())
		}
		if s.GetStatus() == pb.SlotStatus_SLOT_FINALIZED && s.GetSlot() == w.Last() {
			break
		}
	}
	got, last := map[chain.Key]uint64{}, w.Slots[0].Block
	for _, b := range w.Chain() {
		told := writes[b.Slot]
		if w.At(b.Slot).First != nil {
			told = banks[b.Slot].supplies
		}
		for k, v := range told {
			got[k] = v
		}
		last = b
	}
	for _, mint := range last.Mints() {
		if supply, told := got[mint]; told {
			require.Equal(t, last.Supply(mint), supply)
		}
	}
	require.NotEmpty(t, got)
	require.Positive(t, versions[txwire.V1])
	require.Positive(t, versions[txwire.Legacy])
}
