package yellowstone

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// RawCodec receives messages as *[]byte, without decoding them. So the receiver, not gRPC, decides
// what to do with a message that does not parse.
type RawCodec struct{}

// Name implements encoding.CodecV2.
func (RawCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (RawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("marshal %T: no protobuf message", v)
	}
	data, err := proto.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}

// Unmarshal implements encoding.CodecV2.
func (RawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	switch to := v.(type) {
	case *[]byte:
		*to = data.Materialize()
		return nil
	case proto.Message:
		return proto.Unmarshal(data.Materialize(), to)
	}
	return fmt.Errorf("unmarshal into %T", v)
}
