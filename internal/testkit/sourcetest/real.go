package sourcetest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/testworld/geyser"
)

// voteProgram marks the transactions that Geyser flags as votes.
const voteProgram = "Vote111111111111111111111111111111111111111"

// RealBlock is a recorded mainnet block with everything that a node knows of it, as Geyser streams
// it.
type RealBlock struct {
	*pb.SubscribeUpdateBlock
	// File is the content of the recorded file, decompressed: JSON, or ConfirmedBlock if Proto is
	// set.
	File  []byte
	Proto bool
	// Votes is how many of the transactions are votes.
	Votes int
}

// realBlocks are what RealBlocks has made.
var realBlocks struct {
	sync.Mutex
	made []RealBlock
}

// RealBlocks returns the whole blocks of the shared recordings, in slot order. Libraries of others
// parse the recordings, so tests can compare our own parsers with the result. The blocks are made
// once, because that takes seconds. Callers must not change them.
func RealBlocks(t testing.TB) []RealBlock {
	t.Helper()
	realBlocks.Lock()
	defer realBlocks.Unlock()
	if realBlocks.made == nil { // still nil if a test failed while it made them
		realBlocks.made = []RealBlock{
			realJSON(t, "data/blocks/254170887.json.gz", 254170887),
			realProto(t, "data/blocks/332254855.confirmedblock.pb", 332254855),
			realJSON(t, "data/blocks/361774429.json.gz", 361774429),
		}
	}
	return slices.Clone(realBlocks.made)
}

// with returns a copy of the block with other transactions.
func (b RealBlock) with(transactions []*pb.SubscribeUpdateTransactionInfo) RealBlock {
	all := b.SubscribeUpdateBlock
	b.SubscribeUpdateBlock = &pb.SubscribeUpdateBlock{
		Slot: all.Slot, Blockhash: all.Blockhash, ParentSlot: all.ParentSlot, ParentBlockhash: all.ParentBlockhash, BlockTime: all.BlockTime,
		BlockHeight: all.BlockHeight, Rewards: all.Rewards, ExecutedTransactionCount: all.ExecutedTransactionCount, Transactions: transactions,
	}
	return b
}

func realProto(t testing.TB, rel string, slot uint64) RealBlock {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, rel))
	require.NoError(t, err)
	var stored pb.ConfirmedBlock
	require.NoError(t, proto.Unmarshal(data, &stored))
	b := RealBlock{File: data, Proto: true, SubscribeUpdateBlock: &pb.SubscribeUpdateBlock{
		Slot: slot, Blockhash: stored.Blockhash, ParentSlot: stored.ParentSlot, ParentBlockhash: stored.PreviousBlockhash, BlockTime: stored.BlockTime,
		BlockHeight: stored.BlockHeight, Rewards: &pb.Rewards{Rewards: stored.Rewards}, ExecutedTransactionCount: uint64(len(stored.Transactions)),
	}}
	for _, tx := range stored.Transactions {
		b.add(tx.Transaction, tx.Meta)
	}
	return b
}

// add appends a transaction. It marks it as a vote by the rule of Solana's nodes: a legacy
// transaction with one or two signatures, whose only instruction calls the vote program.
func (b *RealBlock) add(tx *pb.Transaction, meta *pb.TransactionStatusMeta) {
	m := tx.Message
	vote := !m.Versioned && len(tx.Signatures) < 3 && len(m.Instructions) == 1 &&
		base58.Encode(m.AccountKeys[m.Instructions[0].ProgramIdIndex]) == voteProgram
	if vote {
		b.Votes++
	}
	b.Transactions = append(b.Transactions, &pb.SubscribeUpdateTransactionInfo{
		Signature: tx.Signatures[0], IsVote: vote, Transaction: tx, Meta: meta, Index: uint64(len(b.Transactions)),
	})
}

// Confirmed returns the block as solana.storage.ConfirmedBlock.
func (b RealBlock) Confirmed() *pb.ConfirmedBlock { return geyser.Confirmed(b.SubscribeUpdateBlock) }

// jsonBlock is a getBlock result.
type jsonBlock struct {
	Blockhash, PreviousBlockhash string
	ParentSlot, BlockHeight      uint64
	BlockTime                    int64
	Rewards                      []jsonReward
	Transactions                 []struct {
		Transaction [2]string
		Meta        jsonMeta
	}
}

type jsonReward struct {
	Pubkey      string
	Lamports    int64
	PostBalance uint64
	RewardType  string
}

type jsonMeta struct {
	Err                                 any
	Fee                                 uint64
	PreBalances, PostBalances           []uint64
	LogMessages                         []string
	PreTokenBalances, PostTokenBalances []jsonBalance
	InnerInstructions                   []struct {
		Index        uint32
		Instructions []struct {
			ProgramIDIndex uint32 `json:"programIdIndex"`
			Accounts       []int
			Data           string
			StackHeight    *uint32
		}
	}
	LoadedAddresses      struct{ Writable, Readonly []string }
	ComputeUnitsConsumed *uint64
	ReturnData           *struct {
		ProgramID string `json:"programId"`
		Data      [2]string
	}
}

type jsonBalance struct {
	AccountIndex  uint32
	Mint          string
	Owner         string
	ProgramID     string `json:"programId"`
	UITokenAmount struct {
		Amount         string
		Decimals       uint32
		UIAmount       float64 `json:"uiAmount"`
		UIAmountString string  `json:"uiAmountString"`
	} `json:"uiTokenAmount"`
}

func realJSON(t testing.TB, rel string, slot uint64) RealBlock {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, rel))
	require.NoError(t, err)
	if strings.HasSuffix(rel, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		data, err = io.ReadAll(z)
		require.NoError(t, err)
	}
	var in jsonBlock
	require.NoError(t, json.Unmarshal(data, &in))
	b := RealBlock{File: data, SubscribeUpdateBlock: &pb.SubscribeUpdateBlock{
		Slot: slot, Blockhash: in.Blockhash, ParentSlot: in.ParentSlot, ParentBlockhash: in.PreviousBlockhash,
		BlockTime: &pb.UnixTimestamp{Timestamp: in.BlockTime}, BlockHeight: &pb.BlockHeight{BlockHeight: in.BlockHeight},
		Rewards: &pb.Rewards{}, ExecutedTransactionCount: uint64(len(in.Transactions)),
	}}
	for _, r := range in.Rewards {
		b.Rewards.Rewards = append(b.Rewards.Rewards, &pb.Reward{
			Pubkey: r.Pubkey, Lamports: r.Lamports, PostBalance: r.PostBalance, RewardType: pb.RewardType_Fee,
		})
	}
	for _, tx := range in.Transactions {
		wire, err := base64.StdEncoding.DecodeString(tx.Transaction[0])
		require.NoError(t, err)
		b.add(wireTransaction(t, wire), tx.Meta.proto(t))
	}
	return b
}

func wireTransaction(t testing.TB, wire []byte) *pb.Transaction {
	t.Helper()
	tx, err := solana.TransactionFromDecoder(bin.NewBinDecoder(wire))
	require.NoError(t, err)
	out := &pb.Transaction{}
	for _, s := range tx.Signatures {
		out.Signatures = append(out.Signatures, bytes.Clone(s[:]))
	}
	m := &tx.Message
	out.Message = &pb.Message{
		Header: &pb.MessageHeader{
			NumRequiredSignatures: uint32(m.Header.NumRequiredSignatures), NumReadonlySignedAccounts: uint32(m.Header.NumReadonlySignedAccounts),
			NumReadonlyUnsignedAccounts: uint32(m.Header.NumReadonlyUnsignedAccounts),
		},
		RecentBlockhash: bytes.Clone(m.RecentBlockhash[:]), Versioned: m.IsVersioned(),
	}
	for _, k := range m.AccountKeys {
		out.Message.AccountKeys = append(out.Message.AccountKeys, bytes.Clone(k[:]))
	}
	for _, ins := range m.Instructions {
		accounts := make([]byte, 0, len(ins.Accounts))
		for _, a := range ins.Accounts {
			accounts = append(accounts, byte(a))
		}
		out.Message.Instructions = append(out.Message.Instructions, &pb.CompiledInstruction{
			ProgramIdIndex: uint32(ins.ProgramIDIndex), Accounts: accounts, Data: ins.Data,
		})
	}
	for _, l := range m.AddressTableLookups {
		out.Message.AddressTableLookups = append(out.Message.AddressTableLookups, &pb.MessageAddressTableLookup{
			AccountKey: bytes.Clone(l.AccountKey[:]), WritableIndexes: l.WritableIndexes, ReadonlyIndexes: l.ReadonlyIndexes,
		})
	}
	return out
}

func (m *jsonMeta) proto(t testing.TB) *pb.TransactionStatusMeta {
	t.Helper()
	out := &pb.TransactionStatusMeta{
		Fee: m.Fee, PreBalances: m.PreBalances, PostBalances: m.PostBalances, LogMessages: m.LogMessages,
		PreTokenBalances: balances(m.PreTokenBalances), PostTokenBalances: balances(m.PostTokenBalances),
		LoadedWritableAddresses: keys(t, m.LoadedAddresses.Writable), LoadedReadonlyAddresses: keys(t, m.LoadedAddresses.Readonly),
		ComputeUnitsConsumed: m.ComputeUnitsConsumed, ReturnDataNone: m.ReturnData == nil,
	}
	if m.Err != nil {
		// This is bincode of an InstructionError. It does not matter which one.
		out.Err = &pb.TransactionError{Err: []byte{8, 0, 0, 0, 3, 25, 0, 0, 0}}
	}
	if m.ReturnData != nil {
		data, err := base64.StdEncoding.DecodeString(m.ReturnData.Data[0])
		require.NoError(t, err)
		out.ReturnData = &pb.ReturnData{ProgramId: keys(t, []string{m.ReturnData.ProgramID})[0], Data: data}
	}
	for _, group := range m.InnerInstructions {
		list := &pb.InnerInstructions{Index: group.Index}
		for _, ins := range group.Instructions {
			data, err := base58.Decode(ins.Data)
			require.NoError(t, err)
			accounts := make([]byte, 0, len(ins.Accounts))
			for _, a := range ins.Accounts {
				accounts = append(accounts, byte(a))
			}
			list.Instructions = append(list.Instructions, &pb.InnerInstruction{
				ProgramIdIndex: ins.ProgramIDIndex, Accounts: accounts, Data: data, StackHeight: ins.StackHeight,
			})
		}
		out.InnerInstructions = append(out.InnerInstructions, list)
	}
	return out
}

func balances(in []jsonBalance) (out []*pb.TokenBalance) {
	for _, b := range in {
		out = append(out, &pb.TokenBalance{
			AccountIndex: b.AccountIndex, Mint: b.Mint, Owner: b.Owner, ProgramId: b.ProgramID,
			UiTokenAmount: &pb.UiTokenAmount{
				UiAmount: b.UITokenAmount.UIAmount, Decimals: b.UITokenAmount.Decimals, Amount: b.UITokenAmount.Amount, UiAmountString: b.UITokenAmount.UIAmountString,
			},
		})
	}
	return out
}

func keys(t testing.TB, texts []string) (out [][]byte) {
	t.Helper()
	for _, text := range texts {
		raw, err := base58.Decode(text)
		require.NoError(t, err)
		out = append(out, raw)
	}
	return out
}
