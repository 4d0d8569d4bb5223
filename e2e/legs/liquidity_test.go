package legs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
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
)

// told is what an event of a program says of liquidity, read by the places of its numbers in the
// published IDL and by nothing else.
type told struct {
	program, name string
	added         bool
	// a, b and so on are offsets; 0: the event does not tell it.
	a, b, taxA, taxB, feesA, feesB int
}

// tellsLiquidity are the events, after their tag of eight bytes.
func tellsLiquidity() []told {
	const (
		cpmm, clmm, pancake, byreal = "CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C", "CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK", "HpNfyc2Saw7RKkQd8nEL4khUcuPhQ7WwY1B2qjx8jxFq", "REALQqNEomY6cQGZJUGwywTBD2UmDT32rZcNnfxQ5N2"
		whirlpool, dlmm             = "whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc", "LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo"
		dammV2, pumpSwap            = "cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG", "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA"
	)
	list := []told{
		{program: whirlpool, name: "LiquidityIncreased", added: true, a: 96, b: 104, taxA: 112, taxB: 120},
		{program: whirlpool, name: "LiquidityDecreased", a: 96, b: 104, taxA: 112, taxB: 120},
		{program: dlmm, name: "AddLiquidity", added: true, a: 104, b: 112},
		{program: dlmm, name: "RemoveLiquidity", a: 104, b: 112},
		{program: dammV2, name: "EvtAddLiquidity", added: true, a: 136, b: 144},
		{program: dammV2, name: "EvtRemoveLiquidity", a: 136, b: 144},
		{program: pumpSwap, name: "DepositEvent", added: true, a: 72, b: 80},
		{program: pumpSwap, name: "WithdrawEvent", a: 72, b: 80},
	}
	for _, program := range []string{clmm, pancake, byreal} {
		list = append(list,
			told{program: program, name: "CreatePersonalPositionEvent", added: true, a: 128, b: 136, taxA: 144, taxB: 152},
			told{program: program, name: "IncreaseLiquidityEvent", added: true, a: 56, b: 64, taxA: 72, taxB: 80},
			told{program: program, name: "DecreaseLiquidityEvent", a: 56, b: 64, feesA: 72, feesB: 80, taxA: 112, taxB: 120})
	}
	// One event for both: the last byte tells which.
	return append(list, told{program: cpmm, name: "LpChangeEvent", a: 64, b: 72, taxA: 80, taxB: 88}, told{program: dammV2, name: "EvtLiquidityChange", a: 120, b: 128})
}

// said is an event with its numbers.
type said struct {
	signature, program string
	added              bool
	a, b               [3]uint64 // as told, with and without the transfer fee
}

// line returns one text for the two amounts, whatever their order.
func line(signature, program string, added bool, a, b uint64) string {
	return fmt.Sprintf("%s %s %t %d %d", signature, program, added, min(a, b), max(a, b))
}

func number(data []byte, at int) uint64 {
	if at == 0 || at+8 > len(data) {
		return 0
	}
	return binary.LittleEndian.Uint64(data[at:])
}

// saidIn returns the events of liquidity in a transaction: those that programs send to themselves,
// and those in the log.
func saidIn(tx *chain.Transaction) (list []said) {
	note := func(program string, data []byte) {
		for _, t := range tellsLiquidity() {
			tag := sha256.Sum256([]byte("event:" + t.name))
			if t.program != program || !bytes.HasPrefix(data, tag[:8]) {
				continue
			}
			s := said{signature: base58.Encode(tx.Signature[:]), program: program, added: t.added}
			switch t.name {
			case "LpChangeEvent":
				s.added = data[96] == 0
			case "EvtLiquidityChange":
				s.added = data[len(data)-1] == 0
			}
			a, b := number(data, t.a)+number(data, t.feesA), number(data, t.b)+number(data, t.feesB)
			if t.feesA > 0 && number(data, 40)|number(data, 48) == 0 {
				continue // no liquidity: fees are collected
			}
			taxA, taxB := number(data, t.taxA), number(data, t.taxB)
			s.a, s.b = [3]uint64{a, a + taxA, a - taxA}, [3]uint64{b, b + taxB, b - taxB}
			list = append(list, s)
		}
	}
	for i := range tx.Instructions {
		for _, c := range tx.Instructions[i].Inner {
			if data, ok := bytes.CutPrefix(c.Data, []byte("\xe4\x45\xa5\x2e\x51\xcb\x9a\x1d")); ok && c.ProgramIndex < len(tx.Keys) {
				note(tx.Keys[c.ProgramIndex].String(), data)
			}
		}
	}
	var running []string
	if tx.Details == nil {
		return list
	}
	tx.Details.Logs(func(raw []byte) bool {
		words := strings.Fields(string(raw))
		switch {
		case len(words) == 4 && words[2] == "invoke":
			running = append(running, words[1])
		case len(words) >= 3 && words[0] == "Program" && (words[2] == "success" || words[2] == "failed:") && len(running) > 0:
			running = running[:len(running)-1]
		case len(words) == 3 && words[1] == "data:" && len(running) > 0:
			if data, err := base64.StdEncoding.DecodeString(words[2]); err == nil {
				note(running[len(running)-1], data)
			}
		}
		return true
	})
	return list
}

// TestLiquidityOfRealBlocksIsWhatProgramsTold reads the recorded transactions twice: the decoder by
// instructions and transfers, plain loops by the programs' events. Both must find the same.
func TestLiquidityOfRealBlocksIsWhatProgramsTold(t *testing.T) {
	decoder, seen, venues := decode.New(nil), map[chain.Signature]bool{}, map[string]int{}
	programs := map[string]bool{}
	for _, t := range tellsLiquidity() {
		programs[t.program] = true
	}
	for _, path := range []string{"blocks/254170887.json.gz", "blocks/332254855.confirmedblock.pb", "blocks/361774429.json.gz", "transactions"} {
		source, err := file.New(file.Config{Paths: []string{testkit.Shared(t, "data/"+path)}}, file.Deps{})
		require.NoError(t, err)
		var sink sourcetest.Sink
		require.NoError(t, source.Run(context.Background(), sourcetest.Ledger{}, &sink))
		for _, block := range sink.Blocks() {
			for i := range block.Transactions {
				tx := &block.Transactions[i]
				if seen[tx.Signature] || tx.Failed {
					continue
				}
				seen[tx.Signature] = true
				found := decoder.Swaps(tx, block.Slot, block.BlockTime).Liquidity
				for _, m := range found {
					venues[m.GetVenue()]++
					require.Zero(t, m.GetDisagreed(), "%s: %s", base58.Encode(tx.Signature[:]), m)
					require.NotZero(t, m.GetAmountA()+m.GetAmountB())
				}
				requireTold(t, saidIn(tx), slices.DeleteFunc(found, func(m *eventspb.LiquidityChange) bool { return !programs[base58.Encode(m.GetProgramId())] }))
			}
		}
	}
	require.NotEmpty(t, venues)
	t.Log(venues)
}

// requireTold compares the events of a transaction with its changes, one by one. The first
// liquidity of a new pool and a rebalanced position have no event of this kind.
func requireTold(t *testing.T, events []said, changes []*eventspb.LiquidityChange) {
	t.Helper()
	for _, m := range changes {
		want := line(base58.Encode(m.GetSignature()), base58.Encode(m.GetProgramId()), m.GetAdded(), m.GetAmountA(), m.GetAmountB())
		i := slices.IndexFunc(events, func(s said) bool {
			for _, a := range s.a {
				for _, b := range s.b {
					if line(s.signature, s.program, s.added, a, b) == want {
						return true
					}
				}
			}
			return false
		})
		if i >= 0 {
			events = slices.Delete(events, i, i+1)
			continue
		}
		name := m.GetInstruction()
		eventless := strings.HasPrefix(name, "initialize") || name == "create_pool" || strings.HasPrefix(name, "re") && !strings.HasPrefix(name, "remove")
		// Whirlpools told nothing before 2025.
		old := m.GetVenue() == "orca_whirlpool" && m.GetPosition().GetSlot() < 330_000_000
		require.True(t, eventless || old, "no event tells of %s", m)
	}
	require.Empty(t, events, "events without a change")
}
