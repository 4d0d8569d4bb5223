package stream

import (
	"errors"
	"strconv"
	"sync"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

type (
	address   = pubkey.Key
	signature = [64]byte
)

// transaction is one record of the topic: what filters look at, and the encoded value, which is
// passed on unchanged. All subscribers share it. Only what is made on first use changes.
type transaction struct {
	// grpc is the part of an encoded geyser.SubscribeUpdate that is the same for all subscribers;
	// raw is the geyser.SubscribeUpdateTransaction in it.
	grpc, raw []byte
	offset    int64
	slot      uint64
	signature signature
	vote      bool
	failed    bool
	// accounts are the message's and those loaded from lookup tables.
	accounts []address
	// received is when the transaction reached Mintlake; zero when unknown.
	received time.Time

	// What follows is made on first use, for all subscribers: the JSON for WebSockets in each
	// shape, the status update, the owners of the token balances.
	shapes struct {
		sync.Mutex
		made map[shape]encoded
	}
	statusOnce, ownersOnce sync.Once
	status                 []byte
	owners                 tokenOwners
}

// errMalformed is a record that is no transaction.
var errMalformed = errors.New("malformed transaction")

// Field numbers of geyser.proto and solana-storage.proto.
const (
	fieldUpdateInfo, fieldUpdateSlot                                       = 1, 2
	fieldInfoSignature, fieldInfoVote, fieldInfoTransaction, fieldInfoMeta = 1, 2, 3, 4
	fieldTransactionMessage                                                = 2
	fieldMessageKeys                                                       = 2
	fieldMetaErr, fieldMetaWritable, fieldMetaReadonly                     = 1, 12, 13
)

// accountsGuess is the first capacity of accounts: most transactions have fewer.
const accountsGuess = 32

// parseRecord reads only what filters need. It walks the wire format, which takes a microsecond;
// decoding everything would take thirty. It copies the value, so that a transaction that waits for
// a slow client does not keep its whole fetch in memory.
func parseRecord(r kafka.Record) (*transaction, error) {
	var received time.Time
	if ms, err := strconv.ParseInt(string(r.Header(schemas.HeaderReceivedAt)), 10, 64); err == nil {
		received = time.UnixMilli(ms)
	}
	return parseTransaction(r.Value, r.Offset, received)
}

// parseTransaction is parseRecord for a SubscribeUpdateTransaction.
func parseTransaction(value []byte, offset int64, received time.Time) (*transaction, error) {
	t := &transaction{offset: offset, received: received, accounts: make([]address, 0, accountsGuess)}
	t.grpc, t.raw = encodeShared(value, received)
	seen := false
	err := walk(value, func(field protowire.Number, bytes []byte) error {
		if field != fieldUpdateInfo {
			return nil
		}
		seen = true
		return t.parseInfo(bytes)
	}, func(field protowire.Number, number uint64) {
		if field == fieldUpdateSlot {
			t.slot = number
		}
	})
	if err != nil {
		return nil, err
	}
	if !seen || t.signature == (signature{}) {
		return nil, errMalformed
	}
	return t, nil
}

// parseInfo reads a SubscribeUpdateTransactionInfo, as far as filters need it.
func (t *transaction) parseInfo(info []byte) error {
	return walk(info, func(field protowire.Number, bytes []byte) error {
		switch field {
		case fieldInfoSignature:
			if len(bytes) != len(t.signature) {
				return errMalformed
			}
			t.signature = signature(bytes)
		case fieldInfoTransaction:
			return walk(bytes, func(field protowire.Number, bytes []byte) error {
				if field == fieldTransactionMessage {
					return t.parseAddresses(bytes, fieldMessageKeys, fieldMessageKeys)
				}
				return nil
			}, nil)
		case fieldInfoMeta:
			if err := t.parseAddresses(bytes, fieldMetaWritable, fieldMetaReadonly); err != nil {
				return err
			}
			return walk(bytes, func(field protowire.Number, _ []byte) error {
				t.failed = t.failed || field == fieldMetaErr
				return nil
			}, nil)
		default: // not looked at
		}
		return nil
	}, func(field protowire.Number, number uint64) {
		if field == fieldInfoVote {
			t.vote = number != 0
		}
	})
}

// parseAddresses appends the addresses in the fields one and other of message to t.accounts.
func (t *transaction) parseAddresses(message []byte, one, other protowire.Number) error {
	return walk(message, func(field protowire.Number, bytes []byte) error {
		if field != one && field != other {
			return nil
		}
		if len(bytes) != len(address{}) {
			return errMalformed
		}
		t.accounts = append(t.accounts, address(bytes))
		return nil
	}, nil)
}

// walk calls onBytes for each length-delimited field of a message and onNumber, if it is not nil,
// for each varint. A field with an unexpected type reaches the function that does not know its
// number, so it is ignored, as in a decoder.
func walk(message []byte, onBytes func(protowire.Number, []byte) error, onNumber func(protowire.Number, uint64)) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMalformed
		}
		message = message[n:]
		switch kind {
		case protowire.BytesType:
			var bytes []byte
			if bytes, n = protowire.ConsumeBytes(message); n >= 0 {
				if err := onBytes(field, bytes); err != nil {
					return err
				}
			}
		case protowire.VarintType:
			var number uint64
			if number, n = protowire.ConsumeVarint(message); n >= 0 && onNumber != nil {
				onNumber(field, number)
			}
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return errMalformed
		}
		message = message[n:]
	}
	return nil
}

// message decodes the whole transaction.
func (t *transaction) message() (*pb.SubscribeUpdateTransaction, error) {
	m := &pb.SubscribeUpdateTransaction{}
	if err := proto.Unmarshal(t.raw, m); err != nil {
		return nil, errMalformed
	}
	return m, nil
}

// withoutCache returns a copy without what was made on first use: a transaction that waits to be
// finalized should hold no JSON.
func (t *transaction) withoutCache() *transaction {
	return &transaction{
		grpc: t.grpc, raw: t.raw, offset: t.offset, slot: t.slot, signature: t.signature, vote: t.vote, failed: t.failed, accounts: t.accounts, received: t.received,
	}
}
