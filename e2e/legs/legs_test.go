// Package legs recomputes the swap legs of real blocks with the arithmetic of the swap room: what
// ingest reads is what the venues would have quoted. It is the one place that uses both rooms.
package legs

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
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
)

// leg is a leg of a recorded transaction with what its venue told of it.
type leg struct {
	*eventspb.SwapLeg
	tx *chain.Transaction
	// call is the instruction that swapped; event what the program told: an Anchor event with its
	// tag, or AMM v4's ray_log.
	call  *chain.Call
	event []byte
}

func (l *leg) String() string {
	return fmt.Sprintf("%s %s %s pool %s: %d -> %d", base58.Encode(l.tx.Signature[:]), l.GetVenue(), l.GetInstruction(),
		base58.Encode(l.GetPool()), l.GetAmountIn(), l.GetAmountOut())
}

// program is the token program of a mint, as the transaction's balances say it.
func (l *leg) program(key venue.Key) venue.Key {
	for _, balances := range [][]chain.TokenBalance{l.tx.PreBalances, l.tx.PostBalances} {
		for _, b := range balances {
			if b.Mint == key && b.Program != (pubkey.Key{}) {
				return b.Program
			}
		}
	}
	return mint.Token
}

// events are all that the transaction's programs told, in the order of execution: self-calls, then
// the log.
func events(tx *chain.Transaction) (list [][]byte) {
	const selfCall = "\xe4\x45\xa5\x2e\x51\xcb\x9a\x1d"
	for i := range tx.Instructions {
		for _, c := range tx.Instructions[i].Inner {
			if data, ok := bytes.CutPrefix(c.Data, []byte(selfCall)); ok {
				list = append(list, data)
			}
		}
	}
	if tx.Details == nil {
		return list
	}
	tx.Details.Logs(func(line []byte) bool {
		for _, prefix := range []string{"Program data: ", "Program log: ray_log: "} {
			if text, ok := bytes.CutPrefix(line, []byte(prefix)); ok {
				if data, err := base64.StdEncoding.DecodeString(string(text)); err == nil {
					list = append(list, data)
				}
			}
		}
		return true
	})
	return list
}

// read returns the legs of the venues that we quote in all recorded blocks and transactions, each
// with its event. A transaction that lies in two files counts once.
func read(t *testing.T) (legs []*leg) {
	t.Helper()
	decoder, seen := decode.New(nil), map[chain.Signature]bool{}
	for _, path := range []string{"blocks/254170887.json.gz", "blocks/332254855.confirmedblock.pb", "blocks/361774429.json.gz", "transactions"} {
		source, err := file.New(file.Config{Paths: []string{testkit.Shared(t, "data/"+path)}}, file.Deps{})
		require.NoError(t, err)
		var sink sourcetest.Sink
		require.NoError(t, source.Run(context.Background(), sourcetest.Ledger{}, &sink))
		for _, block := range sink.Blocks() {
			for i := range block.Transactions {
				tx := &block.Transactions[i]
				if seen[tx.Signature] {
					continue
				}
				seen[tx.Signature] = true
				legs = append(legs, legsOf(tx, decoder.Swaps(tx, block.Slot, block.BlockTime).Legs)...)
			}
		}
	}
	require.NotEmpty(t, legs)
	return legs
}

// legsOf gives each leg the first event that fits it and that no leg before it has.
func legsOf(tx *chain.Transaction, found []*eventspb.SwapLeg) (legs []*leg) {
	told := events(tx)
	for _, l := range found {
		v, known := tells[l.GetVenue()]
		if !known {
			continue
		}
		out := &leg{SwapLeg: l, tx: tx}
		instruction := &tx.Instructions[l.GetPosition().GetInstructionIndex()]
		out.call = &instruction.Call
		if p := l.GetPosition(); p.InnerInstructionIndex != nil {
			out.call = &instruction.Inner[p.GetInnerInstructionIndex()]
		}
		if i := slices.IndexFunc(told, func(event []byte) bool { return v.tells(event, l) }); i >= 0 {
			out.event = told[i]
			told = slices.Delete(told, i, i+1)
		}
		legs = append(legs, out)
	}
	return legs
}

// recomputed counts a venue's legs.
type recomputed struct {
	legs, equal int
	// reasons are why the others cannot be recomputed.
	reasons map[string]int
}

// TestLegsOfRealBlocksRecompute puts each leg's state before the swap, as the program told it, into
// accounts, and asks the venue for a quote: it must give what the chain gave, to the unit.
func TestLegsOfRealBlocksRecompute(t *testing.T) {
	counts := map[string]*recomputed{}
	for _, l := range read(t) {
		c := counts[l.GetVenue()]
		if c == nil {
			c = &recomputed{reasons: map[string]int{}}
			counts[l.GetVenue()] = c
		}
		c.legs++
		if l.event == nil {
			c.reasons["the event is not in the transaction's log"]++
			continue
		}
		b := before{accounts: map[venue.Key]*account{}}
		reason := tells[l.GetVenue()].before(l, &b)
		if reason != "" {
			c.reasons[reason]++
			continue
		}
		want, got, err := b.compare(all.Venues().Owner(venue.Key(l.GetProgramId())))
		require.NoError(t, err, "%s", l)
		require.Equal(t, want, got, "in and out of %s", l)
		c.equal++
	}
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "benchmarks.md"))
	require.NoError(t, err)
	table := tableOf(counts)
	require.Contains(t, string(page), table, "docs/benchmarks.md has another table; this is it:\n%s", table)
}

// tableOf is the table in docs/benchmarks.md.
func tableOf(counts map[string]*recomputed) string {
	lines := []string{"| venue | legs | recomputed | the others |", "|---|---|---|---|"}
	for _, v := range all.Venues() {
		if _, told := tells[v.Name()]; !told {
			continue // its events do not tell the state before a swap
		}
		c := counts[v.Name()]
		if c == nil {
			c = &recomputed{}
		}
		var others []string
		for reason, n := range c.reasons {
			others = append(others, fmt.Sprintf("%d: %s", n, reason))
		}
		slices.Sort(others)
		if others == nil {
			others = []string{"none"}
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %d | %d | %s |", v.Name(), c.legs, c.equal, strings.Join(others, "; ")))
	}
	return strings.Join(lines, "\n") + "\n"
}
