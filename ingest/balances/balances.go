// Package balances makes the records of who holds what: changes of token accounts, and transfers;
// and of who may spend from accounts, and which are frozen.
//
// In: blocks. Out: messages of chain.balances.v1 and chain.transfers.v1, grouped by mint.
// Guarantees: pure and deterministic. The changes of a block are those that its node reports, each
// once; a message stays under maxBytes. What a transaction does not tell is left out and counted,
// never guessed.
package balances

import (
	"bytes"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/balance"
	"github.com/mintlake/mintlake/ingest/decode/transfer"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// maxBytes bounds a message. Brokers take records of 1 MB.
	maxBytes = 512 << 10
	// changeBytes and transferBytes are more than one change and one transfer can have on the wire:
	// keys with two bytes of framing, amounts of ten bytes, a signature. A change of an account's
	// state has fewer bytes than a change of its balance.
	changeBytes   = 192
	transferBytes = 288
	maxChanges    = maxBytes/changeBytes - 1
	maxTransfers  = maxBytes/transferBytes - 1
)

// Facts are the messages of a block.
type Facts struct {
	Balances  []*eventspb.BalanceChanges
	Transfers []*eventspb.Transfers
	// Changes counts the changes in Balances, States those of delegates and frozen accounts. Moved
	// counts the transfers by kind.
	Changes, States int
	Moved           map[transfer.Kind]int
	// Untold counts the transfers of which the transaction does not tell the mint, or a wallet. It
	// also counts the changes of states of which the transaction does not tell the mint. Only these
	// changes are left out.
	Untold int
	// Unexplained counts the accounts whose balance after the transaction is not what the transfers
	// lead to.
	Unexplained int
}

// Maker makes facts. Its methods may be called concurrently.
type Maker struct {
	mints   map[pubkey.Key]struct{}
	decoder *transfer.Decoder
	extent  uint64
}

// allMints is the Extent of a maker for all mints.
const allMints = 1

// New returns a maker for these mints; nil means all.
func New(mints map[pubkey.Key]struct{}) *Maker {
	m := &Maker{mints: mints, decoder: transfer.New(), extent: allMints}
	if mints != nil {
		m.extent = checksum(mints)
	}
	return m
}

// checksum returns a number that is the same for the same mints, and greater than allMints.
func checksum(mints map[pubkey.Key]struct{}) uint64 {
	hash := fnv.New64a()
	for _, mint := range slices.SortedFunc(maps.Keys(mints), func(a, b pubkey.Key) int { return bytes.Compare(a[:], b[:]) }) {
		hash.Write(mint[:])
	}
	return max(hash.Sum64(), allMints+1)
}

// Extent tells of which mints the maker makes facts: allMints, or a checksum of its list. Facts of
// two slots with the same extent are of the same mints.
func (m *Maker) Extent() uint64 { return m.extent }

// Of returns the facts of a block. They borrow the block's memory.
func (m *Maker) Of(block *chain.Block) Facts {
	b := builder{maker: m, block: block, balances: map[pubkey.Key]*eventspb.BalanceChanges{}, transfers: map[pubkey.Key]*eventspb.Transfers{}}
	rent := transfer.Rent(block.Transactions)
	for i := range block.Transactions {
		tx := &block.Transactions[i]
		changes := balance.Changes(tx)
		for j := range changes {
			b.change(tx, &changes[j])
		}
		moved := m.decoder.Decode(tx, rent)
		b.facts.Unexplained += moved.Unexplained
		for j := range moved.Transfers {
			b.transfer(tx, &moved.Transfers[j])
		}
		for j := range moved.States {
			b.state(tx, &moved.States[j])
		}
	}
	return b.facts
}

// builder collects the facts of one block.
type builder struct {
	maker *Maker
	block *chain.Block
	facts Facts
	// balances and transfers are the messages of each mint that still have room.
	balances  map[pubkey.Key]*eventspb.BalanceChanges
	transfers map[pubkey.Key]*eventspb.Transfers
}

func (b *builder) wants(mint pubkey.Key) bool {
	if b.maker.mints == nil {
		return true
	}
	_, listed := b.maker.mints[mint]
	return listed
}

func (b *builder) change(tx *chain.Transaction, change *balance.Change) {
	if !b.wants(change.Mint) {
		return
	}
	message := b.message(change.Mint, &change.Program, change.Decimals)
	message.Changes = append(message.Changes, &eventspb.BalanceChange{
		Place: schemas.EndOf(position(b.block.Slot, tx), tx.Signature[:]).Order, Account: change.Account[:],
		Before: state(&change.Before), After: state(&change.After),
	})
	b.facts.Changes++
}

// message returns a message of the mint's changes that has room for one more change.
func (b *builder) message(mint pubkey.Key, program *pubkey.Key, decimals uint8) *eventspb.BalanceChanges {
	message := b.balances[mint]
	if message == nil || len(message.GetChanges())+len(message.GetStates()) >= maxChanges {
		message = &eventspb.BalanceChanges{
			Slot: b.block.Slot, BlockTime: b.block.BlockTime, Mint: mint[:], Program: keyBytes(program), Decimals: uint32(decimals),
		}
		b.balances[mint] = message
		b.facts.Balances = append(b.facts.Balances, message)
	}
	return message
}

func (b *builder) state(tx *chain.Transaction, change *transfer.StateChange) {
	if change.Mint.IsZero() {
		b.facts.Untold++
		return
	}
	if !b.wants(change.Mint) {
		return
	}
	program, decimals := mintOf(tx, change.Mint)
	message := b.message(change.Mint, program, decimals)
	message.States = append(message.States, &eventspb.AccountStateChange{
		Place: schemas.PositionOf(place(b.block.Slot, tx, change.Place), tx.Signature[:]).Order, Account: change.Account[:],
		Kind: change.Kind.Wire(), Delegate: keyBytes(&change.Delegate), Amount: change.Amount,
	})
	b.facts.States++
}

func (b *builder) transfer(tx *chain.Transaction, moved *transfer.Transfer) {
	if !b.wants(moved.Mint) {
		return
	}
	if b.facts.Moved == nil {
		b.facts.Moved = map[transfer.Kind]int{}
	}
	b.facts.Moved[moved.Kind]++
	if untold(moved) {
		b.facts.Untold++
	}
	message := b.transfers[moved.Mint]
	if message == nil || len(message.GetTransfers()) >= maxTransfers {
		_, decimals := mintOf(tx, moved.Mint)
		message = &eventspb.Transfers{Slot: b.block.Slot, BlockTime: b.block.BlockTime, Mint: keyBytes(&moved.Mint), Decimals: uint32(decimals)}
		b.transfers[moved.Mint] = message
		b.facts.Transfers = append(b.facts.Transfers, message)
	}
	one := &eventspb.Transfer{
		Place: schemas.PositionOf(place(b.block.Slot, tx, moved.Place), tx.Signature[:]).Order, Signature: tx.Signature[:], Kind: moved.Kind.Wire(),
		FromAccount: keyBytes(&moved.From.Account), FromOwner: keyBytes(&moved.From.Owner),
		ToAccount: keyBytes(&moved.To.Account), ToOwner: keyBytes(&moved.To.Owner),
	}
	if moved.Known {
		one.Amount = &moved.Amount
	}
	if moved.FeeKnown {
		one.Fee = &moved.Fee
	}
	message.Transfers = append(message.Transfers, one)
}

// untold reports whether the transaction does not tell the mint, or the wallet of a side.
func untold(moved *transfer.Transfer) bool {
	side := func(s *transfer.Side) bool { return !s.Account.IsZero() && s.Owner.IsZero() }
	return moved.Mint.IsZero() || side(&moved.From) || side(&moved.To)
}

// mintOf returns the mint's program and decimals as the transaction's balances have them; zero
// values if no balance is of the mint.
func mintOf(tx *chain.Transaction, mint pubkey.Key) (program *pubkey.Key, decimals uint8) {
	for _, balances := range [][]chain.TokenBalance{tx.PostBalances, tx.PreBalances} {
		for i := range balances {
			if balances[i].Mint == mint {
				return &balances[i].Program, balances[i].Decimals
			}
		}
	}
	return &pubkey.Key{}, 0
}

// position returns the position of a transaction's first instruction.
func position(slot uint64, tx *chain.Transaction) *eventspb.Position {
	p := &eventspb.Position{Slot: slot}
	if tx.Index >= 0 {
		index := uint32(tx.Index)
		p.TransactionIndex = &index
	}
	return p
}

// place returns the position of the instruction at a place.
func place(slot uint64, tx *chain.Transaction, at transfer.Place) *eventspb.Position {
	p := position(slot, tx)
	p.InstructionIndex = uint32(at.Outer)
	p.InnerInstructionIndex, p.BatchIndex = index(at.Inner), index(at.Batch)
	return p
}

func index(at int) *uint32 {
	if at == transfer.None {
		return nil
	}
	index := uint32(at)
	return &index
}

func state(s *balance.State) *eventspb.BalanceState {
	if !s.Open {
		return nil
	}
	return &eventspb.BalanceState{Amount: s.Amount, Owner: keyBytes(&s.Owner)}
}

// keyBytes returns a key's bytes, which it borrows; nil for the zero key, which stands for none.
func keyBytes(key *pubkey.Key) []byte {
	if key.IsZero() {
		return nil
	}
	return key[:]
}
