package stream

import (
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	goproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Fields of SubscribeUpdate that are the same for all subscribers.
const fieldUpdateTransaction, fieldUpdateCreatedAt = 4, 11

// update is the SubscribeUpdate of a delivery, encoded: the filters' names, which are the
// subscriber's, and the rest, which is shared.
func (d delivery) update() mem.BufferSlice {
	head := d.wants[0].head
	if len(d.wants) > 1 {
		head = nil
		for _, e := range d.wants {
			head = append(head, e.head...)
		}
	}
	return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(d.tx.grpc)}
}

// encodeShared makes the fields transaction and created_at of a SubscribeUpdate and returns them,
// and the transaction among them.
func encodeShared(raw []byte, received time.Time) (all, transaction []byte) {
	const room = 32 // tags, lengths and the time
	all = protowire.AppendTag(make([]byte, 0, len(raw)+room), fieldUpdateTransaction, protowire.BytesType)
	all = protowire.AppendBytes(all, raw)
	transaction = all[len(all)-len(raw) : len(all) : len(all)]
	if received.IsZero() {
		return all, transaction
	}
	// A Timestamp that is made of a time can be encoded.
	if at, err := goproto.Marshal(timestamppb.New(received)); err == nil {
		all = protowire.AppendTag(all, fieldUpdateCreatedAt, protowire.BytesType)
		all = protowire.AppendBytes(all, at)
	}
	return all, transaction
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
