package swap

import "github.com/mintlake/mintlake/swap/venue/arith"

// atLeast returns amount less slippage basis points, rounded down:
// ⌊amount·(10,000−slippage)/10,000⌋.
func atLeast(amount, slippage uint64) uint64 {
	return proportion(amount, maxSlippage-slippage, maxSlippage)
}

// atMost returns amount plus slippage basis points, rounded up: ⌈amount·(10,000+slippage)/10,000⌉,
// at most the greatest uint64.
func atMost(amount, slippage uint64) uint64 {
	n, ok := arith.MulDivUp(amount, maxSlippage+slippage, maxSlippage)
	if !ok {
		return 1<<64 - 1
	}
	return n
}

// addFee returns an amount of which at least net is left after a fee of bps basis points:
// ⌈net·10,000/(10,000−bps)⌉, at most the greatest uint64.
func addFee(net, bps uint64) uint64 {
	n, ok := arith.MulDivUp(net, maxSlippage, maxSlippage-bps)
	if !ok {
		return 1<<64 - 1
	}
	return n
}

// proportion returns ⌊amount·part/whole⌋. part must be at most whole, so the result does not
// overflow. A whole of 0 counts as 1.
func proportion(amount, part, whole uint64) uint64 {
	n, _ := arith.MulDiv(amount, part, max(whole, 1))
	return n
}
