package chain

import (
	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// dlmmLast is the highest bin of a DLMM pool; the lowest is its opposite.
const dlmmLast = 443_636

// dlmmPriceAt returns the price of a bin, times 2⁶⁴: (1+step/10,000)^bin, by squares of its inverse
// as the program has it (commons/src/math/u64x64_math.rs).
func dlmmPriceAt(bin int32, step uint16) *uint256.Int {
	one := new(uint256.Int).Lsh(uint256.NewInt(1), 64)
	all := new(uint256.Int).Lsh(uint256.NewInt(1), 128)
	all.SubUint64(all, 1)
	square := new(uint256.Int).Mul(one, uint256.NewInt(uint64(step)))
	square.Add(one, square.Div(square, uint256.NewInt(10_000)))
	square.Div(all, square)
	price := new(uint256.Int).Set(one)
	for rest := uint32(max(bin, -bin)); rest != 0; rest >>= 1 {
		if rest&1 == 1 {
			price.Rsh(price.Mul(price, square), 64)
		}
		square.Rsh(square.Mul(square, square), 64)
	}
	if bin > 0 && !price.IsZero() {
		price.Div(all, price)
	}
	return price
}

// dlmmBinAt returns the highest bin whose price is not above one, by bisection among those whose
// price has few enough bits.
func dlmmBinAt(price *uint256.Int, step uint16) int32 {
	low, high := int32(-dlmmWindow*layout.DLMMArrayBins), int32(dlmmWindow*layout.DLMMArrayBins)
	for high-low > 1 {
		if middle := (low + high) >> 1; dlmmPriceAt(middle, step).Gt(price) {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// dlmmNumber returns the number of the array in which a bin lies.
func dlmmNumber(bin int32) int32 {
	if bin < 0 {
		return -((-bin-1)/layout.DLMMArrayBins + 1)
	}
	return bin / layout.DLMMArrayBins
}
