package swap

import "github.com/mintlake/mintlake/swap/venue/arith"

// atLeast is ⌊amount·(10,000−slippage)/10,000⌋.
func atLeast(amount, slippage uint64) uint64 {
	return proportion(amount, maxSlippage-slippage, maxSlippage)
}

// atMost is ⌈amount·(10,000+slippage)/10,000⌉, or what 64 bits hold.
func atMost(amount, slippage uint64) uint64 {
	n, ok := arith.MulDivUp(amount, maxSlippage+slippage, maxSlippage)
	if !ok {
		return 1<<64 - 1
	}
	return n
}

// addFee is the least amount of which bps can be taken so that net is left, or what 64 bits hold.
func addFee(net, bps uint64) uint64 {
	n, ok := arith.MulDivUp(net, maxSlippage, maxSlippage-bps)
	if !ok {
		return 1<<64 - 1
	}
	return n
}

// proportion is ⌊amount·part/whole⌋ for a part that is at most the whole.
func proportion(amount, part, whole uint64) uint64 {
	n, _ := arith.MulDiv(amount, part, max(whole, 1))
	return n
}
