package chain

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Whirlpool's instructions that make a pool, fill it and empty it, and offsets in a position
// (whirlpools, instructions, state/position.rs).
var (
	whirlCreate       = layout.Discriminator("global:initialize_pool_v2")
	whirlCreateArray  = layout.Discriminator("global:initialize_tick_array")
	whirlOpen         = layout.Discriminator("global:open_position")
	whirlIncrease     = layout.Discriminator("global:increase_liquidity_v2")
	whirlDecrease     = layout.Discriminator("global:decrease_liquidity_v2")
	whirlPositionDisc = layout.Discriminator("account:Position")
	whirlIncreased    = layout.Discriminator("event:LiquidityIncreased")
	whirlDecreased    = layout.Discriminator("event:LiquidityDecreased")
)

const (
	whirlPositionSize = 216
	whirlPositionPool = 8
	whirlPositionMint = 40
	whirlPositionL    = 72
	whirlPositionLow  = 88
	whirlPositionHigh = 92

	whirlInvalidStart = 6001 // InvalidStartTick
	whirlInvalidTick  = 6010 // InvalidTickIndex
	whirlOutOfBounds  = 6011 // SqrtPriceOutOfBounds
	whirlNoLiquidity  = 6012 // LiquidityZero
	whirlUnderflow    = 6015 // LiquidityUnderflow
	whirlMaxExceeded  = 6017 // TokenMaxExceeded
	whirlMinMissed    = 6018 // TokenMinSubceeded
	whirlNotDelegate  = 6019 // MissingOrInvalidDelegate
	whirlWrongOrder   = 6024 // InvalidTokenMintOrder
)

// whirlPool runs what makes and ends pools; ok is false for other instructions.
func whirlPool(x *machine, f *frame) (err error, ok bool) {
	var run func(x *machine, f *frame) error
	var accounts, size int
	switch [8]byte(f.data[:8]) {
	case whirlCreate:
		run, accounts, size = whirlCreatePool, 14, 26
	case whirlCreateArray:
		run, accounts, size = whirlMakeArray, 4, 12
	case whirlOpen:
		run, accounts, size = whirlOpenPosition, 10, 17
	case whirlIncrease, whirlDecrease:
		run, accounts, size = whirlLiquidity, 15, 40
	default:
		return nil, false
	}
	if len(f.accs) < accounts || len(f.data) < size {
		return failCustom(anchorNotEnoughKeys), true
	}
	return run(x, f), true
}

func whirlPoolKey(a, b Key) Key {
	config := whirlConfigKey()
	k, _ := pda(WhirlpoolProgram, []byte("whirlpool"), config[:], a[:], b[:], []byte{whirlSpacing, 0})
	return k
}

// whirlTierKey is the fee tier of the chain's pools.
func whirlTierKey() Key {
	config := whirlConfigKey()
	k, _ := pda(WhirlpoolProgram, []byte("fee_tier"), config[:], []byte{whirlSpacing, 0})
	return k
}

// whirlBadgeKey is where it would be written that a mint with extensions may have pools.
func whirlBadgeKey(mint Key) Key {
	config := whirlConfigKey()
	k, _ := pda(WhirlpoolProgram, []byte("token_badge"), config[:], mint[:])
	return k
}

// whirlCreatePool runs initialize_pool_v2(spacing, price). Accounts: config, mint a, mint b, their
// badges, funder, pool, vault a, vault b, fee tier, program of a, program of b, system, rent.
func whirlCreatePool(x *machine, f *frame) error {
	x.log("Program log: Instruction: InitializePoolV2")
	a := f.accs
	mints := [2]Key{x.key(a[1]), x.key(a[2])}
	if string(mints[0][:]) >= string(mints[1][:]) {
		return failCustom(whirlWrongOrder)
	}
	spacing, price := binary.LittleEndian.Uint16(f.data[8:]), getWide(f.data[10:])
	if x.key(a[0]) != whirlConfigKey() || spacing != whirlSpacing || x.key(a[6]) != whirlPoolKey(mints[0], mints[1]) || x.key(a[9]) != whirlTierKey() {
		return failCustom(anchorConstraintSeeds)
	}
	if price.Lt(whirlPriceAt(-whirlLast)) || price.Gt(whirlPriceAt(whirlLast)) {
		return failCustom(whirlOutOfBounds)
	}
	if err := x.makeAccount(f, a[5], a[6], layout.WhirlpoolSize, WhirlpoolProgram); err != nil {
		return err
	}
	for side := range 2 {
		if !a[7+side].signer {
			return failCustom(anchorNotSigner)
		}
		if err := x.makeVault(f, a[5], a[7+side], a[1+side], x.key(a[10+side]), x.key(a[6])); err != nil {
			return err
		}
	}
	pool := layout.Whirlpool{
		Config: x.key(a[0]), Mints: mints, Vaults: [2]Key{x.key(a[7]), x.key(a[8])}, Spacing: whirlSpacing, Rate: whirlRate,
		Price: layout.U128{price[0], price[1]}, Tick: whirlTickAt(price),
	}
	copy(x.mutable(a[6]).Data, pool.Bytes())
	return nil
}

// whirlMakeArray runs initialize_tick_array(first tick). Accounts: pool, funder, array, system.
func whirlMakeArray(x *machine, f *frame) error {
	x.log("Program log: Instruction: InitializeTickArray")
	a, start := f.accs, int32(binary.LittleEndian.Uint32(f.data[8:]))
	if start%whirlWidth != 0 || start < -whirlLast-whirlWidth || start > whirlLast {
		return failCustom(whirlInvalidStart)
	}
	if x.acc(a[0]).Owner != WhirlpoolProgram || len(x.acc(a[0]).Data) != layout.WhirlpoolSize {
		return failCustom(anchorWrongOwner)
	}
	if x.key(a[2]) != x.derived.array(x.key(a[0]), start/whirlWidth, whirlArrayKey) {
		return failCustom(anchorConstraintSeeds)
	}
	if err := x.makeAccount(f, a[1], a[2], layout.WhirlpoolArraySize, WhirlpoolProgram); err != nil {
		return err
	}
	copy(x.mutable(a[2]).Data, layout.WhirlpoolFixedArray(x.key(a[0]), start, nil))
	return nil
}

// whirlOpenPosition runs open_position(bump, lower tick, upper tick): who holds the one token of
// the position's mint owns the position. Accounts: funder, owner, position, its mint, the owner's
// account of that, pool, token program, system, rent, associated token program.
func whirlOpenPosition(x *machine, f *frame) error {
	x.log("Program log: Instruction: OpenPosition")
	a := f.accs
	low, high := getTick(f.data[9:]), getTick(f.data[13:])
	if low >= high || low < -whirlLast || high > whirlLast || low%whirlSpacing != 0 || high%whirlSpacing != 0 {
		return failCustom(whirlInvalidTick)
	}
	mint := x.key(a[3])
	if position, _ := pda(WhirlpoolProgram, []byte("position"), mint[:]); x.key(a[2]) != position {
		return failCustom(anchorConstraintSeeds)
	}
	if x.acc(a[5]).Owner != WhirlpoolProgram || len(x.acc(a[5]).Data) != layout.WhirlpoolSize || x.key(a[6]) != TokenProgram {
		return failCustom(anchorWrongOwner)
	}
	if !a[3].signer {
		return failCustom(anchorNotSigner)
	}
	if err := x.makeAccount(f, a[0], a[2], whirlPositionSize, WhirlpoolProgram); err != nil {
		return err
	}
	if err := x.makeAccount(f, a[0], a[3], layout.MintSize, TokenProgram); err != nil {
		return err
	}
	made, holder, pool := ref{idx: a[3].idx, writable: true}, ref{idx: a[4].idx, writable: true}, ref{idx: a[5].idx, signer: true}
	for _, c := range []struct {
		program  Key
		accounts []ref
		data     []byte
	}{
		{TokenProgram, []ref{made}, layout.InitializeMint2(0, x.key(a[5]), nil)},
		{AssociatedProgram, []ref{x.signedBy(f, 0), holder, {idx: a[1].idx}, {idx: a[3].idx}, {idx: a[7].idx}, {idx: a[6].idx}}, nil},
		{TokenProgram, []ref{made, holder, pool}, layout.MintTo(1)},
		{TokenProgram, []ref{made, pool}, ixSetAuthority(TokenProgram, mint, x.key(a[5]), layout.AuthorityMint, nil).Data},
	} {
		if err := x.call(f, c.program, c.accounts, c.data); err != nil {
			return err
		}
	}
	d, key := x.mutable(a[2]).Data, x.key(a[5])
	copy(d, whirlPositionDisc[:])
	copy(d[whirlPositionPool:], key[:])
	copy(d[whirlPositionMint:], mint[:])
	copy(d[whirlPositionLow:], f.data[9:17])
	return nil
}

// getTick reads the number of a tick.
func getTick(d []byte) int32 { return int32(binary.LittleEndian.Uint32(d)) }

// whirlLiquidity runs increase_liquidity_v2(liquidity, most a, most b) and
// decrease_liquidity_v2(liquidity, least a, least b), on fixed tick arrays. Accounts: pool, program
// of a, program of b, memo, user, position, his account of its mint, mint a, mint b, the user's a
// and b, vault a, vault b, the arrays of the lower and the upper tick.
func whirlLiquidity(x *machine, f *frame) error {
	a, adds := f.accs, [8]byte(f.data[:8]) == whirlIncrease
	liquidity := getWide(f.data[8:])
	if liquidity.IsZero() {
		return failCustom(whirlNoLiquidity)
	}
	if err := whirlCheck(x, a); err != nil {
		return err
	}
	position := x.mutable(a[5]).Data
	low, high, tick := getTick(position[whirlPositionLow:]), getTick(position[whirlPositionHigh:]), getTick(x.acc(a[0]).Data[layout.WhirlpoolTickAt:])
	amounts := whirlAmounts(x.acc(a[0]).Data, liquidity, low, high, adds)
	change := new(uint256.Int).Set(liquidity)
	if !adds {
		change.Neg(change)
	}
	if !addWide(position[whirlPositionL:], change) {
		return failCustom(whirlUnderflow)
	}
	if low <= tick && tick < high && !addWide(x.mutable(a[0]).Data[layout.WhirlpoolLiquidity:], change) {
		return failCustom(whirlUnderflow)
	}
	if !whirlTouch(x, a[13], x.key(a[0]), low, change, change) || !whirlTouch(x, a[14], x.key(a[0]), high, new(uint256.Int).Neg(change), change) {
		return failCustom(whirlInvalidTick)
	}
	for side, amount := range amounts {
		limit := binary.LittleEndian.Uint64(f.data[24+8*side:])
		from, to, authority := a[9+side], a[11+side], a[4]
		switch {
		case adds && amount > limit:
			return failCustom(whirlMaxExceeded)
		case !adds && amount < limit:
			return failCustom(whirlMinMissed)
		case !adds:
			from, to, authority = to, from, ref{idx: a[0].idx, signer: true}
		}
		if err := cpmmTransfer(x, f, from, to, authority, a[1+side], a[7+side], amount); err != nil {
			return err
		}
	}
	whirlTell(x, f, liquidity, amounts)
	return nil
}

// whirlTell logs LiquidityIncreased or LiquidityDecreased: pool, position, its ticks, liquidity,
// amounts, transfer fees.
func whirlTell(x *machine, f *frame, liquidity *uint256.Int, amounts [2]uint64) {
	event, pool, position := whirlDecreased, x.key(f.accs[0]), x.key(f.accs[5])
	if [8]byte(f.data[:8]) == whirlIncrease {
		event = whirlIncreased
	}
	data := append(append(append([]byte(nil), event[:]...), pool[:]...), position[:]...)
	data = append(data, x.acc(f.accs[5]).Data[whirlPositionLow:whirlPositionHigh+4]...)
	for _, n := range []uint64{liquidity[0], liquidity[1], amounts[0], amounts[1], 0, 0} {
		data = layout.AppendU64(data, n)
	}
	x.log("Program data: " + base64Std(data))
}

// whirlCheck checks the accounts of whirlLiquidity against the pool and the position.
func whirlCheck(x *machine, a []ref) error {
	pool, position := x.acc(a[0]), x.acc(a[5])
	if pool.Owner != WhirlpoolProgram || len(pool.Data) != layout.WhirlpoolSize || position.Owner != WhirlpoolProgram || len(position.Data) != whirlPositionSize {
		return failCustom(anchorWrongOwner)
	}
	for side := range 2 {
		if x.key(a[7+side]) != keyAt(pool.Data, whirlMints+whirlSide*side) || x.key(a[11+side]) != keyAt(pool.Data, whirlVaults+whirlSide*side) ||
			x.key(a[1+side]) != x.acc(a[7+side]).Owner {
			return failCustom(anchorConstraintAddress)
		}
	}
	if keyAt(position.Data, whirlPositionPool) != x.key(a[0]) || !x.holds(a[6], keyAt(position.Data, whirlPositionMint)) {
		return failCustom(anchorConstraintRaw)
	}
	if !a[4].signer || layout.OwnerOf(x.acc(a[6]).Data) != x.key(a[4]) || layout.Amount(x.acc(a[6]).Data) != 1 {
		return failCustom(whirlNotDelegate)
	}
	return nil
}

// whirlAmounts returns what liquidity between two ticks is worth at the pool's price.
func whirlAmounts(pool []byte, liquidity *uint256.Int, low, high int32, up bool) (amounts [2]uint64) {
	price, from, to := getWide(pool[layout.WhirlpoolPrice:]), whirlPriceAt(low), whirlPriceAt(high)
	if price.Lt(to) {
		at := from
		if price.Gt(from) {
			at = price
		}
		amounts[0] = clmmBetween(liquidity, at, to, true, up)
	}
	if price.Gt(from) {
		at := to
		if price.Lt(to) {
			at = price
		}
		amounts[1] = clmmBetween(liquidity, from, at, false, up)
	}
	return amounts
}

// addWide adds to a number of 128 bits; false if the result is not one.
func addWide(d []byte, change *uint256.Int) bool {
	n := getWide(d)
	if n.Add(n, change); n[2]|n[3] != 0 {
		return false
	}
	putWide(d, n)
	return true
}

// whirlTouch changes what a tick's liquidity gains, and all liquidity that ends there; false
// without its array. The net is in two's complement.
func whirlTouch(x *machine, array ref, pool Key, tick int32, net, gross *uint256.Int) bool {
	n := whirlNumber(tick, whirlSpacing)
	if x.key(array) != x.derived.array(pool, n, whirlArrayKey) || len(x.acc(array).Data) != layout.WhirlpoolArraySize {
		return false
	}
	raw := x.mutable(array).Data[12+layout.WhirlpoolTickSize*int(tick/whirlSpacing-n*layout.WhirlpoolArrayTicks):]
	sum := getWide(raw[1:])
	putWide(raw[1:], sum.Add(sum, net))
	if !addWide(raw[17:], gross) {
		return false
	}
	if raw[0] = 1; getWide(raw[17:]).IsZero() {
		raw[0] = 0
	}
	return true
}
