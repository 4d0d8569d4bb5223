package stream

import (
	"errors"
	"fmt"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of SubscribeRequestFilterTransactions that newer clients send and that the Go package
// lacks (geyser.proto of the crate yellowstone-grpc-proto from 12.6 on).
const (
	fieldFilterCuckooInclude protowire.Number = 7
	fieldFilterTokenAccounts protowire.Number = 30
)

// Values of the enum TokenAccountExpansionControlFlag.
const (
	tokenAccountsAll     = 0
	tokenAccountsChanged = 1
)

// readNewer reads the newer fields that this stream understands and removes them from the message's
// unknown fields. yellowstone.UnknownField then refuses those that are left, by name.
func (f *filter) readNewer(in *pb.SubscribeRequestFilterTransactions) error {
	unknown := in.ProtoReflect().GetUnknown()
	if len(unknown) == 0 {
		return nil
	}
	var cuckoo, rest []byte
	hasCuckoo := false
	for len(unknown) > 0 {
		field, kind, n := protowire.ConsumeTag(unknown)
		if n < 0 {
			return errors.New("malformed message")
		}
		m := protowire.ConsumeFieldValue(field, kind, unknown[n:])
		if m < 0 {
			return errors.New("malformed message")
		}
		value := unknown[n : n+m]
		switch {
		case field == fieldFilterCuckooInclude && kind == protowire.BytesType:
			// A field that comes more than once is merged, as protobuf demands: its parts are
			// concatenated.
			part, _ := protowire.ConsumeBytes(value)
			cuckoo, hasCuckoo = append(cuckoo, part...), true
		case field == fieldFilterTokenAccounts && kind == protowire.VarintType:
			flag, _ := protowire.ConsumeVarint(value)
			switch flag {
			case tokenAccountsAll:
				f.owners = ownersAll
			case tokenAccountsChanged:
				f.owners = ownersChanged
			default:
				return fmt.Errorf("token_accounts %d: must be ALL (0) or BALANCE_CHANGED (1)", flag)
			}
		default:
			rest = append(rest, unknown[:n+m]...)
		}
		unknown = unknown[n+m:]
	}
	in.ProtoReflect().SetUnknown(rest)
	if !hasCuckoo {
		return nil
	}
	var err error
	if f.cuckoo, err = readCuckoo(cuckoo); err != nil {
		return fmt.Errorf("cuckoo_account_include: %w", err)
	}
	return nil
}
