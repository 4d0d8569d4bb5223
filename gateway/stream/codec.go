package stream

import (
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	goproto "google.golang.org/protobuf/proto"
)

// Fields of SubscribeUpdate that are the same for all subscribers.
const fieldUpdateTransaction, fieldUpdateCreatedAt = 4, 11

// names returns the names of the delivery's filters, encoded as fields of SubscribeUpdate: those of
// status filters if status is set, else those of the other filters. It returns nil if there are
// none.
func (d delivery) names(status bool) (names []byte) {
	for _, e := range d.wants {
		switch {
		case e.status != status:
		case names == nil:
			names = e.head[:len(e.head):len(e.head)] // shared: append must copy it
		default:
			names = append(names, e.head...)
		}
	}
	return names
}

// fieldUpdateStatus is SubscribeUpdate.transaction_status.
const fieldUpdateStatus = 10

// statusUpdate returns the encoded fields transaction_status and created_at of a SubscribeUpdate.
// They are made once and shared by all subscribers. The result is nil if the transaction cannot be
// decoded.
func (t *transaction) statusUpdate() []byte {
	t.statusOnce.Do(func() {
		m, err := t.message()
		if err != nil {
			return // parseTransaction reads only a part, so the rest may be malformed
		}
		info := m.GetTransaction()
		raw, err := goproto.Marshal(&pb.SubscribeUpdateTransactionStatus{
			Slot: t.slot, Signature: t.signature[:], IsVote: t.vote, Index: info.GetIndex(), Err: info.GetMeta().GetErr(), BankId: t.bank,
		})
		if err != nil { // cannot happen: the message is made here
			return
		}
		t.status = appendCreatedAt(protowire.AppendBytes(protowire.AppendTag(nil, fieldUpdateStatus, protowire.BytesType), raw), t.received)
	})
	return t.status
}

// update returns an encoded SubscribeUpdate with the transaction. names are the encoded names of
// the filters. All subscribers share the bytes of the transaction.
func (t *transaction) update(names []byte) mem.BufferSlice {
	const room = 32 // bytes for the tags, the length and the time
	own := append(make([]byte, 0, len(names)+room), names...)
	own = protowire.AppendTag(own, fieldUpdateTransaction, protowire.BytesType)
	own = protowire.AppendVarint(own, uint64(len(t.raw)))
	before := len(own)
	own = appendCreatedAt(own, t.received)
	return mem.BufferSlice{mem.SliceBuffer(own[:before]), mem.SliceBuffer(t.raw), mem.SliceBuffer(own[before:])}
}

// fieldTimestampSeconds and fieldTimestampNanos are fields of google.protobuf.Timestamp.
const fieldTimestampSeconds, fieldTimestampNanos = 1, 2

// appendCreatedAt appends the field created_at, if at is not zero.
func appendCreatedAt(update []byte, at time.Time) []byte {
	if at.IsZero() {
		return update
	}
	var room [16]byte
	raw := protowire.AppendVarint(protowire.AppendTag(room[:0], fieldTimestampSeconds, protowire.VarintType), uint64(at.Unix()))
	if nanos := at.Nanosecond(); nanos > 0 {
		raw = protowire.AppendVarint(protowire.AppendTag(raw, fieldTimestampNanos, protowire.VarintType), uint64(nanos))
	}
	return protowire.AppendBytes(protowire.AppendTag(update, fieldUpdateCreatedAt, protowire.BytesType), raw)
}

// codec is gRPC's codec for protobuf, but sends a mem.BufferSlice unchanged, as that is encoded
// already.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if ready, ok := v.(mem.BufferSlice); ok {
		return ready, nil
	}
	return c.CodecV2.Marshal(v)
}
