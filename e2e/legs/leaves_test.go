package legs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/testworld/layout"
)

// leaf is an instruction that moved two mints by transfers of its own, or a trade with pump's
// curve, which moves lamports.
type leaf struct {
	program pubkey.Key
	call    *chain.Call
	// venue is that of the leg which ingest read; empty for none.
	venue string
}

// leavesOf finds the leaves of a transaction.
func leavesOf(tx *chain.Transaction, legs map[*chain.Call]string) (leaves []leaf) {
	if tx.Failed || tx.Vote {
		return nil
	}
	mints := map[int]pubkey.Key{}
	for _, list := range [][]chain.TokenBalance{tx.PreBalances, tx.PostBalances} {
		for _, b := range list {
			mints[b.AccountIndex] = b.Mint
		}
	}
	for i := range tx.Instructions {
		outer := &tx.Instructions[i]
		for at := -1; at < len(outer.Inner); at++ {
			l := leaf{call: &outer.Call}
			if at >= 0 {
				l.call = &outer.Inner[at]
			}
			l.program, l.venue = tx.Keys[l.call.ProgramIndex], legs[l.call]
			if len(moved(tx, outer.Inner[at+1:], max(l.call.StackHeight, 1), mints)) > 1 || l.venue == pumpcurve.Name {
				leaves = append(leaves, l)
			}
		}
	}
	return leaves
}

// callsOf returns the venue of each call that ingest read a leg from.
func callsOf(tx *chain.Transaction, legs []*eventspb.SwapLeg) map[*chain.Call]string {
	calls := map[*chain.Call]string{}
	for _, l := range legs {
		outer := &tx.Instructions[l.GetPosition().GetInstructionIndex()]
		call := &outer.Call
		if p := l.GetPosition(); p.InnerInstructionIndex != nil {
			call = &outer.Inner[p.GetInnerInstructionIndex()]
		}
		calls[call] = l.GetVenue()
	}
	return calls
}

// moved returns the mints of the transfers among the direct calls of an instruction at a height,
// behind which come calls.
func moved(tx *chain.Transaction, calls []chain.Call, height int, mints map[int]pubkey.Key) map[pubkey.Key]bool {
	const transfer, transferChecked, withFee = 3, 12, 26
	found := map[pubkey.Key]bool{}
	for i := range calls {
		c := &calls[i]
		if c.StackHeight <= height {
			break
		}
		program := tx.Keys[c.ProgramIndex]
		if c.StackHeight != height+1 || program != mint.Token && program != mint.Token2022 || len(c.Data) == 0 {
			continue
		}
		to := 2
		switch c.Data[0] {
		case transfer:
			to = 1
		case transferChecked, withFee:
		default:
			continue
		}
		key, known := mints[int(c.Accounts[0])]
		if !known { // an account that was opened and closed meanwhile
			key = mints[int(c.Accounts[to])]
		}
		found[key] = true
	}
	return found
}

// noSwaps are instructions of our venues that move two mints and swap nothing.
var noSwaps = map[string]string{
	"remove_liquidity_by_range2": "takes liquidity out",
	"claim_fee2":                 "pays fees to who gave liquidity",
	"claim_creator_trading_fee":  "pays fees to the coin's creator",
}

// others are programs of leaves that are no venues of ours, and why. An empty reason means that the
// instruction swaps nothing itself: it moves what others swap.
var others = map[string]string{
	"SoLFiHG9TfgtdUXUjWAxi3LtvYuFyDLVhBWxdMZxyCe":  "SolFi: proprietary, prices are not public state",
	"ZERor4xhbUycZ6gb9ntrhqscUcZmAbQDjEAtCf4hbZY":  "ZeroFi: proprietary, prices are not public state",
	"9H6tua7jkLhdm3w8BvgpTn5LZNU7g4ZynDmCiNN3q6Rp": "HumidiFi: proprietary, prices are not public state",
	"2wT8Yq49kHgDzXuPxZSaeLaH1qbmGXtEyPy64bL7aD3c": "Lifinity: closed program",
	"PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY":  "Phoenix: an order book",
	"HEAVENoP2qxoeuF8Dj2oT1GHEnu49U5mJYkdeC8BAX2o": "Heaven: its curve is not written here",
	"JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4":  "",
	"AgYZo5JeGsmG4qVKadyNX3C6WaNsgJcs2k8QGFfcqQQd": "",
}

// TestLeafSwapsOfABlock counts how many leaf swaps of a real block are of venues that we quote, and
// holds the page's table of them to it.
func TestLeafSwapsOfABlock(t *testing.T) {
	source, err := file.New(file.Config{Paths: []string{testkit.Shared(t, "data/blocks/361774429.json.gz")}}, file.Deps{})
	require.NoError(t, err)
	var sink sourcetest.Sink
	require.NoError(t, source.Run(context.Background(), sourcetest.Ledger{}, &sink))
	decoder, rows := decode.New(nil), map[row]int{}
	for _, block := range sink.Blocks() {
		for i := range block.Transactions {
			tx := &block.Transactions[i]
			for _, l := range leavesOf(tx, callsOf(tx, decoder.Swaps(tx, block.Slot, block.BlockTime).Legs)) {
				if r := judge(t, l); r != (row{}) {
					rows[r]++
				}
			}
		}
	}
	count, ours := 0, 0
	for r, n := range rows {
		if count += n; r.ours {
			ours += n
		}
	}
	require.Equal(t, 144, count)
	require.GreaterOrEqual(t, ours, 122)
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "swap-reference.md"))
	require.NoError(t, err)
	table := leavesTable(rows)
	require.Contains(t, string(page), table, "docs/swap-reference.md has another table; this is it:\n%s", table)
}

// row is a row of the table. ours says that the venue and its pools are quoted.
type row struct {
	what, quoted string
	ours         bool
}

// judge returns the row of a leaf; none if it is not counted.
func judge(t *testing.T, l leaf) row {
	t.Helper()
	v := all.Venues().Owner(l.program)
	if v == nil {
		reason, known := others[l.program.String()]
		require.True(t, known, "a program that nothing is known of: %s", l.program)
		if reason == "" {
			return row{}
		}
		what, why, _ := strings.Cut(reason, ": ")
		return row{what: what, quoted: "no: " + why}
	}
	if l.venue != "" {
		require.Equal(t, v.Name(), l.venue)
		quoted := "yes"
		if v.Proof() == venue.ProofChain {
			quoted = "as soon as swaps on the chain prove it"
		}
		return row{fmt.Sprintf("`%s`", v.Name()), quoted, true}
	}
	for name, what := range noSwaps {
		if disc := layout.Discriminator("global:" + name); string(l.call.Data[:8]) == string(disc[:]) {
			return row{fmt.Sprintf("`%s`: `%s`", v.Name(), name), "its pool is; the instruction swaps nothing, it " + what, true}
		}
	}
	require.Fail(t, "an instruction that is not read", "%s: %x", v.Name(), l.call.Data[:8])
	return row{}
}

// leavesTable is the table in docs/swap-reference.md.
func leavesTable(rows map[row]int) string {
	var ours, rest []string
	for r, n := range rows {
		line := fmt.Sprintf("| %s | %d | %s |", r.what, n, r.quoted)
		if r.ours {
			ours = append(ours, line)
		} else {
			rest = append(rest, line)
		}
	}
	slices.Sort(ours)
	slices.Sort(rest)
	lines := append([]string{"| leaf swap | count | quoted |", "|---|---|---|"}, ours...)
	return strings.Join(append(lines, rest...), "\n") + "\n"
}
