package demo

import (
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
)

// BenchmarkNodeToSubscriber is the whole way: generate, execute, sign, keep, convert, marshal,
// receive and unmarshal.
func BenchmarkNodeToSubscriber(b *testing.B) {
	cfg := testConfig()
	cfg.TPS, cfg.Wallets, cfg.ForkRate, cfg.SkipRate = 20_000, 512, 0, 0
	cfg.ledger.Transactions = 50_000
	n := start(b, cfg)
	st, err := dial(b, n).Subscribe(b.Context())
	require.NoError(b, err)
	require.NoError(b, n.Step(1))
	from := uint64(1000)
	require.NoError(b, st.Send(&pb.SubscribeRequest{FromSlot: &from, Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"all": {}}}))
	_, err = st.Recv()
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	made := make(chan error, 1)
	got, sent := 0, 0
	for got < b.N {
		for ; sent < 4; sent++ { // a few blocks in flight, so that both ends work
			go func() { made <- n.Step(1) }()
			require.NoError(b, <-made)
		}
		u, err := st.Recv()
		require.NoError(b, err)
		if blk := u.GetBlock(); blk != nil {
			got += len(blk.GetTransactions())
			sent--
		}
	}
	b.ReportMetric(float64(got)/b.Elapsed().Seconds(), "tx/s")
}
