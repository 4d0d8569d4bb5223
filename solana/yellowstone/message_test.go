package yellowstone_test

import (
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// TestVersions: the version is told from what is there. An empty config is a config.
func TestVersions(t *testing.T) {
	fee := uint64(7)
	for _, want := range []txwire.Transaction{
		{Version: txwire.Legacy},
		{Version: txwire.V0, Lookups: []txwire.Lookup{{Table: make([]byte, 32), Writable: []byte{3}}}},
		{Version: txwire.V0},
		{Version: txwire.V1},
		{Version: txwire.V1, Config: txwire.Config{PriorityFee: &fee}},
	} {
		want.Signatures, want.Keys, want.Lifetime = [][]byte{make([]byte, 64)}, [][]byte{make([]byte, 32)}, make([]byte, 32)
		want.Header = txwire.Header{Signers: 1}
		raw, err := proto.Marshal(yellowstone.TransactionOf(&want))
		require.NoError(t, err)
		var got pb.Transaction
		require.NoError(t, proto.Unmarshal(raw, &got))
		require.Equal(t, want.Version, yellowstone.VersionOf(got.GetMessage()))
		require.Equal(t, want.Config, yellowstone.ConfigOf(got.GetMessage()))
		require.Len(t, got.GetMessage().GetAddressTableLookups(), len(want.Lookups))
	}
}
