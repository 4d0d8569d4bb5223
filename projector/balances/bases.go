package balances

import (
	"cmp"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// vouched is what a base says of a mint: with the slot ledger read up to slot, the base has every
// change of the mint from the slot since on; 0: that was not known. Tables may rely on this if they
// have every record of chain.balances.v1 from the offset log on, and of chain.balance-bases.v1 from
// the offset base on.
type vouched struct {
	slot, since uint64
	log, base   int64
}

// basePartition returns the number by which balance_mints_raw knows a partition of
// chain.balance-bases.v1: -1, -2 and so on. Numbers from 0 on are partitions of chain.balances.v1.
func basePartition(partition int) int { return -1 - partition }

// addBase enters a part of a base: latest facts with positions of their own. They are not stored as
// changes, because a change also says what was before.
func (b *Batch) addBase(record *kafka.Record) error {
	message := new(eventspb.BalanceBase)
	if err := proto.Unmarshal(record.Value, message); err != nil {
		return fmt.Errorf("decode base: %w", err)
	}
	if len(message.GetMint()) != pubkey.Size {
		return fmt.Errorf("base: the mint has %d bytes instead of 32", len(message.GetMint()))
	}
	if err := checkBase(message, record.Partition); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	mint := pubkey.Key(message.GetMint())
	for _, h := range message.GetAccounts() {
		b.addHeld(account{mint, pubkey.Key(h.GetAccount())}, h)
	}
	for _, s := range message.GetSpends() {
		delegate, _ := optionalKey(s.GetDelegate()) // checkBase found it well-formed
		b.spends = append(b.spends, spend{account{mint, pubkey.Key(s.GetAccount())}, positionOf(s.GetPosition()), delegate, s.GetAmount()})
	}
	part := mintPart{mint, basePartition(record.Partition)}
	known := b.bookOf(part, begun{offset: record.Offset})
	known.touched = max(known.touched, record.Offset+1)
	if mark := message.GetMark(); mark != nil {
		known.first = min(known.first, cmp.Or(mark.GetFirst(), known.first))
		known.based, known.from = max(known.based, mark.GetBased()), max(known.from, mark.GetBasedFrom())
		if mark.GetSlot() >= known.vouched.slot {
			known.vouched = vouched{mark.GetSlot(), mark.GetCompleteSince(), mark.GetLogOffsets()[record.Partition], mark.GetBaseOffsets()[record.Partition]}
		}
	}
	b.mints[part] = known
	return nil
}

// addHeld enters an account of a base.
func (b *Batch) addHeld(at account, h *eventspb.HeldAccount) {
	owner, _ := optionalKey(h.GetOwner()) // checkBase found both well-formed
	delegate, _ := optionalKey(h.GetDelegate())
	held := latest{state{true, owner, h.GetAmount()}, positionOf(h.GetPosition()), delivery.BlockTime(h.GetBlockTime())}
	later(b.accounts, at, held)
	later(b.holdings, holding{owner, at}, held)
	if h.GetOpened() == nil && h.GetFrozen() == nil && h.GetApproved() == nil {
		return
	}
	f := b.states[at]
	f.open(positionOf(h.GetOpened()))
	f.freeze(positionOf(h.GetFrozen()), h.GetIsFrozen())
	f.approve(approved{positionOf(h.GetApproved()), h.GetIsApprovalKnown(), delegate, h.GetDelegatedAmount()})
	b.states[at] = f
}

// checkBase returns an error that says what is malformed in a part of a base.
func checkBase(m *eventspb.BalanceBase, partition int) error {
	for i, h := range m.GetAccounts() {
		_, owner := optionalKey(h.GetOwner())
		_, delegate := optionalKey(h.GetDelegate())
		if err := errors.Join(isKey(h.GetAccount()), owner, delegate); err != nil {
			return fmt.Errorf("account %d: %w", i, err)
		}
	}
	for i, s := range m.GetSpends() {
		_, delegate := optionalKey(s.GetDelegate())
		if err := errors.Join(isKey(s.GetAccount()), delegate); err != nil {
			return fmt.Errorf("spend %d: %w", i, err)
		}
	}
	if mark := m.GetMark(); mark != nil && (partition >= len(mark.GetLogOffsets()) || partition >= len(mark.GetBaseOffsets())) {
		return fmt.Errorf("the mark has no offsets of partition %d", partition)
	}
	return nil
}

func isKey(raw []byte) error {
	if len(raw) != pubkey.Size {
		return fmt.Errorf("a key has %d bytes instead of 32", len(raw))
	}
	return nil
}

func positionOf(p *eventspb.FactPosition) schemas.Position {
	return schemas.Position{Slot: p.GetSlot(), Order: p.GetPlace()}
}
