package sourcetest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/testkit"
)

// firstSlot is the first slot of a long chain. firstTime is about the Unix second in which mainnet
// was at that slot.
const firstSlot, firstTime = 400_000_000, 1_770_900_000

// LongChain writes blocks as Geyser updates until they have at least atLeast transactions. It
// repeats the given blocks under new slots, times, hashes and signatures, linked into one chain
// without a gap.
func LongChain(t testing.TB, real []RealBlock, atLeast int, write func(update []byte) error) (blocks, transactions int) {
	t.Helper()
	for ; transactions < atLeast; blocks++ {
		b := real[blocks%len(real)].with(nil)
		b.Slot, b.ParentSlot = firstSlot+uint64(blocks), firstSlot+uint64(blocks)-1
		b.BlockTime = &pb.UnixTimestamp{Timestamp: firstTime + int64(blocks)*2/5}
		b.BlockHeight = &pb.BlockHeight{BlockHeight: firstSlot*9/10 + uint64(blocks)}
		b.Blockhash, b.ParentBlockhash = hashText(b.Slot), hashText(b.ParentSlot)
		for i, tx := range real[blocks%len(real)].Transactions {
			rename := sha256.Sum256(binary.BigEndian.AppendUint64([]byte{byte(i), byte(i >> 8)}, b.Slot))
			signature := slices.Concat(rename[:], tx.Signature[len(rename):])
			b.Transactions = append(b.Transactions, &pb.SubscribeUpdateTransactionInfo{
				Signature: signature, IsVote: tx.IsVote, Index: tx.Index, Meta: tx.Meta,
				Transaction: &pb.Transaction{Signatures: slices.Concat([][]byte{signature}, tx.Transaction.Signatures[1:]), Message: tx.Transaction.Message},
			})
		}
		transactions += len(b.Transactions)
		update, err := proto.Marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: b.SubscribeUpdateBlock}})
		require.NoError(t, err)
		require.NoError(t, write(update))
	}
	return blocks, transactions
}

func hashText(slot uint64) string {
	h := sha256.Sum256(binary.BigEndian.AppendUint64(nil, slot))
	return base58.Encode(h[:])
}

// WithoutVotes returns the whole blocks of the shared recordings without their votes. Failed
// transactions and those that touch no token stay.
func WithoutVotes(t testing.TB) []RealBlock {
	t.Helper()
	real := RealBlocks(t)
	for i := range real {
		var kept []*pb.SubscribeUpdateTransactionInfo
		for _, tx := range real[i].Transactions {
			if !tx.IsVote {
				kept = append(kept, tx)
			}
		}
		real[i] = real[i].with(kept)
	}
	return real
}

// What mainnet has each second, about. MainnetRate counts the transactions that are not votes,
// MainnetLegs the swap legs.
const (
	MainnetRate = 1_570.
	MainnetLegs = 100e6 / 86_400
)

// DenseBlocks returns the whole blocks of the shared recordings with as many swap legs for each
// transaction as mainnet has today. When the blocks were recorded, mainnet had several times fewer.
// All transactions with legs in the golden files stay. Of the others only as many stay, evenly
// spread, as mainnet's rates ask for.
func DenseBlocks(t testing.TB) []RealBlock {
	t.Helper()
	blocks := WithoutVotes(t)
	for i := range blocks {
		b := &blocks[i]
		legs, sum := goldenLegs(t, b.Slot)
		others := len(b.Transactions) - len(legs)
		wanted := min(max(int(MainnetRate/MainnetLegs*float64(sum))-len(legs), 1), others)
		var kept []*pb.SubscribeUpdateTransactionInfo
		seen := 0
		for _, tx := range b.Transactions {
			if legs[base58.Encode(tx.Signature)] == 0 {
				before := seen * wanted / others
				if seen++; seen*wanted/others == before {
					continue
				}
			}
			kept = append(kept, tx)
		}
		*b = b.with(kept)
	}
	return blocks
}

// goldenLegs returns how many swap legs the golden files have for each transaction of a block, by
// signature, and their sum.
func goldenLegs(t testing.TB, slot uint64) (bySignature map[string]int, sum int) {
	t.Helper()
	var golden struct {
		Transactions []struct {
			Signature string            `json:"sig"`
			Legs      []json.RawMessage `json:"swap_legs"`
		} `json:"transactions"`
	}
	raw, err := os.ReadFile(testkit.Shared(t, fmt.Sprintf("data/golden/%d.json", slot)))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &golden))
	bySignature = map[string]int{}
	for _, tx := range golden.Transactions {
		if len(tx.Legs) > 0 {
			bySignature[tx.Signature] = len(tx.Legs)
			sum += len(tx.Legs)
		}
	}
	return bySignature, sum
}
