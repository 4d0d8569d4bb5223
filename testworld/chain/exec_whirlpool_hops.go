package chain

import "encoding/binary"

// whirlTwoHopV2 begins two_hop_swap_v2.
var whirlTwoHopV2 = [8]byte{0xba, 0x8f, 0xd1, 0x1d, 0xfe, 0x02, 0xc2, 0x75}

const whirlSamePool = 6042 // DuplicateTwoHopPool

// whirlTwoHops runs two_hop_swap_v2(amount, minimum, exact in, a to b in each pool, two price
// limits, further accounts) of an exact amount, without limits and further accounts. The token in
// the middle goes from vault to vault. Accounts: both pools; the mints that are sold, in the middle
// and bought, and their programs; the user's account, both vaults of the first pool, both of the
// second, in the order of the way, the user's account; the user; three tick arrays of each pool;
// both oracles; memo.
func whirlTwoHops(x *machine, f *frame) error {
	const accounts, exactIn, aToB, limits, size = 24, 24, 25, 27, 60
	if len(f.data) < size || f.data[exactIn] == 0 || !getWide(f.data[limits:]).IsZero() || !getWide(f.data[limits+16:]).IsZero() {
		return failCustom(anchorFallbackNotFound)
	}
	if err := f.need(accounts); err != nil {
		return failCustom(anchorNotEnoughKeys)
	}
	x.log("Program log: Instruction: TwoHopSwapV2")
	a := f.accs
	switch {
	case !a[14].signer:
		return failCustom(anchorNotSigner)
	case x.key(a[0]) == x.key(a[1]):
		return failCustom(whirlSamePool)
	}
	var hops [2]whirlHop
	for i := range hops {
		h := &hops[i]
		h.pool, h.arrays, h.in = a[i], a[15+3*i:18+3*i], whirlIn(f.data[aToB+i])
		for place, side := range [2]int{h.in, 1 - h.in} {
			h.mints[side], h.programs[side], h.vaults[side] = a[2+i+place], a[5+i+place], a[9+2*i+place]
		}
	}
	first, err := hops[0].trade(x, binary.LittleEndian.Uint64(f.data[8:]), true)
	if err != nil {
		return err
	}
	second, err := hops[1].trade(x, first.sends, true)
	switch {
	case err != nil:
		return err
	case second.sends < binary.LittleEndian.Uint64(f.data[16:]):
		return failCustom(whirlTooLittle)
	}
	hops[0].move(x, &first)
	hops[1].move(x, &second)
	if err := hops[0].transfer(x, f, hops[0].in, a[8], a[9], a[14], first.pays); err != nil {
		return err
	}
	if err := hops[0].transfer(x, f, 1-hops[0].in, a[10], a[11], hops[0].signer(), first.sends); err != nil {
		return err
	}
	return hops[1].transfer(x, f, 1-hops[1].in, a[12], a[13], hops[1].signer(), second.sends)
}
