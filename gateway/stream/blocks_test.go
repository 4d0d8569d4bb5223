package stream

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// jsonBlock is what getBlock answers with encoding base64: what filters look at.
type jsonBlock struct {
	Transactions []struct {
		Transaction [2]string
		Meta        struct {
			Err               any
			LoadedAddresses   struct{ Writable, Readonly solana.PublicKeySlice }
			PreTokenBalances  []jsonBlockBalance
			PostTokenBalances []jsonBlockBalance
			LogMessages       []string
		}
	}
}

type jsonBlockBalance struct {
	AccountIndex  uint32
	Mint, Owner   string
	UITokenAmount struct{ Amount string } `json:"uiTokenAmount"`
}

// readJSONBlock reads a block as Geyser would stream it.
func readJSONBlock(t testing.TB, path string, slot uint64) (list []*pb.SubscribeUpdateTransaction) {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		unzip, err := gzip.NewReader(bytes.NewReader(raw))
		require.NoError(t, err)
		raw, err = io.ReadAll(unzip)
		require.NoError(t, err)
	}
	var answer struct{ Result *jsonBlock }
	require.NoError(t, json.Unmarshal(raw, &answer))
	block := answer.Result
	if block == nil {
		require.NoError(t, json.Unmarshal(raw, &block))
	}
	for i, x := range block.Transactions {
		wire, err := base64.StdEncoding.DecodeString(x.Transaction[0])
		require.NoError(t, err)
		var tx txwire.Transaction
		require.NoError(t, tx.Parse(wire))
		vote := slices.ContainsFunc(tx.Keys, func(key []byte) bool { return bytes.Equal(key, solana.VoteProgramID[:]) })
		meta := &pb.TransactionStatusMeta{LogMessages: x.Meta.LogMessages,
			PreTokenBalances: balancesOf(x.Meta.PreTokenBalances), PostTokenBalances: balancesOf(x.Meta.PostTokenBalances)}
		for _, k := range x.Meta.LoadedAddresses.Writable {
			meta.LoadedWritableAddresses = append(meta.LoadedWritableAddresses, k.Bytes())
		}
		for _, k := range x.Meta.LoadedAddresses.Readonly {
			meta.LoadedReadonlyAddresses = append(meta.LoadedReadonlyAddresses, k.Bytes())
		}
		if x.Meta.Err != nil {
			meta.Err = &pb.TransactionError{Err: []byte{0, 0, 0, 0}}
		}
		list = append(list, &pb.SubscribeUpdateTransaction{Slot: slot, Transaction: &pb.SubscribeUpdateTransactionInfo{
			Signature: tx.Signatures[0], IsVote: vote, Index: uint64(i), Meta: meta, Transaction: yellowstone.TransactionOf(&tx),
		}})
	}
	return list
}

func balancesOf(list []jsonBlockBalance) (out []*pb.TokenBalance) {
	for _, b := range list {
		out = append(out, &pb.TokenBalance{AccountIndex: b.AccountIndex, Mint: b.Mint, Owner: b.Owner,
			UiTokenAmount: &pb.UiTokenAmount{Amount: b.UITokenAmount.Amount}})
	}
	return out
}

// recorded is what realTransactions has read: it takes seconds.
var recorded []*pb.SubscribeUpdateTransaction

// realTransactions are those of the recorded mainnet blocks.
func realTransactions(t testing.TB) []*pb.SubscribeUpdateTransaction {
	t.Helper()
	if recorded == nil {
		list := block(t)
		for _, slot := range []uint64{361774429, 254170887} {
			list = append(list, readJSONBlock(t, testkit.Shared(t, fmt.Sprintf("data/blocks/%d.json.gz", slot)), slot)...)
		}
		for _, x := range list {
			for _, k := range x.Transaction.Transaction.Message.AccountKeys {
				x.Transaction.IsVote = x.Transaction.IsVote || bytes.Equal(k, solana.VoteProgramID.Bytes())
			}
		}
		recorded = list
	}
	return slices.Clone(recorded)
}

// demoTransactions are those of some slots of the demo chain.
func demoTransactions(t testing.TB, slots uint64) (list []*pb.SubscribeUpdateTransaction) {
	t.Helper()
	dir := t.TempDir()
	const first = uint64(400_000_000)
	_, err := demo.WriteBlocks(dir, demo.Config{Seed: 7, TPS: 50, Tokens: 200, Wallets: 1000, StartSlot: first}, first, first+slots-1)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	slices.Sort(files)
	for i, file := range files {
		list = append(list, readJSONBlock(t, file, first+uint64(i))...)
	}
	require.NotEmpty(t, list)
	return list
}
