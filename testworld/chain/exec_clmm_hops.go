package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// clmmRouter begins swap_router_base_in.
var clmmRouter = [8]byte{0x45, 0x7d, 0x73, 0xda, 0xf5, 0xba, 0xf2, 0xc4}

// clmmMost is how many pools an instruction may name; the chain's own limit, as a transaction has
// room for few more.
const clmmMost = 6

// clmmRoute runs swap_router_base_in(amount, minimum): what one pool pays into the user's account,
// the next one takes. Accounts: user, source, mint that is sold, both token programs, memo; then of
// each pool: config, pool, the user's account that it pays, vault in, vault out, mint out,
// observation, tick arrays.
func clmmRoute(x *machine, f *frame) error {
	const fixed, perHop, size = 6, 7, 24
	if len(f.data) < size {
		return failCustom(anchorFallbackNotFound)
	}
	if err := f.need(fixed + perHop); err != nil {
		return failCustom(anchorNotEnoughKeys)
	}
	x.log("Program log: Instruction: SwapRouterBaseIn")
	a := f.accs
	amount, source, sold := binary.LittleEndian.Uint64(f.data[8:]), a[1], a[2]
	for hops, rest := 0, a[fixed:]; len(rest) > 0; hops++ {
		if hops == clmmMost || len(rest) < perHop {
			return failCustom(anchorNotEnoughKeys)
		}
		end := perHop
		for end < len(rest) && len(x.acc(rest[end]).Data) != layout.CLMMConfigSize {
			end++
		}
		h := clmmHop{
			user: a[0], source: source, programs: [2]ref{a[3], a[4]}, config: rest[0], pool: rest[1], destination: rest[2], vaults: [2]ref{rest[3], rest[4]},
			mints: [2]ref{sold, rest[5]}, observation: rest[6], arrays: rest[perHop:end],
		}
		t, err := h.trade(x, amount, true)
		if err != nil {
			return err
		}
		if err := h.settle(x, f, &t); err != nil {
			return err
		}
		amount, source, sold, rest = t.sends, h.destination, h.mints[1], rest[end:]
	}
	if amount < binary.LittleEndian.Uint64(f.data[16:]) {
		return failCustom(clmmTooLittle)
	}
	return nil
}
