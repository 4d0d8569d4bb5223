package geyser

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/solana/yellowstone"
	"github.com/mintlake/mintlake/testworld/chain"
)

// converted is a block in protobuf form. It is made once and shared by all subscribers, who must
// not change it.
type converted struct {
	block *chain.Block
	txs   []*pb.SubscribeUpdateTransactionInfo
	keys  [][]chain.Key
}

// convertBlock makes the protocol's form of the block's transactions, for all subscribers to share.
func convertBlock(b *chain.Block) *converted {
	c := &converted{block: b, txs: make([]*pb.SubscribeUpdateTransactionInfo, len(b.Txs)), keys: make([][]chain.Key, len(b.Txs))}
	for i, tx := range b.Txs {
		c.keys[i] = tx.Message.AccountKeys()
		c.txs[i] = &pb.SubscribeUpdateTransactionInfo{Signature: tx.Signatures[0][:], IsVote: tx.Vote, Transaction: yellowstone.TransactionOf(tx.Parts()),
			Meta: convertMeta(tx), Index: uint64(i)}
	}
	return c
}

func keyBytes(keys []chain.Key) [][]byte {
	out := make([][]byte, len(keys))
	for i := range keys {
		out[i] = keys[i][:]
	}
	return out
}

func convertMeta(tx *chain.Tx) *pb.TransactionStatusMeta {
	m := &tx.Meta
	units := m.ComputeUnits
	out := &pb.TransactionStatusMeta{Fee: m.Fee, PreBalances: m.Pre, PostBalances: m.Post, LogMessages: m.Logs,
		LoadedWritableAddresses: keyBytes(tx.Message.LoadedWritable), LoadedReadonlyAddresses: keyBytes(tx.Message.LoadedReadonly),
		PreTokenBalances: convertTokens(m.PreTokens), PostTokenBalances: convertTokens(m.PostTokens), ComputeUnitsConsumed: &units,
		ReturnDataNone: m.ReturnData == nil}
	if m.Err != nil {
		out.Err = &pb.TransactionError{Err: m.Err.Bincode()}
	}
	if m.ReturnData != nil {
		out.ReturnData = &pb.ReturnData{ProgramId: m.ReturnProgram[:], Data: m.ReturnData}
	}
	for i := range m.Inner {
		in := &m.Inner[i]
		list := make([]*pb.InnerInstruction, len(in.Instructions))
		for j := range in.Instructions {
			ix := &in.Instructions[j]
			height := ix.StackHeight
			list[j] = &pb.InnerInstruction{ProgramIdIndex: uint32(ix.Program), Accounts: ix.Accounts, Data: ix.Data, StackHeight: &height}
		}
		out.InnerInstructions = append(out.InnerInstructions, &pb.InnerInstructions{Index: uint32(in.Index), Instructions: list})
	}
	return out
}

func convertTokens(list []chain.TokenBalance) []*pb.TokenBalance {
	out := make([]*pb.TokenBalance, len(list))
	for i, b := range list {
		text := chain.UIAmount(b.Amount, b.Decimals)
		out[i] = &pb.TokenBalance{AccountIndex: uint32(b.Index), Mint: b.Mint.String(), Owner: b.Owner.String(), ProgramId: b.Program.String(),
			UiTokenAmount: &pb.UiTokenAmount{UiAmount: chain.UIFloat(b.Amount, b.Decimals), Decimals: uint32(b.Decimals),
				Amount: chain.UIAmount(b.Amount, 0), UiAmountString: text}}
	}
	return out
}

func rewards(b *chain.Block) *pb.Rewards {
	return &pb.Rewards{Rewards: []*pb.Reward{{Pubkey: b.Leader.String(), Lamports: int64(b.LeaderReward()),
		PostBalance: b.LeaderReward(), RewardType: pb.RewardType_Fee}}}
}

func blockMeta(b *chain.Block) *pb.SubscribeUpdateBlockMeta {
	return &pb.SubscribeUpdateBlockMeta{Slot: b.Slot, Blockhash: b.Hash.String(), Rewards: rewards(b), BlockTime: &pb.UnixTimestamp{Timestamp: b.Time},
		BlockHeight: &pb.BlockHeight{BlockHeight: b.Height}, ParentSlot: b.Parent, ParentBlockhash: b.ParentHash.String(),
		ExecutedTransactionCount: uint64(len(b.Txs)), EntriesCount: uint64(b.Entries())}
}

// blockUpdate returns a block without its transactions, accounts and entries.
func blockUpdate(b *chain.Block) *pb.SubscribeUpdateBlock {
	m := blockMeta(b)
	u := &pb.SubscribeUpdateBlock{Slot: m.Slot, Blockhash: m.Blockhash, Rewards: m.Rewards, BlockTime: m.BlockTime, BlockHeight: m.BlockHeight,
		ParentSlot: m.ParentSlot, ParentBlockhash: m.ParentBlockhash, ExecutedTransactionCount: m.ExecutedTransactionCount,
		EntriesCount: m.EntriesCount}
	for _, tx := range b.Txs {
		u.UpdatedAccountCount += uint64(len(tx.Writes))
	}
	return u
}

// Update returns a block as a subscriber to whole blocks gets it, without accounts and entries. If
// keep is set, the block has only the transactions for which keep returns true.
func Update(b *chain.Block, keep func(*chain.Tx) bool) *pb.SubscribeUpdateBlock {
	u := blockUpdate(b)
	for i, tx := range convertBlock(b).txs {
		if keep == nil || keep(b.Txs[i]) {
			u.Transactions = append(u.Transactions, tx)
		}
	}
	return u
}

// Confirmed returns a block as the Bigtable of Solana's archives keeps it.
func Confirmed(b *pb.SubscribeUpdateBlock) *pb.ConfirmedBlock {
	out := &pb.ConfirmedBlock{PreviousBlockhash: b.ParentBlockhash, Blockhash: b.Blockhash, ParentSlot: b.ParentSlot, BlockTime: b.BlockTime,
		BlockHeight: b.BlockHeight, Rewards: b.Rewards.GetRewards()}
	for _, tx := range b.Transactions {
		out.Transactions = append(out.Transactions, &pb.ConfirmedTransaction{Transaction: tx.Transaction, Meta: tx.Meta})
	}
	return out
}

// AccountUpdates returns what the block's transactions wrote, as a subscriber to all accounts gets
// it.
func AccountUpdates(b *chain.Block) (out []*pb.SubscribeUpdateAccount) {
	for w := range writes(b) {
		out = append(out, &pb.SubscribeUpdateAccount{Account: w.info(), Slot: b.Slot})
	}
	return out
}

// entries splits the block's transactions into runs of chain.TxsPerEntry and ends with an empty
// tick entry that has the block hash. The other hashes are made up: the chain has no proof of
// history.
func entries(b *chain.Block) []*pb.SubscribeUpdateEntry {
	n := b.Entries()
	out := make([]*pb.SubscribeUpdateEntry, n)
	for i := range n {
		start := min(i*chain.TxsPerEntry, len(b.Txs))
		end := min(start+chain.TxsPerEntry, len(b.Txs))
		seed := binary.LittleEndian.AppendUint64(append([]byte(nil), b.Hash[:]...), uint64(i))
		hash := sha256.Sum256(seed)
		if i == n-1 {
			hash = b.Hash
		}
		out[i] = &pb.SubscribeUpdateEntry{Slot: b.Slot, Index: uint64(i), NumHashes: entryHashes, Hash: hash[:],
			ExecutedTransactionCount: uint64(end - start), StartingTransactionIndex: uint64(start)}
	}
	return out
}

// entryHashes is the number of hashes that every entry claims, as a mainnet tick once had.
const entryHashes = 12_500

// write is an account that a transaction wrote.
type write struct {
	chain.Write
	// version orders writes over the whole chain: the slot in the high bits, the number of the
	// write in its block, from 1, in the low 24.
	version   uint64
	signature chain.Signature
}

// writes visits what the block's transactions wrote, in their order.
func writes(b *chain.Block) iter.Seq[write] {
	return func(yield func(write) bool) {
		version := b.Slot << 24
		for _, tx := range b.Txs {
			for _, w := range tx.Writes {
				version++
				if !yield(write{w, version, tx.Signatures[0]}) {
					return
				}
			}
		}
	}
}

// lastWrites visits each account that the block wrote once, as the block left it, in the order of
// these last writes.
func lastWrites(b *chain.Block) iter.Seq[write] {
	last := map[chain.Key]uint64{}
	for w := range writes(b) {
		last[w.Key] = w.version
	}
	return func(yield func(write) bool) {
		for w := range writes(b) {
			if last[w.Key] == w.version && !yield(w) {
				return
			}
		}
	}
}

// info is the write as the protocol has it; a closed account appears with no lamports, owned by the
// system program.
func (w write) info() *pb.SubscribeUpdateAccountInfo {
	info := &pb.SubscribeUpdateAccountInfo{Pubkey: w.Key[:], Owner: chain.SystemProgram[:], RentEpoch: ^uint64(0), WriteVersion: w.version,
		TxnSignature: w.signature[:]}
	if a := w.Account; a != nil {
		info.Lamports, info.Owner, info.Data, info.Executable = a.Lamports, a.Owner[:], a.Data, a.Executable
	}
	return info
}
