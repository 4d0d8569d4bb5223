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

// addFee returns the least amount of which bps can be taken so that net is left, or the greatest
// uint64 if that is larger.
func addFee(net, bps uint64) uint64 {
	n, ok := arith.MulDivUp(net, maxSlippage, maxSlippage-bps)
	if !ok {
		return 1<<64 - 1
	}
	return n
}

// proportion returns ⌊amount·part/whole⌋. part must be at most whole.
func proportion(amount, part, whole uint64) uint64 {
	n, _ := arith.MulDiv(amount, part, max(whole, 1))
	return n
}
