package stream

import (
	"fmt"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
)

// readNewer reads what clients of yellowstone-grpc-proto 12.6 and later may add to a filter: a
// compressed list of addresses, and that owners of token accounts count as accounts.
func (f *filter) readNewer(in *pb.SubscribeRequestFilterTransactions) (err error) {
	if flag := in.TokenAccounts; flag != nil {
		switch *flag {
		case pb.TokenAccountExpansionControlFlag_ALL:
			f.owners = ownersAll
		case pb.TokenAccountExpansionControlFlag_BALANCE_CHANGED:
			f.owners = ownersChanged
		default:
			return fmt.Errorf("token_accounts %d: must be ALL (0) or BALANCE_CHANGED (1)", *flag)
		}
	}
	if list := in.GetCuckooAccountInclude(); list != nil {
		if f.cuckoo, err = readCuckoo(list); err != nil {
			return fmt.Errorf("cuckoo_account_include: %w", err)
		}
	}
	return nil
}
