package swap

import "github.com/mintlake/mintlake/swap/venue/arith"

// atLeast returns ⌊amount·(10,000−slippage)/10,000⌋.
func atLeast(amount, slippage uint64) uint64 {
	return proportion(amount, maxSlippage-slippage, maxSlippage)
}

// atMost returns ⌈amount·(10,000+slippage)/10,000⌉, or the greatest uint64 if that is larger.
func atMost(amount, slippage uint64) uint64 {
	n, ok := arith.MulDivUp(amount, maxSlippage+slippage, maxSlippage)
	if !ok {
		return 1<<64 - 1
	}
	return n
}

// addFee returns ⌈net·10,000/(10,000−bps)⌉, or the greatest uint64 if that is larger. If bps of it
// are taken, at least net is left.
func addFee(net, bps uint64) uint64 {
	n, ok := arith.MulDivUp(net, maxSlippage, maxSlippage-bps)
	if !ok {
		return 1<<64 - 1
	}
	return n
}

// proportion returns ⌊amount·part/whole⌋. part must be at most whole. A whole of 0 counts as 1.
func proportion(amount, part, whole uint64) uint64 {
	n, _ := arith.MulDiv(amount, part, max(whole, 1))
	return n
}
