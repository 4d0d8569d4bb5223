package stream

import (
	"cmp"
	"strconv"
	"sync"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
)

type (
	address   = pubkey.Key
	signature = [64]byte
)

// transaction is a transaction of the topic or of the source's node: what filters look at, and the
// encoded update, which is passed on unchanged. All subscribers share it. Only the fields that are
// made on first use change.
type transaction struct {
	// raw is the encoded geyser.SubscribeUpdateTransaction.
	raw       []byte
	offset    int64
	slot      uint64
	signature signature
	version   txwire.Version
	// bank is the id of the bank that executed the transaction, index the transaction's place in
	// the block. Both are 0 if the source does not tell them.
	bank, index uint64
	vote        bool
	failed      bool
	// accounts are those of the message, then those loaded from lookup tables.
	accounts []address
	// received is when the transaction reached Mintlake; zero if that is not known.
	received time.Time

	// The fields below are made on first use, for all subscribers: the JSON for WebSockets in each
	// shape, the status update, the owners of the token balances.
	shapes struct {
		sync.Mutex
		made []encoded
	}
	statusOnce, ownersOnce sync.Once
	status                 []byte
	owners                 tokenOwners
}

// errMalformed is the error for a record or a message that cannot be read.
var errMalformed = protofields.ErrMalformed

// accountsGuess is the first capacity of accounts: most transactions have fewer.
const accountsGuess = 32

// parseRecord reads only what filters need. It goes over the encoded message, which takes two
// microseconds; decoding everything would take thirty. The transaction refers to the bytes of the
// record.
func parseRecord(r kafka.Record) (*transaction, error) {
	var received time.Time
	if ms, err := strconv.ParseInt(string(r.Header(schemas.HeaderReceivedAt)), 10, 64); err == nil {
		received = time.UnixMilli(ms)
	}
	return parseTransaction(r.Value, r.Offset, received)
}

// parseTransaction is parseRecord for an encoded SubscribeUpdateTransaction. offset is 0 if it
// comes from no log.
func parseTransaction(raw []byte, offset int64, received time.Time) (*transaction, error) {
	t := &transaction{raw: raw, offset: offset, received: received, accounts: make([]address, 0, accountsGuess)}
	seen := false
	f := protofields.Fields{Rest: raw}
	for f.Next() {
		switch {
		case f.IsBytes(fieldUpdateInfo):
			seen = true
			if err := t.parseInfo(f.Bytes); err != nil {
				return nil, err
			}
		case f.IsVarint(fieldUpdateSlot):
			t.slot = f.Value
		case f.IsVarint(fieldUpdateBank):
			t.bank = f.Value
		}
	}
	if f.Err != nil {
		return nil, f.Err
	}
	if !seen || t.signature == (signature{}) {
		return nil, errMalformed
	}
	return t, nil
}

// parseInfo reads a SubscribeUpdateTransactionInfo, as far as filters need it.
func (t *transaction) parseInfo(info []byte) error {
	f := protofields.Fields{Rest: info}
	for f.Next() {
		var err error
		switch {
		case f.IsBytes(fieldInfoSignature):
			if len(f.Bytes) != len(t.signature) {
				return errMalformed
			}
			t.signature = signature(f.Bytes)
		case f.IsVarint(fieldInfoVote):
			t.vote = f.Value != 0
		case f.IsVarint(fieldInfoIndex):
			t.index = f.Value
		case f.IsBytes(fieldInfoTransaction):
			err = t.parseMessage(f.Bytes)
		case f.IsBytes(fieldInfoMeta):
			err = t.parseMeta(f.Bytes)
		}
		if err != nil {
			return err
		}
	}
	return f.Err
}

// parseMessage reads the accounts and the version of a Transaction's Message.
func (t *transaction) parseMessage(tx []byte) error {
	return protofields.Each(tx, fieldTransactionMessage, func(message []byte) error {
		var versioned, config bool
		f := protofields.Fields{Rest: message}
		for f.Next() {
			switch {
			case f.IsBytes(fieldMessageKeys):
				if err := t.addAccount(f.Bytes); err != nil {
					return err
				}
			case f.IsVarint(fieldMessageVersioned):
				versioned = f.Value != 0
			case f.IsBytes(fieldMessageConfig):
				config = true
			}
		}
		t.version = versionOf(versioned, config)
		return f.Err
	})
}

// parseMeta reads from a TransactionStatusMeta the accounts from lookup tables, and whether the
// transaction failed.
func (t *transaction) parseMeta(meta []byte) error {
	f := protofields.Fields{Rest: meta}
	for f.Next() {
		switch {
		case f.IsBytes(fieldMetaErr):
			t.failed = true
		case f.IsBytes(fieldMetaWritable), f.IsBytes(fieldMetaReadonly):
			if err := t.addAccount(f.Bytes); err != nil {
				return err
			}
		}
	}
	return f.Err
}

func (t *transaction) addAccount(raw []byte) error {
	if len(raw) != len(address{}) {
		return errMalformed
	}
	t.accounts = append(t.accounts, address(raw))
	return nil
}

// parts are the encoded Transaction and TransactionStatusMeta of an update, and the transaction's
// place in the block. err is errMalformed if they could not be read.
type parts struct {
	tx, meta []byte
	index    uint64
	err      error
}

// split finds the parts of the update.
func (t *transaction) split() (p parts) {
	var info []byte
	update := protofields.Fields{Rest: t.raw}
	for update.Next() {
		if update.IsBytes(fieldUpdateInfo) {
			update.Keep(&info)
		}
	}
	f := protofields.Fields{Rest: info}
	for f.Next() {
		switch {
		case f.IsVarint(fieldInfoIndex):
			p.index = f.Value
		case f.IsBytes(fieldInfoTransaction):
			f.Keep(&p.tx)
		case f.IsBytes(fieldInfoMeta):
			f.Keep(&p.meta)
		}
	}
	p.err = cmp.Or(update.Err, f.Err)
	return p
}

// message decodes the whole transaction.
func (t *transaction) message() (*pb.SubscribeUpdateTransaction, error) {
	m := &pb.SubscribeUpdateTransaction{}
	if err := proto.Unmarshal(t.raw, m); err != nil {
		return nil, errMalformed
	}
	return m, nil
}

// withoutCache returns a copy without what was made on first use. A transaction that is kept until
// its slot is finalized or confirmed should not keep JSON in memory.
func (t *transaction) withoutCache() *transaction {
	return &transaction{
		raw: t.raw, offset: t.offset, slot: t.slot, bank: t.bank, index: t.index, signature: t.signature, version: t.version,
		vote: t.vote, failed: t.failed, accounts: t.accounts, received: t.received,
	}
}
