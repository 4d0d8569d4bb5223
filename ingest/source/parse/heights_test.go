package parse_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// forget removes stack heights from a transaction's inner instructions.
func forget(meta *pb.TransactionStatusMeta, which func() bool) (forgotten, kept int) {
	for _, group := range meta.InnerInstructions {
		for _, inner := range group.Instructions {
			if which() {
				inner.StackHeight = nil
				forgotten++
			} else {
				kept++
			}
		}
	}
	return forgotten, kept
}

// forms returns a block in the forms that a source may read: Geyser, ConfirmedBlock and JSON.
func forms(t testing.TB, block *pb.SubscribeUpdateBlock, asJSON []byte) map[string]*chain.Block {
	t.Helper()
	update, err := proto.Marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: block}})
	require.NoError(t, err)
	u, err := parse.Reader{}.GeyserUpdate(update)
	require.NoError(t, err)
	stored, err := proto.Marshal(sourcetest.RealBlock{SubscribeUpdateBlock: block}.Confirmed())
	require.NoError(t, err)
	confirmed, err := parse.Reader{}.ConfirmedBlock(stored, block.Slot)
	require.NoError(t, err)
	all := map[string]*chain.Block{"geyser": u.Block, "confirmed": confirmed}
	if asJSON != nil {
		all["json"], err = parse.Reader{}.BlockJSON(withHeights(t, asJSON, block), block.Slot)
		require.NoError(t, err)
	}
	return all
}

// withHeights puts the stack heights of block into its JSON.
func withHeights(t testing.TB, text []byte, block *pb.SubscribeUpdateBlock) []byte {
	t.Helper()
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&out))
	for i, entry := range out["transactions"].([]any) {
		groups, _ := entry.(map[string]any)["meta"].(map[string]any)["innerInstructions"].([]any)
		for j, group := range groups {
			for k, inner := range group.(map[string]any)["instructions"].([]any) {
				inner.(map[string]any)["stackHeight"] = block.Transactions[i].Meta.InnerInstructions[j].Instructions[k].StackHeight
			}
		}
	}
	text, err := json.Marshal(out)
	require.NoError(t, err)
	return text
}

// swaps are what a transaction swaps, as text.
func swaps(tx *chain.Transaction, slot uint64) string {
	result := decode.New(nil).Swaps(tx, slot, 0)
	text := fmt.Sprint(len(result.Legs), len(result.Routes), len(result.Pools))
	for _, leg := range result.Legs {
		text += "\n" + leg.String()
	}
	for _, route := range result.Routes {
		text += "\n" + route.String()
	}
	return text
}

// TestMissingStackHeightsLoseNoLeg: of a transaction some of whose inner instructions state their
// height, the others follow from them, or the transaction is refused by name. One that states none
// is read as before.
func TestMissingStackHeightsLoseNoLeg(t *testing.T) {
	derived, refused, whole := 0, 0, 0
	for _, real := range sourcetest.RealBlocks(t) {
		truth := map[string]string{}
		var asJSON []byte
		if !real.Proto {
			asJSON = real.File
		}
		for _, tx := range forms(t, real.SubscribeUpdateBlock, nil)["geyser"].Transactions {
			truth[string(tx.Signature[:])] = swaps(&tx, real.Slot)
		}
		for seed := range uint64(4) {
			random := rand.New(rand.NewPCG(seed, 15))
			block := proto.CloneOf(real.SubscribeUpdateBlock)
			mixed := map[string]bool{}
			for _, info := range block.Transactions {
				chance := []float64{0.03, 0.2, 0.7, 1}[random.IntN(4)]
				forgotten, kept := forget(info.Meta, func() bool { return random.Float64() < chance })
				mixed[string(info.Signature)] = forgotten > 0 && kept > 0 && info.Meta.Err == nil && !info.IsVote
			}
			for form, b := range forms(t, block, asJSON) {
				require.Equal(t, len(real.Transactions), len(b.Transactions)+len(b.Unread))
				for _, one := range b.Unread {
					require.True(t, mixed[string(one.Signature[:])], form)
					require.ErrorContains(t, one.Err, "stack height")
					require.ErrorIs(t, one.Err, parse.ErrMalformed)
					refused++
				}
				for i := range b.Transactions {
					tx := &b.Transactions[i]
					if mixed[string(tx.Signature[:])] {
						require.Equal(t, truth[string(tx.Signature[:])], swaps(tx, real.Slot), form)
						derived++
					} else {
						whole++
					}
				}
			}
		}
	}
	require.Greater(t, derived, 100)
	require.Greater(t, refused, 100)
	require.Greater(t, whole, 1000)
}

// TestHeightsThatFollow: what is derived of the heights that are stated, 0 for none, and what is
// refused. Groups are those of the outer instructions.
func TestHeightsThatFollow(t *testing.T) {
	for _, tc := range []struct{ stated, want string }{
		{"2 3 4", "2 3 4"}, {"0 3 4", "2 3 4"}, {"0 0 4", "2 3 4"}, {"2 0 4", "2 3 4"}, {"2 0 0 5", "2 3 4 5"},
		{"0 2", "2 2"}, {"2 3 | 0", "2 3 | 2"}, {"2 | 0 3", "2 | 2 3"}, {"0 0 0", "0 0 0"}, {"0 | 0 0", "0 | 0 0"}, {"", ""},
		{"1 3 4", "2 3 4"}, {"1 1", "1 1"},
		{"2 0", ""}, {"2 0 2", ""}, {"2 0 3", ""}, {"2 3 0 3", ""}, {"2 | 0 0", ""}, {"3 0 4", ""}, {"2 0 6", ""}, {"0 4", ""}, {"2 0 | 2", ""},
	} {
		want, refused := tc.want, tc.want == "" && tc.stated != ""
		entry := heightEntry(tc.stated)
		b := readBlock(t, parsedBlock(entry))
		if refused {
			require.Len(t, b.Unread, 1, tc.stated)
			require.ErrorContains(t, b.Unread[0].Err, "stack height")
			continue
		}
		require.Empty(t, b.Unread, tc.stated)
		groups := []string{}
		for _, outer := range b.Transactions[0].Instructions {
			heights := []string{}
			for _, inner := range outer.Inner {
				heights = append(heights, fmt.Sprint(inner.StackHeight))
			}
			groups = append(groups, strings.Join(heights, " "))
		}
		require.Equal(t, want, strings.TrimRight(strings.Join(groups, " | "), " |"), tc.stated)
	}
}

// heightEntry returns an entry of getBlock with four instructions, whose inner ones state heights.
func heightEntry(stated string) string {
	const memo = `{"programId":"K3","accounts":[],"data":"","stackHeight":%s}`
	groups := []string{}
	for i, group := range strings.Split(stated, "|") {
		list := []string{}
		for _, height := range strings.Fields(group) {
			if height == "0" {
				height = "null"
			}
			list = append(list, fmt.Sprintf(memo, height))
		}
		groups = append(groups, fmt.Sprintf(`{"index":%d,"instructions":[%s]}`, i, strings.Join(list, ",")))
	}
	entry := parsedEntry(1, known(5), `"a memo"`)
	outer := strings.Join(slices.Repeat([]string{fmt.Sprintf(memo, "1")}, 4), ",")
	at, to := strings.Index(entry, `"instructions":[`), strings.Index(entry, `]}},`)
	entry = entry[:at] + `"instructions":[` + outer + entry[to:]
	return withKeys(strings.Replace(entry, `"innerInstructions":[]`, `"innerInstructions":[`+strings.Join(groups, ",")+`]`, 1))
}
