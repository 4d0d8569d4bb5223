package demo

import (
	"fmt"
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// modelBank is what a client was told of one bank.
type modelBank struct {
	id, slot, parent uint64
	hash             string
	signatures       []string
	accounts         map[chain.Key]string
}

// content is what is compared of an account.
func content(lamports uint64, data []byte) string { return fmt.Sprintf("%d %x", lamports, data) }

// modelClient applies what the stream tells, in its order. A second bank of a slot sets the first
// one aside with all that is built on it.
type modelClient struct {
	t       *testing.T
	ids     bool
	banks   map[uint64]*modelBank // the newest of each slot
	chain   []*modelBank          // confirmed
	second  int
	dropped int
	dead    map[uint64]bool
	revived int
}

func (c *modelClient) drop(slot uint64) {
	delete(c.banks, slot)
	for s, b := range c.banks {
		if b.parent == slot && s > slot {
			c.dropped++
			c.drop(s)
		}
	}
}

// bank is the newest bank of a slot, to which an update must belong.
func (c *modelClient) bank(slot, id uint64) *modelBank {
	b := c.banks[slot]
	require.NotNil(c.t, b, "slot %d", slot)
	require.Equal(c.t, b.id, id, "slot %d", slot)
	return b
}

func (c *modelClient) slot(u *pb.SubscribeUpdateSlot) {
	slot := u.GetSlot()
	if u.GetStatus() != pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED && u.GetStatus() != pb.SlotStatus_SLOT_COMPLETED && u.GetStatus() != pb.SlotStatus_SLOT_DEAD {
		require.Equal(c.t, c.ids, u.BankId != nil)
	} else {
		require.Nil(c.t, u.BankId, "it names no bank")
	}
	switch u.GetStatus() {
	case pb.SlotStatus_SLOT_CREATED_BANK:
		if c.banks[slot] != nil {
			c.second++
			c.drop(slot)
		}
		if c.dead[slot] {
			c.revived++
		}
		c.banks[slot] = &modelBank{id: u.GetBankId(), slot: slot, parent: u.GetParent(), accounts: map[chain.Key]string{}}
	case pb.SlotStatus_SLOT_DEAD:
		c.dead[slot] = true
		c.drop(slot)
	case pb.SlotStatus_SLOT_PROCESSED:
		require.NotEmpty(c.t, c.bank(slot, u.GetBankId()).hash, "the block comes before its status")
	case pb.SlotStatus_SLOT_CONFIRMED:
		c.chain = append(c.chain, c.bank(slot, u.GetBankId()))
	case pb.SlotStatus_SLOT_FINALIZED:
		require.Contains(c.t, c.chain, c.bank(slot, u.GetBankId()))
	case pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED, pb.SlotStatus_SLOT_COMPLETED:
	}
}

func (c *modelClient) apply(u *pb.SubscribeUpdate) {
	switch {
	case u.GetSlot() != nil:
		c.slot(u.GetSlot())
	case u.GetAccount() != nil:
		a := u.GetAccount()
		require.Equal(c.t, c.ids, a.BankId != nil)
		c.bank(a.GetSlot(), a.GetBankId()).accounts[chain.Key(a.GetAccount().GetPubkey())] = content(a.GetAccount().GetLamports(), a.GetAccount().GetData())
	case u.GetTransaction() != nil:
		tx := u.GetTransaction()
		b := c.bank(tx.GetSlot(), tx.GetBankId())
		b.signatures = append(b.signatures, string(tx.GetTransaction().GetSignature()))
	case u.GetEntry() != nil:
		c.bank(u.GetEntry().GetSlot(), u.GetEntry().GetBankId())
	case u.GetBlock() != nil:
		b := c.bank(u.GetBlock().GetSlot(), u.GetBlock().GetBankId())
		b.hash = u.GetBlock().GetBlockhash()
		require.Len(c.t, b.signatures, len(u.GetBlock().GetTransactions()))
	case u.GetBlockMeta() != nil:
		require.Equal(c.t, c.bank(u.GetBlockMeta().GetSlot(), u.GetBlockMeta().GetBankId()).hash, u.GetBlockMeta().GetBlockhash())
	}
}

// requireChain: what the client holds as confirmed is the chain of the ledger, with the accounts
// that it left.
func (c *modelClient) requireChain(l *ledger.Ledger) {
	state := map[chain.Key]string{}
	for _, b := range c.chain {
		want, _, ok := l.Block(b.slot)
		require.True(c.t, ok, "slot %d", b.slot)
		require.Equal(c.t, want.Hash.String(), b.hash)
		require.Len(c.t, b.signatures, len(want.Txs))
		for i, tx := range want.Txs {
			require.Equal(c.t, string(tx.Signatures[0][:]), b.signatures[i])
		}
		for k, v := range b.accounts {
			state[k] = v
		}
	}
	slots := make([]uint64, len(c.chain))
	for i, b := range c.chain {
		slots[i] = b.slot
	}
	require.Equal(c.t, l.Slots(1000, c.chain[len(c.chain)-1].slot, 1<<20, ledger.Confirmed), slots)
	keys := make([]chain.Key, 0, len(state))
	for k := range state {
		keys = append(keys, k)
	}
	accounts, _ := l.Accounts(keys, ledger.Confirmed)
	for i, a := range accounts {
		want := content(0, nil)
		if a != nil {
			want = content(a.Lamports, a.Data)
		}
		require.Equal(c.t, want, state[keys[i]], "account %s", keys[i])
	}
}

// TestWhoAppliesWhatIsToldEndsWithTheChain: with banks that are switched and slots that come back,
// with and without the ids of banks.
func TestWhoAppliesWhatIsToldEndsWithTheChain(t *testing.T) {
	for _, without := range []bool{false, true} {
		cfg := testConfig()
		cfg.TPS, cfg.Switched, cfg.Dead, cfg.WithoutBankIDs = 100, 7, 11, without
		n := start(t, cfg)
		yes := true
		st := subscribe(t, n, &pb.SubscribeRequest{
			Slots:        map[string]*pb.SubscribeRequestFilterSlots{"s": {InterslotUpdates: &yes}},
			Accounts:     map[string]*pb.SubscribeRequestFilterAccounts{"a": {}},
			Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"t": {}},
			Entry:        map[string]*pb.SubscribeRequestFilterEntry{"e": {}},
			Blocks:       map[string]*pb.SubscribeRequestFilterBlocks{"b": {}},
			BlocksMeta:   map[string]*pb.SubscribeRequestFilterBlocksMeta{"m": {}},
		})
		require.Eventually(t, func() bool { return n.Ledger().Subscribers() == 1 }, hang, time.Millisecond)
		const slots = 150
		require.NoError(t, n.Step(slots))
		c := &modelClient{t: t, ids: !without, banks: map[uint64]*modelBank{}, dead: map[uint64]bool{}}
		for len(c.chain) == 0 || c.chain[len(c.chain)-1].slot < n.Ledger().Slot(ledger.Confirmed) {
			c.apply(next(t, st))
		}
		c.requireChain(n.Ledger())
		require.Greater(t, c.second, slots/10)
		require.Positive(t, c.dropped)
		require.Positive(t, c.revived)
	}
}

// TestAccountsOnceAtConfirmed: at processed each write is told, at confirmed the last one in its
// block.
func TestAccountsOnceAtConfirmed(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(12))
	told := func(level pb.CommitmentLevel) map[string]int {
		from := uint64(1000)
		st := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Commitment: &level, Accounts: map[string]*pb.SubscribeRequestFilterAccounts{"a": {}},
			BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"m": {}}})
		out := map[string]int{}
		for {
			u := next(t, st)
			if u.GetBlockMeta().GetSlot() == 1001 {
				return out
			}
			if a := u.GetAccount(); a != nil {
				out[fmt.Sprintf("%d %x", a.GetSlot(), a.GetAccount().GetPubkey())]++
			}
		}
	}
	processed, confirmed := told(pb.CommitmentLevel_PROCESSED), told(pb.CommitmentLevel_CONFIRMED)
	require.Len(t, confirmed, len(processed))
	more := 0
	for k, times := range processed {
		require.Equal(t, 1, confirmed[k])
		more += times - 1
	}
	require.Positive(t, more)
}

// TestFinalBeforeTheNextBank: a slot is confirmed and final at one moment, mostly before the next
// bank exists.
func TestFinalBeforeTheNextBank(t *testing.T) {
	cfg := testConfig()
	cfg.TPS, cfg.Manual, cfg.RealTime, cfg.SlotTime, cfg.maxSlots, cfg.ForkRate, cfg.SkipRate = 20, false, true, 200*time.Millisecond, 16, 0, 0
	n := start(t, cfg)
	from, yes := uint64(1000), true
	st := subscribe(t, n, &pb.SubscribeRequest{FromSlot: &from, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {InterslotUpdates: &yes}}})
	created, early, confirmed := uint64(0), 0, map[uint64]bool{}
	for {
		switch u := next(t, st).GetSlot(); u.GetStatus() { //nolint:exhaustive // the others do not matter
		case pb.SlotStatus_SLOT_CREATED_BANK:
			created = u.GetSlot()
		case pb.SlotStatus_SLOT_CONFIRMED:
			confirmed[u.GetSlot()] = true
		case pb.SlotStatus_SLOT_FINALIZED:
			require.True(t, confirmed[u.GetSlot()])
			if created == u.GetSlot() {
				early++
			}
			if u.GetSlot() == 1015 {
				require.Greater(t, early, 4)
				return
			}
		}
	}
}
