package yellowstone

import (
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/encoding/protowire"
)

// fieldRewardType is a field of our own in Reward: the name of a type that has no number. It is far
// above the fields of the protocol. Readers that do not know it skip it. Without it, the name would
// be lost: JSON-RPC names types, the protocol numbers them.
const fieldRewardType protowire.Number = 20_000

// maxRewardType bounds the name of a reward's type, in bytes.
const maxRewardType = 64

// SetRewardType sets the type of a reward by the name that nodes write in JSON: the number of the
// type or, for a name that the protocol does not number, the name itself, up to 64 bytes.
func SetRewardType(r *pb.Reward, name string) {
	number, known := pb.RewardType_value[name]
	r.RewardType = pb.RewardType(number)
	if known || name == "" {
		return
	}
	field := protowire.AppendTag(nil, fieldRewardType, protowire.BytesType)
	field = protowire.AppendString(field, name[:min(len(name), maxRewardType)])
	r.ProtoReflect().SetUnknown(append(r.ProtoReflect().GetUnknown(), field...))
}
