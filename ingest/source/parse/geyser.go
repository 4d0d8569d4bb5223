package parse

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// UpdateKind is what a Geyser message carries.
type UpdateKind int

// The kinds that matter here; everything else a server may send is Other.
const (
	Other UpdateKind = iota
	Block
	Transaction
	Slot
	BlockMeta
	Ping
	Pong
	Account
)

// SlotStatus is geyser.SlotStatus.
type SlotStatus uint64

// Values of geyser.proto's SlotStatus.
const (
	SlotProcessed          SlotStatus = 0
	SlotConfirmed          SlotStatus = 1
	SlotFinalized          SlotStatus = 2
	SlotFirstShredReceived SlotStatus = 3
	SlotCompleted          SlotStatus = 4
	SlotCreatedBank        SlotStatus = 5
	SlotDead               SlotStatus = 6
)

// Update is one message of a Geyser subscription.
type Update struct {
	Kind UpdateKind
	// Slot is set for Block, Transaction, Slot, BlockMeta and Account.
	Slot uint64
	// Block is set for Block, Transaction and BlockMeta. For Block it has every transaction that
	// the filter of the subscription lets through. For Transaction it has one lone transaction. For
	// BlockMeta it has the header and no transactions.
	Block *chain.Block
	// Account is set for Account: the account as the transaction of its signature left it.
	Account *chain.Account
	// Status and Parent are set for Slot. Parent is nil if the server does not state it.
	Status SlotStatus
	Parent *uint64
	// Bank is set for Slot: the bank of the status.
	Bank chain.Bank
	// Executed is set for Block and BlockMeta. It is how many transactions the block has on the
	// chain; 0 if the server does not state it.
	Executed uint64
	// CreatedAt is when the server sent the message; zero if it does not state it.
	CreatedAt time.Time
}

// GeyserUpdate parses a geyser.SubscribeUpdate (yellowstone-grpc, geyser.proto). The result borrows
// data.
func (r Reader) GeyserUpdate(data []byte) (u Update, err error) {
	r.scanner.Look(data)
	w := protofields.Fields{Rest: data}
	var createdAt time.Time
	for w.Next() {
		switch {
		case w.IsBytes(2):
			err = u.account(w.Bytes)
		case w.IsBytes(3):
			err = u.slot(w.Bytes)
		case w.IsBytes(4):
			err = u.transaction(r.builder(), w.Bytes)
		case w.IsBytes(5):
			err = u.header(r.builder(), w.Bytes, Block, blockFields)
		case w.IsBytes(6):
			u.Kind = Ping
		case w.IsBytes(7):
			err = u.header(r.builder(), w.Bytes, BlockMeta, metaFields)
		case w.IsBytes(9):
			u.Kind = Pong
		case w.IsBytes(fieldCreatedAt):
			createdAt, err = timestamp(w.Bytes)
		}
		if err != nil {
			return Update{}, err
		}
	}
	u.CreatedAt = createdAt
	if r.bounds != nil && w.Err == nil {
		if err := r.bounds.Slot(u.Slot); err != nil {
			return Update{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return u, w.Err
}

// fieldCreatedAt is SubscribeUpdate.created_at, a google.protobuf.Timestamp: seconds are field 1,
// nanoseconds field 2.
const fieldCreatedAt = 11

// timestamp parses a google.protobuf.Timestamp. An impossible time becomes the zero time.
func timestamp(data []byte) (time.Time, error) {
	var seconds, nanos uint64
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsVarint(1):
			seconds = w.Value
		case w.IsVarint(2):
			nanos = w.Value
		}
	}
	if w.Err != nil || seconds == 0 || seconds > maxBlockTime || nanos >= 1e9 {
		return time.Time{}, w.Err
	}
	return time.Unix(int64(seconds), int64(nanos)), nil
}

// Stamp adds created_at to a geyser.SubscribeUpdate that has none, as if the server had set it. The
// field is added at the end, which is valid because protobuf fields may be in any order. The result
// may share data's memory.
func Stamp(data []byte, at time.Time) []byte {
	w := protofields.Fields{Rest: data}
	for w.Next() {
		if w.IsBytes(fieldCreatedAt) {
			return data
		}
	}
	if w.Err != nil {
		return data
	}
	stamp := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(at.Unix()))
	stamp = protowire.AppendVarint(protowire.AppendTag(stamp, 2, protowire.VarintType), uint64(at.Nanosecond()))
	out := append(make([]byte, 0, len(data)+len(stamp)+2), data...)
	return protowire.AppendBytes(protowire.AppendTag(out, fieldCreatedAt, protowire.BytesType), stamp)
}

// maxSlot bounds the slots that are believed. At ten slots a second, the chain reaches it after 28
// million years.
const maxSlot = 1 << 53

// slot parses SubscribeUpdateSlot (geyser.proto).
func (u *Update) slot(data []byte) error {
	*u = Update{Kind: Slot}
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsVarint(1):
			u.Slot = w.Value
		case w.IsVarint(2):
			parent := w.Value
			u.Parent = &parent
		case w.IsVarint(3):
			u.Status = SlotStatus(w.Value)
		case w.IsVarint(5):
			u.Bank.ID = w.Value
		}
	}
	if u.Parent != nil {
		ownParent(u.Slot, u.Parent)
	}
	if u.Slot > maxSlot || u.Parent != nil && *u.Parent >= u.Slot && u.Slot != 0 {
		return malformed("slot update for slot %d with an impossible parent", u.Slot)
	}
	return w.Err
}

// transaction parses SubscribeUpdateTransaction (geyser.proto), which has a lone transaction.
func (u *Update) transaction(b *builder, data []byte) error {
	*u = Update{Kind: Transaction}
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsBytes(1):
			if len(b.block.Transactions) > 0 {
				return malformed("two transactions in one update")
			}
			if err := b.geyserTransaction(w.Bytes); err != nil {
				return err
			}
			if b.block.Partial() {
				return b.block.Unread[0].Err
			}
		case w.IsVarint(2):
			u.Slot = w.Value
		case w.IsVarint(3):
			b.block.Bank.ID = w.Value
		}
	}
	if w.Err != nil {
		return w.Err
	}
	if len(b.block.Transactions) == 0 || u.Slot > maxSlot {
		return malformed("transaction update of slot %d with %d transactions", u.Slot, len(b.block.Transactions))
	}
	var err error
	u.Block, err = b.finish(u.Slot, false)
	return err
}

// headerFields are the numbers of the fields whose numbers differ between SubscribeUpdateBlock and
// SubscribeUpdateBlockMeta; 0 means that the message has no such field.
type headerFields struct{ parentSlot, parentHash, executed, transactions, height, bank int32 }

var (
	blockFields = headerFields{parentSlot: 7, parentHash: 8, executed: 9, transactions: 6, height: 5, bank: 14}
	metaFields  = headerFields{parentSlot: 6, parentHash: 7, executed: 8, height: 5, bank: 10}
)

// header parses SubscribeUpdateBlock or SubscribeUpdateBlockMeta (geyser.proto). f has the field
// numbers of the message.
func (u *Update) header(b *builder, data []byte, kind UpdateKind, f headerFields) error {
	*u = Update{Kind: kind}
	var parent uint64
	w := protofields.Fields{Rest: data}
	for w.Next() {
		var err error
		switch num := int32(w.Number); {
		case w.IsVarint(1):
			u.Slot = w.Value
		case w.IsBytes(2):
			b.block.Blockhash, err = decodeKey(w.Bytes)
		case w.IsBytes(4):
			var at uint64
			at, err = protofields.Varint(w.Bytes, 1)
			b.block.BlockTime = int64(at)
		case num == f.parentSlot && w.IsVarint(w.Number):
			parent = w.Value
		case num == f.parentHash && w.IsBytes(w.Number) && len(w.Bytes) > 0:
			b.block.ParentBlockhash, err = decodeKey(w.Bytes)
		case num == f.executed && w.IsVarint(w.Number):
			u.Executed = w.Value
		case num == f.height && w.IsBytes(w.Number):
			b.block.Height = new(uint64)
			*b.block.Height, err = protofields.Varint(w.Bytes, 1)
		case num == f.transactions && w.IsBytes(w.Number):
			err = b.geyserTransaction(w.Bytes)
		case num == f.bank && w.IsVarint(w.Number):
			b.block.Bank.ID = w.Value
		}
		if err != nil {
			return err
		}
	}
	switch {
	case w.Err != nil:
		return w.Err
	case u.Slot > maxSlot:
		return malformed("slot %d", u.Slot)
	case b.block.Blockhash == (pubkey.Key{}):
		return malformed("block of slot %d without blockhash", u.Slot)
	case u.Executed > 0 && uint64(b.count()) > u.Executed:
		return malformed("block of slot %d with %d transactions of %d", u.Slot, b.count(), u.Executed)
	}
	b.block.ParentSlot, b.block.Executed = &parent, u.Executed
	var err error
	u.Block, err = b.finish(u.Slot, kind == Block)
	return err
}

// geyserTransaction parses SubscribeUpdateTransactionInfo and appends it to the block. If it cannot
// be read, it goes to Block.Unread. The error means that the block has too many transactions.
func (b *builder) geyserTransaction(data []byte) error {
	if b.count() >= maxTransactions {
		return malformed("more than %d transactions", maxTransactions)
	}
	b.block.Transactions = append(b.block.Transactions, chain.Transaction{})
	tx := &b.block.Transactions[len(b.block.Transactions)-1]
	if err := b.geyserInfo(tx, data); err != nil {
		b.leaveOut(data, err)
		return nil
	}
	tx.Raw = b.raw(rawTransaction{form: rawUpdate, all: data})
	return nil
}

// geyserInfo parses SubscribeUpdateTransactionInfo.
func (b *builder) geyserInfo(tx *chain.Transaction, data []byte) error {
	tx.Index = -1 // for Block.Unread, if the message cannot be read
	index := 0
	var body, meta []byte
	var vote bool
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsVarint(2):
			vote = w.Value != 0
		case w.IsBytes(3):
			body = w.Bytes
		case w.IsBytes(4):
			meta = w.Bytes
		case w.IsVarint(5):
			if w.Value >= maxIndex {
				return malformed("index %d", w.Value)
			}
			index = int(w.Value)
		}
	}
	if w.Err != nil {
		return w.Err
	}
	tx.Index = index
	return b.protoTransaction(tx, body, meta, &vote)
}
