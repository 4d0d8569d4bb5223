package balances

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// account is a token account of one mint: a register of the fold.
type account struct{ mint, key pubkey.Key }

// holding is an account that belongs, or belonged, to an owner.
type holding struct {
	owner pubkey.Key
	account
}

// change is one fact about an account.
type change struct {
	account
	position      schemas.Position
	time          time.Time
	isRead        bool // the account was read; before is not known then
	before, after state
}

// state is an account before or after a transaction; the zero value is one that is not open.
type state struct {
	open   bool
	owner  pubkey.Key
	amount uint64
}

// latest is the fact with the highest position of those in the batch.
type latest struct {
	state
	position schemas.Position
	time     time.Time
}

// moved is one transfer.
type moved struct {
	mint     pubkey.Key
	decimals uint8
	position schemas.Position
	time     time.Time
	*eventspb.Transfer
}

// mintPart is a mint in a partition of chain.balances.v1, or in one of chain.balance-bases.v1: see
// basePartition.
type mintPart struct {
	mint      pubkey.Key
	partition int
}

// book is what a batch adds to a mint's row in balance_mints_raw. touched is the offset after the
// last record that has the mint, first the lowest slot of its changes.
type book struct {
	touched int64
	first   uint64
	// based and from are the highest and the lowest slot of the latest read of all accounts of the
	// mint, whose pages may have slots of their own.
	based, from uint64
	begun       begun
	vouched     vouched
}

// begun is the offset of the first record stored, and its slot.
type begun struct {
	offset int64
	slot   uint64
}

// Batch is the content of one batch of records.
type Batch struct {
	changes   []change
	transfers []moved
	accounts  map[account]latest
	holdings  map[holding]latest
	mints     map[mintPart]book
	states    map[account]facts
	spends    []spend
}

// NewBatch returns an empty batch.
func NewBatch() *Batch {
	return &Batch{accounts: map[account]latest{}, holdings: map[holding]latest{}, mints: map[mintPart]book{}, states: map[account]facts{}}
}

// Keep drops the rows of tables that are not wanted.
func (b *Batch) Keep(wanted func(table string) bool) {
	if !wanted(tableChanges) {
		b.changes = nil
	}
	if !wanted(tableAccounts) {
		clear(b.accounts)
	}
	if !wanted(tableHoldings) {
		clear(b.holdings)
	}
	if !wanted(tableTransfers) && !wanted(tableWalletTransfers) {
		b.transfers = nil
	}
	if !wanted(tableMints) {
		clear(b.mints)
	}
	if !wanted(tableStates) {
		clear(b.states)
	}
	if !wanted(tableSpends) {
		b.spends = nil
	}
}

// Add sorts a record into the batch. An error says why the record is not a message of its topic;
// the batch is then as before.
func (b *Batch) Add(record *kafka.Record) error {
	switch record.Topic {
	case schemas.TopicBalances:
		return b.addBalances(record)
	case schemas.TopicTransfers:
		return b.addTransfers(record)
	case schemas.TopicBalanceBases:
		return b.addBase(record)
	}
	return fmt.Errorf("unexpected topic %q", record.Topic)
}

func (b *Batch) addBalances(record *kafka.Record) error {
	message := new(eventspb.BalanceChanges)
	if err := proto.Unmarshal(record.Value, message); err != nil {
		return fmt.Errorf("decode balances: %w", err)
	}
	if len(message.GetMint()) != pubkey.Size {
		return fmt.Errorf("balances: the mint has %d bytes instead of 32", len(message.GetMint()))
	}
	mint, at := pubkey.Key(message.GetMint()), delivery.BlockTime(message.GetBlockTime())
	changes := make([]change, 0, len(message.GetChanges()))
	for i, c := range message.GetChanges() {
		if len(c.GetAccount()) != pubkey.Size {
			return fmt.Errorf("balances: account %d has %d bytes instead of 32", i, len(c.GetAccount()))
		}
		before, after, err := states(c)
		if err != nil {
			return fmt.Errorf("balances: account %d: %w", i, err)
		}
		changes = append(changes, change{
			account: account{mint, pubkey.Key(c.GetAccount())}, position: schemas.Position{Slot: message.GetSlot(), Order: c.GetPlace()},
			time: at, isRead: message.GetIsRead(), before: before, after: after,
		})
	}
	if err := checkStates(message); err != nil {
		return fmt.Errorf("balances: %w", err)
	}
	for i := range changes {
		b.add(&changes[i])
		b.stateOfChange(message, i, &changes[i])
	}
	b.addStates(message, mint)
	b.changes = append(b.changes, changes...)
	b.enterBook(record, message, mint)
	return nil
}

// enterBook adds what a message says of its mint to the mint's book.
func (b *Batch) enterBook(record *kafka.Record, message *eventspb.BalanceChanges, mint pubkey.Key) {
	part := mintPart{mint, record.Partition}
	known := b.bookOf(part, begun{record.Offset, message.GetSlot()})
	if !message.GetIsAll() { // such a message is about no mint: there are no holders to count
		known.touched = max(known.touched, record.Offset+1)
	}
	if len(message.GetChanges()) > 0 || message.GetIsWhole() {
		known.first = min(known.first, message.GetSlot())
	}
	if message.GetIsWhole() || message.GetIsAll() {
		known.based = max(known.based, message.GetSlot())
		known.from = max(known.from, cmp.Or(message.GetFirstSlot(), message.GetSlot()))
	}
	b.mints[part] = known
}

// bookOf returns the book of a mint in a partition. at is the record that is read now: begun
// becomes at if its offset is the lowest so far.
func (b *Batch) bookOf(part mintPart, at begun) book {
	known, ok := b.mints[part]
	if !ok {
		return book{first: math.MaxUint64, begun: at}
	}
	if at.offset < known.begun.offset {
		known.begun = at
	}
	return known
}

func states(c *eventspb.BalanceChange) (before, after state, err error) {
	if before, err = stateOf(c.GetBefore()); err != nil {
		return before, after, err
	}
	after, err = stateOf(c.GetAfter())
	return before, after, err
}

func stateOf(s *eventspb.BalanceState) (state, error) {
	if s == nil {
		return state{}, nil
	}
	switch len(s.GetOwner()) {
	case 0:
		return state{open: true, amount: s.GetAmount()}, nil
	case pubkey.Size:
		return state{open: true, owner: pubkey.Key(s.GetOwner()), amount: s.GetAmount()}, nil
	}
	return state{}, fmt.Errorf("an owner has %d bytes instead of 32", len(s.GetOwner()))
}

// add enters a change into the latest states. If the account is closed or has another owner, the
// holding of the owner before ends.
func (b *Batch) add(c *change) {
	after := latest{c.after, c.position, c.time}
	later(b.accounts, c.account, after)
	if c.before.open && (!c.after.open || c.before.owner != c.after.owner) {
		later(b.holdings, holding{c.before.owner, c.account}, latest{position: c.position, time: c.time})
	}
	if c.after.open {
		later(b.holdings, holding{c.after.owner, c.account}, after)
	}
}

// later keeps the state with the higher position.
func later[K comparable](states map[K]latest, key K, s latest) {
	if held, ok := states[key]; !ok || s.position.Compare(held.position) >= 0 {
		states[key] = s
	}
}

func (b *Batch) addTransfers(record *kafka.Record) error {
	message := new(eventspb.Transfers)
	if err := proto.Unmarshal(record.Value, message); err != nil {
		return fmt.Errorf("decode transfers: %w", err)
	}
	mint, err := optionalKey(message.GetMint())
	if err != nil || message.GetDecimals() > 255 {
		return errors.New("transfers: the mint is no key, or its decimals are above 255")
	}
	for i, t := range message.GetTransfers() {
		if err := checkTransfer(t); err != nil {
			return fmt.Errorf("transfers: transfer %d: %w", i, err)
		}
	}
	for _, t := range message.GetTransfers() {
		b.transfers = append(b.transfers, moved{
			mint: mint, decimals: uint8(message.GetDecimals()), position: schemas.Position{Slot: message.GetSlot(), Order: t.GetPlace()},
			time: delivery.BlockTime(message.GetBlockTime()), Transfer: t,
		})
	}
	return nil
}

func checkTransfer(t *eventspb.Transfer) error {
	if n := len(t.GetSignature()); n != signatureSize {
		return fmt.Errorf("the signature has %d bytes instead of %d", n, signatureSize)
	}
	for _, key := range [][]byte{t.GetFromAccount(), t.GetFromOwner(), t.GetToAccount(), t.GetToOwner()} {
		if _, err := optionalKey(key); err != nil {
			return err
		}
	}
	return nil
}

const signatureSize = 64

// optionalKey returns a key of a message; the zero key if the message does not have it.
func optionalKey(raw []byte) (pubkey.Key, error) {
	switch len(raw) {
	case 0:
		return pubkey.Key{}, nil
	case pubkey.Size:
		return pubkey.Key(raw), nil
	}
	return pubkey.Key{}, fmt.Errorf("a key has %d bytes instead of 32", len(raw))
}
