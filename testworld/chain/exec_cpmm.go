package chain

import (
	"encoding/binary"
	"math/bits"

	"github.com/mintlake/mintlake/testworld/layout"
)

// cpmmSwapEvent begins the event of a swap (raydium-cp-swap, states/events.rs).
var cpmmSwapEvent = [8]byte{0x40, 0xc6, 0xcd, 0xe8, 0x26, 0x08, 0x71, 0xe2}

const cpmmRateDenominator = 1_000_000

// CPMM error codes (raydium-cp-swap, error.rs; Anchor's own start at 6000).
const (
	cpmmNotApproved      = 6000
	cpmmExceededSlippage = 6005
	cpmmZeroTrading      = 6006
	cpmmNotSupportMint   = 6007
	cpmmInitLPTooLess    = 6009
)

// cpmmAuthoritySeed derives the vaults' authority.
const cpmmAuthoritySeed = "vault_and_lp_mint_auth_seed"

func runCPMM(x *machine, f *frame) error {
	x.used += 24_000
	if len(f.data) < 8 {
		return failCustom(anchorInstructionMissing)
	}
	if [8]byte(f.data[:8]) == layout.CPMMSwapBaseInput && len(f.data) >= 24 {
		x.log("Program log: Instruction: SwapBaseInput")
		return cpmmSwap(x, f, binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:]), true)
	}
	if [8]byte(f.data[:8]) == layout.CPMMSwapBaseOutput && len(f.data) >= 24 {
		x.log("Program log: Instruction: SwapBaseOutput")
		return cpmmSwap(x, f, binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:]), false)
	}
	if [8]byte(f.data[:8]) == cpmmInitialize && len(f.data) >= 32 {
		x.used += 120_000
		x.log("Program log: Instruction: Initialize")
		return cpmmCreate(x, f, binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:]), binary.LittleEndian.Uint64(f.data[24:]))
	}
	return failCustom(anchorFallbackNotFound)
}

// poolSide is the side of token 0 or of token 1 in a PoolState.
type poolSide struct{ zero bool }

func (s poolSide) at(first int) int {
	if s.zero {
		return first
	}
	return first + 8
}

// reserve returns the vault's amount less the fees that are still in it.
func (s poolSide) reserve(pool, vault []byte) uint64 {
	return layout.Amount(vault) - binary.LittleEndian.Uint64(pool[s.at(layout.PoolProtocolFees0):]) -
		binary.LittleEndian.Uint64(pool[s.at(layout.PoolFundFees0):])
}

func addU64(b []byte, n uint64) { binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+n) }

// QuoteBaseInput is the CPMM formula without a creator fee: out = ⌊net·Ro/(Ri+net)⌋, where net = a
// − fee and fee = ⌈a·trade/1e6⌉.
func QuoteBaseInput(amount, reserveIn, reserveOut, tradeRate uint64) (out, fee uint64) {
	hi, lo := bits.Mul64(amount, tradeRate)
	q, rem := bits.Div64(hi, lo, cpmmRateDenominator)
	if rem > 0 {
		q++
	}
	net := amount - q
	if net == 0 || reserveIn+net < reserveIn {
		return 0, q
	}
	hi, lo = bits.Mul64(net, reserveOut)
	out, _ = bits.Div64(hi, lo, reserveIn+net)
	return out, q
}

// quote has the amounts of a swap. pays leaves the user, with the input mint's transfer fee in it;
// sends leaves the pool, before the output mint's transfer fee is taken.
type quote struct {
	pays, sends   uint64
	inFee, outFee uint64 // transfer fees of Token-2022
	fee           uint64 // trade fee, in the input token
	base          bool   // exact input
}

func (x *machine) quoteInput(amount uint64, ri, ro, rate uint64, inMint, outMint []byte) (q quote, received uint64) {
	q = quote{pays: amount, inFee: TransferFee(inMint, x.epoch, amount), base: true}
	q.sends, q.fee = QuoteBaseInput(amount-q.inFee, ri, ro, rate)
	q.outFee = TransferFee(outMint, x.epoch, q.sends)
	return q, q.sends - q.outFee
}

// QuoteBaseOutput is the formula for an exact output without a creator fee: in =
// ⌈net·1e6/(1e6−trade)⌉, where net = ⌈Ri·o/(Ro−o)⌉; 0 if the pool does not hold so much.
func QuoteBaseOutput(out, reserveIn, reserveOut, tradeRate uint64) (in, fee uint64) {
	if out == 0 || out >= reserveOut || tradeRate >= cpmmRateDenominator {
		return 0, 0
	}
	net, ok := mulDivUp(reserveIn, out, reserveOut-out)
	if !ok {
		return 0, 0
	}
	if in, ok = mulDivUp(net, cpmmRateDenominator, cpmmRateDenominator-tradeRate); !ok {
		return 0, 0
	}
	return in, in - net
}

// quoteOutput quotes the swap after which the user has received the amount, with the transfer fees
// of both mints.
func (x *machine) quoteOutput(received uint64, ri, ro, rate uint64, inMint, outMint []byte) quote {
	q := quote{outFee: InverseTransferFee(outMint, x.epoch, received)}
	q.sends = received + q.outFee
	var in uint64
	in, q.fee = QuoteBaseOutput(q.sends, ri, ro, rate)
	q.inFee = InverseTransferFee(inMint, x.epoch, in)
	q.pays = in + q.inFee
	return q
}

// cpmmSwap runs swap_base_input (first is the amount in, second the least out) or swap_base_output
// (the most in, the amount out). Accounts: payer, authority, config, pool, in, out, in vault, out
// vault, in program, out program, in mint, out mint, observation.
func cpmmSwap(x *machine, f *frame, first, second uint64, base bool) error {
	if err := f.need(13); err != nil {
		return err
	}
	pool, inVault, outVault := f.accs[3], f.accs[6], f.accs[7]
	p := x.acc(pool)
	if p.Owner != CPMMProgram || len(p.Data) != layout.CPMMPoolSize || x.acc(f.accs[2]).Owner != CPMMProgram {
		return failCustom(anchorWrongOwner)
	}
	zero, ok := cpmmSides(x, f, p.Data)
	if !ok {
		return failCustom(anchorConstraintRaw)
	}
	if p.Data[layout.PoolStatus]&4 != 0 || uint64(x.now) < binary.LittleEndian.Uint64(p.Data[layout.PoolOpenTime:]) {
		return failCustom(cpmmNotApproved)
	}
	in, out := poolSide{zero}, poolSide{!zero}
	ri, ro := in.reserve(p.Data, x.acc(inVault).Data), out.reserve(p.Data, x.acc(outVault).Data)
	rate := binary.LittleEndian.Uint64(x.acc(f.accs[2]).Data[layout.ConfigTradeRate:])
	inMint, outMint := x.acc(f.accs[10]).Data, x.acc(f.accs[11]).Data
	var q quote
	var slipped bool
	if base {
		var received uint64
		q, received = x.quoteInput(first, ri, ro, rate, inMint, outMint)
		slipped = received < second
	} else {
		q = x.quoteOutput(second, ri, ro, rate, inMint, outMint)
		slipped = q.pays > first
	}
	if q.sends == 0 || q.pays <= q.inFee {
		return failCustom(cpmmZeroTrading)
	}
	if slipped {
		x.log("Program log: AnchorError occurred. Error Code: ExceededSlippage. Error Number: 6005. Error Message: Exceeds desired slippage limit.")
		return failCustom(cpmmExceededSlippage)
	}
	return x.settle(f, q, in, ri, ro)
}

// settle books the fees, emits the event and makes the two transfers.
func (x *machine) settle(f *frame, q quote, in poolSide, ri, ro uint64) error {
	config := x.acc(f.accs[2]).Data
	d := x.mutable(f.accs[3]).Data
	addU64(d[in.at(layout.PoolProtocolFees0):], mulDiv(q.fee, binary.LittleEndian.Uint64(config[layout.ConfigProtocolRate:]), cpmmRateDenominator))
	addU64(d[in.at(layout.PoolFundFees0):], mulDiv(q.fee, binary.LittleEndian.Uint64(config[layout.ConfigFundRate:]), cpmmRateDenominator))
	x.logSwapEvent(f, ri, ro, q)
	if err := cpmmTransfer(x, f, f.accs[4], f.accs[6], f.accs[0], f.accs[8], f.accs[10], q.pays); err != nil {
		return err
	}
	authority := ref{idx: f.accs[1].idx, signer: true}
	if err := cpmmTransfer(x, f, f.accs[7], f.accs[5], authority, f.accs[9], f.accs[11], q.sends); err != nil {
		return err
	}
	x.used += 3000
	binary.LittleEndian.PutUint64(x.mutable(f.accs[3]).Data[layout.PoolRecentEpoch:], x.epoch)
	return nil
}

// cpmmSides checks that the accounts are the pool's own, as the program's constraints do. zero is
// true if token 0 goes in.
func cpmmSides(x *machine, f *frame, pool []byte) (zero, ok bool) {
	is := func(i, at int) bool {
		k := x.key(f.accs[i])
		return string(pool[at:at+32]) == string(k[:])
	}
	zero = is(6, layout.PoolVault0)
	in, out := 0, 32
	if !zero {
		in, out = 32, 0
	}
	ok = f.accs[0].signer && x.key(f.accs[1]) == CPMMAuthority && is(2, layout.PoolConfig) && is(6, layout.PoolVault0+in) && is(7, layout.PoolVault0+out) &&
		is(8, layout.PoolProgram0+in) && is(9, layout.PoolProgram0+out) && is(10, layout.PoolMint0+in) && is(11, layout.PoolMint0+out) && is(12, layout.PoolObservation)
	return zero, ok && layout.IsTokenAccount(x.acc(f.accs[6]).Data) && layout.IsTokenAccount(x.acc(f.accs[7]).Data)
}

func cpmmTransfer(x *machine, f *frame, from, to, auth, program, mint ref, amount uint64) error {
	data := layout.TransferChecked(amount, x.decimals(x.key(mint)))
	return x.call(f, x.key(program), []ref{{idx: from.idx, writable: true}, {idx: mint.idx}, {idx: to.idx, writable: true},
		{idx: auth.idx, signer: auth.signer, writable: auth.writable}}, data)
}

// logSwapEvent writes the SwapEvent that the program emits as "Program data".
func (x *machine) logSwapEvent(f *frame, reserveIn, reserveOut uint64, q quote) {
	b := make([]byte, 0, 170)
	b = append(b, cpmmSwapEvent[:]...)
	k := x.key(f.accs[3])
	b = append(b, k[:]...)
	b = layout.AppendU64(layout.AppendU64(b, reserveIn), reserveOut)
	b = layout.AppendU64(layout.AppendU64(b, q.pays-q.inFee), q.sends)
	b = layout.AppendU64(layout.AppendU64(b, q.inFee), q.outFee)
	if q.base {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	inMint, outMint := x.key(f.accs[10]), x.key(f.accs[11])
	b = append(append(b, inMint[:]...), outMint[:]...)
	b = layout.AppendU64(layout.AppendU64(b, q.fee), 0)
	b = append(b, 1)
	x.log("Program data: " + base64Std(b))
}
