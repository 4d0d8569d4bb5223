package demo

import (
	"net/http"
	"strings"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/testworld/chain"
)

func TestPagesAreTheProgramsAccounts(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(10))
	type account struct{ Pubkey string }
	var whole, paged []account
	require.Nil(t, call(t, n, &whole, "getProgramAccounts", chain.TokenProgram.String(), opt("encoding", "base64")))
	var key *string
	for {
		var page struct {
			Value struct {
				Accounts      []account
				PaginationKey *string
			}
		}
		require.Nil(t, call(t, n, &page, "getProgramAccountsV2", chain.TokenProgram.String(),
			opt("encoding", "base64", "withContext", true, "limit", 7, "paginationKey", key)))
		require.LessOrEqual(t, len(page.Value.Accounts), 7)
		paged = append(paged, page.Value.Accounts...)
		if key = page.Value.PaginationKey; key == nil {
			break
		}
	}
	require.Greater(t, len(whole), 14)
	require.Equal(t, whole, paged)
	require.Equal(t, -32602, code(call(t, n, nil, "getProgramAccountsV2", chain.TokenProgram.String(), opt("encoding", "base64", "limit", 0))))
	require.Equal(t, -32602, code(call(t, n, nil, "getProgramAccountsV2", chain.TokenProgram.String(), opt("encoding", "base64", "paginationKey", "x"))))
}

func TestACrippledNode(t *testing.T) {
	cfg := testConfig()
	cfg.WithoutAccountFilters, cfg.WithoutPages, cfg.RPCRate = true, true, 2
	n := start(t, cfg)
	require.NoError(t, n.Step(5))
	require.Equal(t, -32601, code(call(t, n, nil, "getProgramAccountsV2", chain.TokenProgram.String(), opt("encoding", "base64"))))
	refused := 0
	for range 20 {
		resp, err := http.Post(n.RPCURL(), "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"getSlot"}`))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		if resp.StatusCode == http.StatusTooManyRequests {
			require.Equal(t, "1", resp.Header.Get("Retry-After"))
			refused++
		}
	}
	require.Greater(t, refused, 10)
	st := subscribe(t, n, &pb.SubscribeRequest{Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"b": {AccountInclude: []string{chain.TokenProgram.String()}}}})
	_, err := st.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	st = subscribe(t, n, &pb.SubscribeRequest{Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"b": {}}})
	require.NoError(t, n.Step(60))
	require.NotNil(t, next(t, st).GetBlock(), "without accounts it filters")
}
