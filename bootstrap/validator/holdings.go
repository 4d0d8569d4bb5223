package validator

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Layout of a token account of both programs (spl-token-2022-interface, state.rs): mint, owner,
// amount, and what tokenaccount.StateOf reads. In an account with extensions, a byte with the type
// of the account follows.
const (
	tokenAccountLength = 165
	ownerAt            = 32
	amountAt           = 64
	accountTypeHolding = 2
)

// heldBytes is how many bytes of a token account are staged: its address, and its layout up to the
// delegated amount.
const heldBytes = 32 + tokenaccount.StateEnd

const (
	// heldGroup is how many token accounts are gathered before they are written, so that those of
	// one mint share a record.
	heldGroup = 100_000
	// heldChanges is how many token accounts a record has at most.
	heldChanges = 2_000
)

// appendHolding appends what is staged of a token account whose mint is followed. For any other
// account it returns nil.
func (l *Loader) appendHolding(out []byte, a *lattice.Account) []byte {
	if l.deps.Follow == nil || len(a.Data) < tokenAccountLength || a.Owner != tokenaccount.ProgramToken && a.Owner != tokenaccount.ProgramToken2022 {
		return nil
	}
	if len(a.Data) > tokenAccountLength && (a.Owner == tokenaccount.ProgramToken || a.Data[accountTypeAt] != accountTypeHolding) {
		return nil
	}
	if _, ok := tokenaccount.StateOf(a.Data); !ok || !l.deps.Follow(pubkey.Key(a.Data)) {
		return nil
	}
	return append(append(out, a.Address[:]...), a.Data[:tokenaccount.StateEnd]...)
}

// publishHoldings writes the staged token accounts that no newer version replaces, as reads at the
// end of the snapshot's slot. Then it closes the accounts that are gone, and writes for each
// followed mint that all its accounts were read.
func (l *Loader) publishHoldings(ctx context.Context, replaced *replaced) error {
	if l.deps.Follow == nil {
		return nil
	}
	if err := l.lookForOlder(ctx); err != nil {
		return err
	}
	group, count := map[pubkey.Key][]*eventspb.BalanceChange{}, 0
	flush := func(end int64) error {
		err := l.writeHoldings(ctx, group)
		clear(group)
		l.state.HeldRecords, count = l.state.HeldRecords+int64(count), 0
		if err != nil {
			return err
		}
		l.state.HeldPublished = end
		l.tell(stepHold, end, l.state.HeldBytes, "writing the balances")
		return l.file.Save(l.state)
	}
	err := l.held.each(l.state.HeldPublished, func(s *staged) error {
		if len(s.value) != heldBytes {
			return fmt.Errorf("the staged balances are damaged at byte %d: begin anew with --restart", s.end)
		}
		if !replaced.has(s.rank, s.place) {
			data := s.value[32:]
			mint := pubkey.Key(data)
			change := &eventspb.BalanceChange{
				Place: math.MaxUint64, Account: bytes.Clone(s.value[:32]),
				After: &eventspb.BalanceState{Owner: bytes.Clone(data[ownerAt : ownerAt+32]), Amount: binary.LittleEndian.Uint64(data[amountAt:])},
			}
			if state, ok := tokenaccount.StateOf(data); ok {
				state.Enter(change.After)
			}
			group[mint] = append(group[mint], change)
			count++
		}
		if count < heldGroup {
			return nil
		}
		return flush(s.end)
	})
	if err == nil {
		err = flush(l.state.HeldBytes)
	}
	if err == nil {
		err = l.closeGone(ctx)
	}
	if err != nil {
		return err
	}
	return l.markWhole(ctx, replaced)
}

// writeHoldings writes the token accounts of a group, by mint.
func (l *Loader) writeHoldings(ctx context.Context, group map[pubkey.Key][]*eventspb.BalanceChange) error {
	var records []kafka.Record
	for _, mint := range slices.SortedFunc(maps.Keys(group), func(a, b pubkey.Key) int { return bytes.Compare(a[:], b[:]) }) {
		for changes := range slices.Chunk(group[mint], heldChanges) {
			record, err := l.balances(mint, &eventspb.BalanceChanges{Changes: changes})
			if err != nil {
				return err
			}
			records = append(records, record)
		}
	}
	if err := l.deps.Producer.Produce(ctx, records...); err != nil {
		return fmt.Errorf("write balances: %w", err)
	}
	return nil
}

// markWhole writes a record for each followed mint that exists, which says that all accounts of the
// mint were read. If all mints are followed, a last record says that all accounts of all wallets
// were read. The record of a mint comes after the mint's accounts, in the same partition.
func (l *Loader) markWhole(ctx context.Context, replaced *replaced) error {
	var records []kafka.Record
	flush := func() error {
		err := l.deps.Producer.Produce(ctx, records...)
		records = nil
		if err != nil {
			return fmt.Errorf("write balances: %w", err)
		}
		return nil
	}
	err := l.stage.each(0, func(s *staged) error {
		if replaced.has(s.rank, s.place) {
			return nil
		}
		fact := new(eventspb.Enrichment)
		if err := proto.Unmarshal(s.value, fact); err != nil {
			return fmt.Errorf("the staged facts are damaged: %w: begin anew with --restart", err)
		}
		account := fact.GetMintAccount()
		if account == nil || !l.deps.Follow(pubkey.Key(fact.GetMint())) {
			return nil
		}
		record, err := l.balances(pubkey.Key(fact.GetMint()), &eventspb.BalanceChanges{
			IsWhole: true, Program: account.GetProgramId(), Decimals: account.GetDecimals(),
		})
		if err != nil {
			return err
		}
		if records = append(records, record); len(records) < heldChanges {
			return nil
		}
		return flush()
	})
	if err == nil && len(records) > 0 {
		err = flush()
	}
	if err != nil || !l.deps.All {
		return err
	}
	record, err := l.balances(pubkey.Key{}, &eventspb.BalanceChanges{IsAll: true})
	if records = []kafka.Record{record}; err != nil {
		return err
	}
	return flush()
}

// balances makes the record of a read of a mint's accounts. The record has no time of receipt,
// because it must not count for freshness.
func (l *Loader) balances(mint pubkey.Key, message *eventspb.BalanceChanges) (kafka.Record, error) {
	message.Mint, message.Slot, message.IsRead = mint[:], l.state.Summary.Slot, true
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode balances: %w", err)
	}
	position := schemas.EndOfSlot(message.GetSlot())
	return kafka.Record{Topic: schemas.TopicBalances, Key: mint.Append(nil), Value: value, Headers: []kafka.Header{
		{Key: schemas.HeaderType, Value: []byte(schemas.TypeBalances)}, {Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		{Key: schemas.HeaderPosition, Value: fmt.Appendf(nil, "%016x%016x", position.Slot, position.Order)},
	}}, nil
}
