package swap_test

import (
	"encoding/base64"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/ingest/decode/venues"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// details are a log and lamports made up.
type details struct {
	lines     []string
	pre, post []uint64
}

func (d details) Logs(visit func(line []byte) bool) {
	for _, line := range d.lines {
		if !visit([]byte(line)) {
			return
		}
	}
}

func (d details) Lamports(pre, post []uint64) ([]uint64, []uint64) {
	return append(pre, d.pre...), append(post, d.post...)
}

// FuzzEvents gives every venue's event reader any bytes, with each of the tags that begin one.
func FuzzEvents(f *testing.F) {
	all := venues.All()
	tags := []string{"", "\x00", "\x01", "\x02", "\x03", "\x04"}
	for _, name := range []string{"SwapEvent", "Traded", "Swap", "EvtSwap", "EvtSwap2", "BuyEvent", "SellEvent", "TradeEvent", "CreateEvent",
		"LpChangeEvent", "CreatePersonalPositionEvent", "IncreaseLiquidityEvent", "DecreaseLiquidityEvent", "LiquidityIncreased", "LiquidityDecreased",
		"AddLiquidity", "RemoveLiquidity", "BootstrapLiquidity", "EvtLiquidityChange", "EvtAddLiquidity", "EvtRemoveLiquidity", "DepositEvent", "WithdrawEvent"} {
		tags = append(tags, anchorEvent(name))
	}
	for i := range tags {
		f.Add(uint8(i), make([]byte, 450))
		f.Add(uint8(i), []byte{1, 2, 3})
	}
	f.Fuzz(func(_ *testing.T, tag uint8, data []byte) {
		whole := append([]byte(tags[int(tag)%len(tags)]), data...)
		for i := range all {
			if all[i].Event != nil {
				var e swap.Event
				all[i].Event(whole, &e)
			}
			if all[i].Change != nil {
				var c swap.Change
				all[i].Change(whole, &c)
			}
		}
		swap.JupiterHops(whole, nil)
		swap.JupiterHops(append([]byte("\x98\x2f\x4e\xeb\xc0\x60\x6e\x6a"), data...), nil)
	})
}

// FuzzTransactions runs hostile instructions of every venue: any data behind a true tag, any
// accounts, depths, balances and logs.
func FuzzTransactions(f *testing.F) {
	all, d := venues.All(), decode.New(nil)
	f.Add(uint8(0), uint8(0), []byte("data"), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26}, 30, uint64(5), "Program x invoke [1]", []byte{2, 3})
	f.Add(uint8(200), uint8(7), []byte{}, []byte{255}, 300, uint64(1)<<63, "Program log: ray_log: AAAA", []byte{0, 9, 1})
	f.Fuzz(func(t *testing.T, venue, ins uint8, data, accounts []byte, keys int, amount uint64, line string, heights []byte) {
		v := &all[int(venue)%len(all)]
		in := &v.Instructions[int(ins)%len(v.Instructions)]
		tx := hostile(t, v, in, data, accounts, keys, amount, line, heights)
		first := d.Swaps(tx, 1, 1)
		require.Equal(t, first, d.Swaps(tx, 1, 1), "nothing is left of the transaction before")
		require.LessOrEqual(t, len(first.Legs), 64*len(tx.Instructions)*(1+len(tx.Instructions[0].Inner)))
		require.LessOrEqual(t, len(first.Liquidity), 2*len(tx.Instructions)*(1+len(tx.Instructions[0].Inner)))
		for _, m := range first.Liquidity {
			require.NotZero(t, m.GetAmountA()|m.GetAmountB())
			require.True(t, len(m.GetMintB()) == 0 || string(m.GetMintA()) < string(m.GetMintB()))
		}
	})
}

func hostile(t *testing.T, v *swap.Venue, in *swap.Instruction, data, accounts []byte, keys int, amount uint64, line string, heights []byte) *chain.Transaction {
	t.Helper()
	tx := &chain.Transaction{Index: -1, Signers: keys / 7, Details: details{
		lines: []string{
			"Program " + v.Program + " invoke [1]", line, "Program data: " + base64.StdEncoding.EncodeToString(data), line,
			"Program " + v.Program + " success",
		},
		pre: []uint64{amount, 1}, post: []uint64{amount},
	}}
	tx.Keys = append(tx.Keys, programKey(t, v.Program), programKey(t, token), programKey(t, token2022))
	for i := range min(max(keys, 0), 300) {
		tx.Keys = append(tx.Keys, pubkey.Key{byte(i + 1), byte(i >> 7), 9})
	}
	call := chain.Call{Data: append([]byte(in.Tag), data...), Accounts: accounts, StackHeight: 1}
	move := chain.Call{ProgramIndex: 1 + len(data)%2, Data: binary.LittleEndian.AppendUint64([]byte{3}, amount), Accounts: accounts}
	self := chain.Call{Data: append([]byte("\xe4\x45\xa5\x2e\x51\xcb\x9a\x1d"), data...)}
	outer := chain.Instruction{Call: call}
	for i, height := range heights[:min(len(heights), 64)] {
		inner := [...]chain.Call{move, self, call}[i%3]
		inner.StackHeight = int(height)
		if i < len(accounts) {
			inner.Accounts = accounts[i:]
		}
		outer.Inner = append(outer.Inner, inner)
	}
	tx.Instructions = []chain.Instruction{outer, outer}
	for i, account := range accounts[:min(len(accounts), 40)] {
		b := chain.TokenBalance{AccountIndex: int(account) - 1, Mint: pubkey.Key{byte(i % 3)}, Amount: amount + uint64(i)}
		tx.PreBalances = append(tx.PreBalances, b)
		b.Amount /= 2
		tx.PostBalances = append(tx.PostBalances, b)
	}
	return tx
}

func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
