package demo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mintlake/mintlake/testworld/chain"
)

func testDeps() Deps {
	return Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
}

// byteText is a base64 text in a JSON answer.
type byteText string

func (b byteText) bytes(t testing.TB) []byte {
	t.Helper()
	out, err := base64.StdEncoding.DecodeString(string(b))
	require.NoError(t, err)
	return out
}

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

// start runs a node for the test and stops it at its end.
func start(t testing.TB, cfg Config) *Node {
	t.Helper()
	n, err := New(cfg, testDeps())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(hang):
			t.Error("the node did not stop")
		}
	})
	wait, stop := context.WithTimeout(ctx, hang)
	defer stop()
	require.NoError(t, n.WaitReady(wait))
	return n
}

func dial(t testing.TB, n *Node) pb.GeyserClient {
	t.Helper()
	conn, err := grpc.NewClient(n.GeyserAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewGeyserClient(conn)
}

// call posts one JSON-RPC request and decodes its result into out; it returns the error object, if
// any.
func call(t testing.TB, n *Node, out any, method string, params ...any) map[string]any {
	t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(t, err)
	resp, err := http.Post(n.RPCURL(), "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var r struct {
		Result json.RawMessage
		Error  map[string]any
	}
	require.NoError(t, json.Unmarshal(raw, &r), string(raw))
	if r.Error != nil {
		return r.Error
	}
	if out != nil {
		require.NoError(t, json.Unmarshal(r.Result, out), string(raw))
	}
	return nil
}

func testConfig() Config {
	return Config{Seed: 3, TPS: 400, Tokens: 40, Wallets: 32, Manual: true, ForkRate: 0.1, SkipRate: 0.1, StartSlot: 1000}
}

func TestBlocksOverGeyserEqualGetBlock(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(60))
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	st, err := dial(t, n).Subscribe(ctx)
	require.NoError(t, err)
	from, level := uint64(1000), pb.CommitmentLevel_CONFIRMED
	require.NoError(t, st.Send(&pb.SubscribeRequest{FromSlot: &from, Commitment: &level,
		Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"all": {}}}))
	parent := uint64(999)
	var seen []uint64
	for range 20 {
		u, err := st.Recv()
		require.NoError(t, err)
		b := u.GetBlock()
		require.NotNil(t, b)
		require.Equal(t, []string{"all"}, u.GetFilters())
		require.Equal(t, parent, b.GetParentSlot(), "the parents form one chain")
		parent = b.GetSlot()
		seen = append(seen, b.GetSlot())
		var got struct {
			Blockhash    string
			Transactions []struct{ Transaction []string }
		}
		require.Nil(t, call(t, n, &got, "getBlock", b.GetSlot(), map[string]any{"encoding": "base64", "maxSupportedTransactionVersion": 1, "commitment": "confirmed"}))
		require.Equal(t, b.GetBlockhash(), got.Blockhash)
		require.Len(t, got.Transactions, len(b.GetTransactions()))
	}
	var listed []uint64
	require.Nil(t, call(t, n, &listed, "getBlocks", 1000, parent, map[string]any{"commitment": "confirmed"}))
	require.Equal(t, listed, seen)
}

func TestAccountsAreReadAtTheirCommitment(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(50))
	var out struct {
		Context struct{ Slot uint64 }
		Value   []*struct {
			Data  []string
			Owner string
			Space int
		}
	}
	usdc := chain.USDCMint.String()
	require.Nil(t, call(t, n, &out, "getMultipleAccounts", []string{usdc, chain.MetadataAddress(chain.USDCMint).String(), "11111111111111111111111111111112"},
		map[string]any{"encoding": "base64", "commitment": "confirmed"}))
	require.Len(t, out.Value, 3)
	require.Equal(t, 82, out.Value[0].Space)
	require.Equal(t, 607, out.Value[1].Space)
	require.Nil(t, out.Value[2])
	var slot uint64
	require.Nil(t, call(t, n, &slot, "getSlot", map[string]any{"commitment": "confirmed"}))
	require.Equal(t, slot, out.Context.Slot)
}
