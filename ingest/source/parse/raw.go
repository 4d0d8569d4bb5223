package parse

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// rawForm is the form in which a transaction came.
type rawForm uint8

const (
	// rawUpdate is a geyser.SubscribeUpdateTransactionInfo.
	rawUpdate rawForm = iota
	// rawStored is a solana.storage.ConfirmedTransaction.
	rawStored
	// rawJSON is an entry of getBlock's transactions.
	rawJSON
)

// rawTransaction is a transaction as it came. It borrows the message. index is its place in the
// block.
type rawTransaction struct {
	form  rawForm
	index int
	all   []byte
}

func (b *builder) raw(r rawTransaction) chain.Raw {
	one := &b.raws.take(1)[0]
	*one = r
	return one
}

// AppendUpdate implements chain.Raw. It ignores all for updates of a Geyser server, which has
// already left out the transactions that were not asked for. For the other forms, AppendUpdate
// leaves out transactions that touch none of our programs unless all is true, so that the stream is
// the same whatever the source.
func (r *rawTransaction) AppendUpdate(to []byte, all bool) ([]byte, error) {
	switch r.form {
	case rawUpdate:
		return append(to, r.all...), nil
	case rawStored:
		return r.appendStored(to, all)
	case rawJSON:
		return r.appendJSON(to, all)
	}
	return to, nil
}

// Fields of geyser.SubscribeUpdateTransactionInfo.
const (
	fieldInfoSignature   protowire.Number = 1
	fieldInfoVote        protowire.Number = 2
	fieldInfoTransaction protowire.Number = 3
	fieldInfoMeta        protowire.Number = 4
	fieldInfoIndex       protowire.Number = 5
)

// appendInfo appends a SubscribeUpdateTransactionInfo. It never sets the vote flag, because votes
// are not passed on.
func appendInfo(to, signature, transaction, meta []byte, index int) []byte {
	to = appendMessage(to, fieldInfoSignature, signature)
	to = appendMessage(to, fieldInfoTransaction, transaction)
	to = appendMessage(to, fieldInfoMeta, meta)
	return appendNumber(to, fieldInfoIndex, uint64(index))
}

func appendMessage(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

// appendNumber appends a number. It leaves out zero, as proto3 does.
func appendNumber(to []byte, field protowire.Number, value uint64) []byte {
	if value == 0 {
		return to
	}
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

// subscribed are the programs of which a transaction must touch at least one.
var subscribed = []pubkey.Key{pubkey.MustParse(schemas.ProgramToken), pubkey.MustParse(schemas.ProgramToken2022), pubkey.MustParse(schemas.ProgramMetaplex)}

// isSubscribed reports whether a key is one of the subscribed programs.
func isSubscribed(key []byte) bool {
	return slices.ContainsFunc(subscribed, func(k pubkey.Key) bool { return bytes.Equal(k[:], key) })
}

// fieldAccountKeys is Message.account_keys (agave's storage-proto confirmed_block.proto).
const fieldAccountKeys = 2

// appendStored appends the update of a ConfirmedTransaction. It copies the encoded transaction and
// metadata, because Geyser's messages have the same format. The touched programs are among the
// message's keys or the loaded addresses.
func (r *rawTransaction) appendStored(to []byte, all bool) ([]byte, error) {
	var transaction, meta, signature []byte
	touches := all
	w := protofields.Fields{Rest: r.all}
	for w.Next() {
		switch {
		case w.IsBytes(1):
			transaction = w.Bytes
		case w.IsBytes(2):
			meta = w.Bytes
		}
	}
	body := protofields.Fields{Rest: transaction}
	for body.Next() {
		switch {
		case body.IsBytes(1) && signature == nil:
			signature = body.Bytes
		case body.IsBytes(2):
			touches = touches || hasSubscribed(body.Bytes, fieldAccountKeys, fieldAccountKeys)
		}
	}
	if !touches && !hasSubscribed(meta, fieldLoadedWritable, fieldLoadedReadonly) {
		return to, nil
	}
	return appendInfo(to, signature, transaction, meta, r.index), nil
}

// hasSubscribed reports whether an encoded message has one of our programs in the field one or the
// field other.
func hasSubscribed(message []byte, one, other protowire.Number) bool {
	w := protofields.Fields{Rest: message}
	for w.Next() {
		if (w.IsBytes(one) || w.IsBytes(other)) && isSubscribed(w.Bytes) {
			return true
		}
	}
	return false
}
