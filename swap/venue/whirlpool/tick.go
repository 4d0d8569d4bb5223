package whirlpool

import (
	"math"
	"math/bits"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Ticks number the prices: √P at a tick is 1.0001^(tick/2), in Q64.64. minTick has the lowest price
// and maxTick the highest (whirlpools, math/tick_math.rs).
const (
	minTick = -443_636
	maxTick = 443_636
)

// minPrice and maxPrice are √P at minTick and maxTick.
var minPrice, maxPrice = priceAt(minTick), priceAt(maxTick)

// fallingFactors are 2^64/1.0001^(2^(i-1)), and risingFactors are 2^96·1.0001^(2^(i-1)), with the
// same digits as in the program.
var (
	fallingFactors = [19]uint64{
		18445821805675392311, 18444899583751176498, 18443055278223354162, 18439367220385604838, 18431993317065449817, 18417254355718160513, 18387811781193591352,
		18329067761203520168, 18212142134806087854, 17980523815641551639, 17526086738831147013, 16651378430235024244, 15030750278693429944, 12247334978882834399,
		8131365268884726200, 3584323654723342297, 696457651847595233, 26294789957452057, 37481735321082,
	}
	risingFactors = decimals(
		"79232123823359799118286999567", "79236085330515764027303304731", "79244008939048815603706035061", "79259858533276714757314932305",
		"79291567232598584799939703904", "79355022692464371645785046466", "79482085999252804386437311141", "79736823300114093921829183326",
		"80248749790819932309965073892", "81282483887344747381513967011", "83390072131320151908154831281", "87770609709833776024991924138",
		"97234110755111693312479820773", "119332217159966728226237229890", "179736315981702064433883588727", "407748233172238350107850275304",
		"2098478828474011932436660412517", "55581415166113811149459800483533", "38992368544603139932233054999993551",
	)
)

func decimals(digits ...string) (numbers [19]uint256.Int) {
	for i := range numbers {
		numbers[i] = *uint256.MustFromDecimal(digits[i])
	}
	return numbers
}

// priceAt returns √P at a tick from minTick to maxTick. It is the product of the factors for the
// bits of the tick's distance from 0, each multiplication rounded down.
func priceAt(tick int32) arith.U128 {
	if tick < 0 {
		return fallingPrice(uint32(-tick))
	}
	var ratio uint256.Int
	ratio.Lsh(ratio.SetOne(), 96)
	for i, rest := 0, uint32(tick); rest != 0; i, rest = i+1, rest>>1 {
		if rest&1 != 0 {
			ratio.Mul(&ratio, &risingFactors[i])
			ratio.Rsh(&ratio, 96)
		}
	}
	return arith.Narrow(ratio.Rsh(&ratio, 32))
}

func fallingPrice(distance uint32) arith.U128 {
	ratio := arith.U128{Hi: 1}
	for i, rest := 0, distance; rest != 0; i, rest = i+1, rest>>1 {
		if rest&1 == 0 {
			continue
		}
		carry, _ := bits.Mul64(ratio.Lo, fallingFactors[i])
		hi, lo := bits.Mul64(ratio.Hi, fallingFactors[i])
		lo, over := bits.Add64(lo, carry, 0)
		ratio = arith.U128{Lo: lo, Hi: hi + over}
	}
	return ratio
}

// tickAt returns the highest tick whose price is not above price, which is from minPrice to
// maxPrice. A logarithm of floating-point numbers gives an estimate, and comparisons of whole
// numbers correct it.
func tickAt(price arith.U128) int32 {
	ratio := float64(price.Hi) + float64(price.Lo)*0x1p-64
	tick := min(max(int32(2*math.Log(ratio)/math.Log(1.0001)), minTick), maxTick)
	for tick > minTick && price.Less(priceAt(tick)) {
		tick--
	}
	for tick < maxTick && !price.Less(priceAt(tick+1)) {
		tick++
	}
	return tick
}

// floorDiv returns a/b rounded down. b is above 0.
func floorDiv(a, b int64) int64 {
	if a%b >= 0 {
		return a / b
	}
	return a/b - 1
}
