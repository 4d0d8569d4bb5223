package yellowstone_test

import (
	"strings"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/solana/yellowstone"
)

func with[M proto.Message](m M, number protowire.Number) M {
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), 1))
	return m
}

// TestUnknownField: an unknown field is named wherever it lies, by its number, and a refused one by
// its name.
func TestUnknownField(t *testing.T) {
	refused := yellowstone.Refused{
		"geyser.SubscribeRequestFilterTransactions.cuckoo_account_include", "geyser.SubscribeRequestFilterTransactions.token_accounts",
		"geyser.SubscribeRequestFilterBlocks.cuckoo_account_include",
	}
	memcmp := &pb.SubscribeRequestFilterAccountsFilter{Filter: &pb.SubscribeRequestFilterAccountsFilter_Memcmp{
		Memcmp: with(&pb.SubscribeRequestFilterAccountsFilterMemcmp{}, 9)}}
	for want, request := range map[string]*pb.SubscribeRequest{
		"field 99 of SubscribeRequest is not supported": with(&pb.SubscribeRequest{}, 99),
		`transactions "a": cuckoo_account_include (field 7) of SubscribeRequestFilterTransactions`: {
			Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"a": {CuckooAccountInclude: &pb.CuckooFilter{}}}},
		"token_accounts (field 30)": {
			Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"a": {}, "b": {TokenAccounts: pb.TokenAccountExpansionControlFlag_ALL.Enum()}}},
		`blocks "a": cuckoo_account_include (field 5)`: {Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"a": {CuckooAccountInclude: &pb.CuckooFilter{}}}},
		`accounts "a": filters[0]: memcmp: field 9`: {Accounts: map[string]*pb.SubscribeRequestFilterAccounts{
			"a": {Filters: []*pb.SubscribeRequestFilterAccountsFilter{memcmp}}}},
		`slots "aaaa`: {Slots: map[string]*pb.SubscribeRequestFilterSlots{strings.Repeat("a", 9999): with(&pb.SubscribeRequestFilterSlots{}, 9)}},
		"ping: field": {Ping: with(&pb.SubscribeRequestPing{}, 3)},
	} {
		raw, err := proto.Marshal(request)
		require.NoError(t, err)
		var read pb.SubscribeRequest
		require.NoError(t, proto.Unmarshal(raw, &read))
		err = refused.UnknownField(&read)
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 200)
	}
	yes, slot, level := true, uint64(3), pb.CommitmentLevel_CONFIRMED
	require.NoError(t, refused.UnknownField(&pb.SubscribeRequest{
		Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"a": {Vote: &yes, AccountInclude: []string{"x"}}},
		Commitment:   &level, FromSlot: &slot, AccountsDataSlice: []*pb.SubscribeRequestAccountsDataSlice{{Offset: 1}},
	}))
}
