package venues

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/ingest/decode/swap"
)

// raydiumAMMv4 reads Raydium's AMM v4.
//
// Layouts: raydium-io/raydium-amm program/src/instruction.rs (accounts), log.rs (ray_log). Amounts:
// transfers into and out of the coin and pc vaults; checked by balances and by ray_log, which a
// node may have cut off. SPL Token only.
func raydiumAMMv4() swap.Venue {
	// The account of the target orders may be left out. All accounts after it are then one place
	// lower.
	full := swap.Shape{Pool: 1, VaultA: 5, VaultB: 6, Owner: 17, MintA: swap.None, MintB: swap.None}
	short := swap.Shape{Pool: 1, VaultA: 4, VaultB: 5, Owner: 16, MintA: swap.None, MintB: swap.None}
	second := swap.Shape{Pool: 1, VaultA: 3, VaultB: 4, Owner: 7, MintA: swap.None, MintB: swap.None}
	in, out := swap.Tag("09"), swap.Tag("0b")
	return swap.Venue{
		Name: "raydium_amm_v4", Program: "675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8", Events: swap.RayLog, Event: raydiumAMMv4Event, Change: raydiumAMMv4Change,
		Instructions: []swap.Instruction{
			{Name: "swap_base_in", Tag: in, MinAccounts: 18, Shapes: []swap.Shape{full}},
			{Name: "swap_base_in", Tag: in, MinAccounts: 17, MaxAccounts: 17, Shapes: []swap.Shape{short}},
			{Name: "swap_base_out", Tag: out, MinAccounts: 18, Shapes: []swap.Shape{full}},
			{Name: "swap_base_out", Tag: out, MinAccounts: 17, MaxAccounts: 17, Shapes: []swap.Shape{short}},
			{Name: "swap_base_in_v2", Tag: swap.Tag("10"), MinAccounts: 8, Shapes: []swap.Shape{second}},
			{Name: "swap_base_out_v2", Tag: swap.Tag("11"), MinAccounts: 8, Shapes: []swap.Shape{second}},
			{Name: "deposit", Kind: swap.Add, Tag: swap.Tag("03"), MinAccounts: 13, LPMint: 5, Shapes: []swap.Shape{
				{Pool: 1, VaultA: 6, VaultB: 7, Owner: 12, MintA: swap.None, MintB: swap.None},
			}},
			// The earlier form names two more accounts before the market.
			{Name: "withdraw", Kind: swap.Remove, Tag: swap.Tag("04"), MinAccounts: 22, LPMint: 5, Shapes: []swap.Shape{
				{Pool: 1, VaultA: 6, VaultB: 7, Owner: 18, MintA: swap.None, MintB: swap.None},
			}},
			{Name: "withdraw", Kind: swap.Remove, Tag: swap.Tag("04"), MinAccounts: 17, MaxAccounts: 21, LPMint: 5, Shapes: []swap.Shape{
				{Pool: 1, VaultA: 6, VaultB: 7, Owner: 16, MintA: swap.None, MintB: swap.None},
			}},
			{Name: "initialize2", Kind: swap.Create, Tag: swap.Tag("01"), MinAccounts: 21, LPMint: 7, Adds: true, Shapes: []swap.Shape{
				{Pool: 4, VaultA: 10, VaultB: 11, Owner: 17, MintA: 8, MintB: 9},
			}},
			{Name: "initialize", Kind: swap.Create, Tag: swap.Tag("00"), MinAccounts: 18, LPMint: 6, Shapes: []swap.Shape{
				{Pool: 3, VaultA: 9, VaultB: 10, Owner: 17, MintA: 7, MintB: 8},
			}},
		},
	}
}

// Log types of swaps, and the length of their logs: a byte, then seven u64 fields, see
// raydiumAMMv4Event.
const (
	raydiumAMMv4LogBaseIn, raydiumAMMv4LogBaseOut = 3, 4
	raydiumAMMv4LogLength                         = 1 + 7*8
)

// raydiumAMMv4Event reads a ray_log of a swap, which names no pool.
func raydiumAMMv4Event(data []byte, e *swap.Event) bool {
	if len(data) < raydiumAMMv4LogLength {
		return false
	}
	field := func(i int) uint64 { return binary.LittleEndian.Uint64(data[1+8*i:]) }
	switch data[0] {
	case raydiumAMMv4LogBaseIn:
		// amount_in, minimum_out, direction, user_source, pool_coin, pool_pc, out_amount
		e.In, e.Out = field(0), field(6)
	case raydiumAMMv4LogBaseOut:
		// max_in, amount_out, direction, user_source, pool_coin, pool_pc, deduct_in
		e.In, e.Out = field(6), field(1)
	default:
		return false
	}
	e.HasOut = true
	return true
}

// raydiumAMMv4Change reads a ray_log of an initialization, a deposit or a withdrawal: log types 0,
// 1 and 2 of log.rs. The vaults' order is coin, pc.
func raydiumAMMv4Change(data []byte, c *swap.Change) bool {
	const (
		initialized, deposited, withdrawn = 0, 1, 2
		// InitLog: type, time, two decimals, two lot sizes, pc_amount, coin_amount, market.
		initPC, initLength = 1 + 8 + 2 + 2*8, 1 + 8 + 2 + 4*8 + 32
		// DepositLog: type, three inputs, three numbers of the pool, two u128, deduct_coin,
		// deduct_pc, mint_lp.
		depositCoin, depositLength = 1 + 6*8 + 2*16, 1 + 9*8 + 2*16
		// WithdrawLog: type, two inputs, three numbers of the pool, two u128, out_coin, out_pc.
		withdrawCoin, withdrawLength = 1 + 5*8 + 2*16, 1 + 7*8 + 2*16
	)
	if len(data) == 0 {
		return false
	}
	var at int
	switch {
	case data[0] == initialized && len(data) == initLength:
		at, c.Added = initPC, true
	case data[0] == deposited && len(data) == depositLength:
		at, c.Added = depositCoin, true
	case data[0] == withdrawn && len(data) == withdrawLength:
		at = withdrawCoin
	default:
		return false
	}
	c.A, _ = swap.U64(data, at)
	c.B, _ = swap.U64(data, at+8)
	if data[0] == initialized { // pc comes before coin
		c.A, c.B = c.B, c.A
	}
	return true
}
