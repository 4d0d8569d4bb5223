package stream

import (
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	goproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Fields of SubscribeUpdate that are the same for all subscribers.
const fieldUpdateTransaction, fieldUpdateCreatedAt = 4, 11

// names are the encoded names of the filters for statuses, or of the others; nil for none.
func (d delivery) names(status bool) (names []byte) {
	for _, e := range d.wants {
		switch {
		case e.status != status:
		case names == nil:
			names = e.head[:len(e.head):len(e.head)] // of a single filter it is shared
		default:
			names = append(names, e.head...)
		}
	}
	return names
}

// fieldUpdateStatus is SubscribeUpdate.transaction_status.
const fieldUpdateStatus = 10

// statusUpdate makes the fields transaction_status and created_at of a SubscribeUpdate, once for
// all subscribers.
func (t *transaction) statusUpdate() []byte {
	t.statusOnce.Do(func() {
		m, err := t.message()
		if err != nil {
			return // its walk has seen a transaction; what is odd about it is left out
		}
		info := m.GetTransaction()
		raw, err := goproto.Marshal(&pb.SubscribeUpdateTransactionStatus{
			Slot: t.slot, Signature: t.signature[:], IsVote: t.vote, Index: info.GetIndex(), Err: info.GetMeta().GetErr(),
		})
		if err != nil { // a message that is made here can be encoded
			return
		}
		t.status = appendCreatedAt(protowire.AppendBytes(protowire.AppendTag(nil, fieldUpdateStatus, protowire.BytesType), raw), t.received)
	})
	return t.status
}

// encodeShared makes the fields transaction and created_at of a SubscribeUpdate and returns them,
// and the transaction among them.
func encodeShared(raw []byte, received time.Time) (all, transaction []byte) {
	const room = 32 // tags, lengths and the time
	all = protowire.AppendTag(make([]byte, 0, len(raw)+room), fieldUpdateTransaction, protowire.BytesType)
	all = protowire.AppendBytes(all, raw)
	transaction = all[len(all)-len(raw) : len(all) : len(all)]
	return appendCreatedAt(all, received), transaction
}

// appendCreatedAt appends the time of an update, where it is known.
func appendCreatedAt(update []byte, at time.Time) []byte {
	if at.IsZero() {
		return update
	}
	raw, err := goproto.Marshal(timestamppb.New(at))
	if err != nil { // a Timestamp that is made of a time can be encoded
		return update
	}
	return protowire.AppendBytes(protowire.AppendTag(update, fieldUpdateCreatedAt, protowire.BytesType), raw)
}

// codec is protobuf's, and passes on what is encoded already.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if ready, ok := v.(mem.BufferSlice); ok {
		return ready, nil
	}
	return c.CodecV2.Marshal(v)
}
