// Package pumpfees knows the fee schedules that pump's programs share: the account of the program
// pump_fees, and the arithmetic of fees on top of a net amount.
//
// In: accounts of the chain, hostile. Out: the fee rates of a trade, and fees on amounts.
// Guarantees: pure, never panics.
//
// It is written from the account layouts in the interface descriptions of pump-rust-client 0.5.0
// (MIT), and checked against pump-swap-sdk 1.20.0 and runs of the programs.
package pumpfees

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Program owns the fee configurations.
var Program = pubkey.MustParse("pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ")

var (
	// usdc is the quote mint whose pools have tiers of their own: Config.stable.
	usdc = pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	// native2022 is the mint of wrapped SOL under Token-2022, which counts as SOL.
	native2022 = pubkey.MustParse(schemas.MintWrappedSOL2022)
	// discriminator is that of a FeeConfig account.
	discriminator = [8]byte{0x8f, 0x34, 0x92, 0xbb, 0xdb, 0x7b, 0x4c, 0x9b}
)

// VolumeSize is the length of a UserVolumeAccumulator account, in bytes. It is the same for pump's
// bonding curve and for PumpSwap.
const VolumeSize = 137

// Whole is 100 % in basis points.
const Whole = 10_000

// Rates are the fee rates of a trade, in basis points.
type Rates struct {
	LP, Protocol, Creator uint64
}

// Sum returns the sum of the rates.
func (r Rates) Sum() uint64 { return r.LP + r.Protocol + r.Creator }

// tier has the rates of coins whose market cap is at least from, up to the next tier.
type tier struct {
	from  [2]uint64 // 128 bits: high word, low word
	rates Rates
}

// Config is a FeeConfig account. Immutable.
type Config struct {
	// flat are the rates of pools that pump did not make. exotic are those of pools whose quote
	// mint is neither SOL nor USDC; if they are zero, flat counts.
	flat, exotic Rates
	// tiers are for pools quoted in SOL, stable for pools quoted in USDC.
	tiers, stable []tier
}

const (
	flatAt   = 41
	tiersAt  = 65
	rateSize = 24
	tierSize = 16 + rateSize
	// maxRate bounds a rate: with a higher one the programs would fail.
	maxRate = Whole
)

// Decode reads a FeeConfig account. Older accounts end after the tiers for SOL.
func Decode(data []byte) (*Config, error) {
	if len(data) < tiersAt+4 || [8]byte(data) != discriminator {
		return nil, fmt.Errorf("%w: a fee config of %d bytes", venue.ErrMalformed, len(data))
	}
	c := &Config{flat: ratesOf(data[flatAt:])}
	rest, err := readTiers(data[tiersAt:], &c.tiers)
	if err != nil {
		return nil, err
	}
	if len(rest) >= 4 {
		if rest, err = readTiers(rest, &c.stable); err != nil {
			return nil, err
		}
	}
	if len(rest) >= rateSize {
		c.exotic = ratesOf(rest)
	}
	for _, r := range c.all() {
		if r.LP > maxRate || r.Protocol > maxRate || r.Creator > maxRate {
			return nil, fmt.Errorf("%w: a fee of more than everything", venue.ErrMalformed)
		}
	}
	return c, nil
}

func (c *Config) all() []Rates {
	list := []Rates{c.flat, c.exotic}
	for _, tiers := range [][]tier{c.tiers, c.stable} {
		for _, t := range tiers {
			list = append(list, t.rates)
		}
	}
	return list
}

func ratesOf(data []byte) Rates {
	at := func(offset int) uint64 { return binary.LittleEndian.Uint64(data[offset:]) }
	return Rates{at(0), at(8), at(16)}
}

func readTiers(data []byte, tiers *[]tier) ([]byte, error) {
	count := uint64(binary.LittleEndian.Uint32(data))
	data = data[4:]
	if count*tierSize > uint64(len(data)) {
		return nil, fmt.Errorf("%w: %d fee tiers in %d bytes", venue.ErrMalformed, count, len(data))
	}
	for range count {
		*tiers = append(*tiers, tier{[2]uint64{binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data)}, ratesOf(data[16:])})
		data = data[tierSize:]
	}
	return data, nil
}

// Coin is what the rates of a trade depend on: the coin, its pool and its market cap.
type Coin struct {
	// Canonical says that pump itself made the pool. Other pools pay flat fees.
	Canonical bool
	// Quote is the quote mint; zero stands for SOL.
	Quote venue.Key
	// QuoteReserve·Supply/BaseReserve is the market cap. BaseReserve must not be 0.
	QuoteReserve, Supply, BaseReserve uint64
}

// Rates returns the fee rates of a trade of a coin. The error wraps venue.ErrClosed if there are no
// tiers.
func (c *Config) Rates(coin Coin) (Rates, error) {
	if !coin.Canonical {
		return c.flat, nil
	}
	tiers := c.tiers
	switch coin.Quote {
	case mint.WrappedSOL, native2022, venue.Key{}:
	case usdc:
		tiers = c.stable
	default:
		if c.exotic == (Rates{}) {
			return c.flat, nil
		}
		return c.exotic, nil
	}
	if len(tiers) == 0 {
		return Rates{}, fmt.Errorf("%w: there are no fee tiers", venue.ErrClosed)
	}
	hi, lo := bits.Mul64(coin.QuoteReserve, coin.Supply)
	capHigh := hi / coin.BaseReserve
	capLow, _ := bits.Div64(hi%coin.BaseReserve, lo, coin.BaseReserve)
	for i := len(tiers) - 1; i > 0; i-- {
		if from := tiers[i].from; capHigh > from[0] || capHigh == from[0] && capLow >= from[1] {
			return tiers[i].rates, nil
		}
	}
	return tiers[0].rates, nil
}

// Fees are the fees of one trade, in raw units.
type Fees struct {
	LP, Protocol, Creator uint64
}

// Sum returns the sum of the fees. ok is false if it exceeds 64 bits.
func (f Fees) Sum() (sum uint64, ok bool) {
	sum, a := bits.Add64(f.LP, f.Protocol, 0)
	sum, b := bits.Add64(sum, f.Creator, 0)
	return sum, a+b == 0
}

// On returns the fees on a net amount, each rounded up.
func (r Rates) On(net uint64) Fees {
	of := func(rate uint64) uint64 {
		fee, _ := arith.MulDivUp(net, rate, Whole)
		return fee
	}
	return Fees{of(r.LP), of(r.Protocol), of(r.Creator)}
}

// Split divides spend, the amount of an exact-in buy, into the net amount that buys and the fees on
// it (exact_quote_in_fees). Σ is the sum of the rates:
//
//	net = ⌊spend·10⁴/(10⁴+Σ)⌋, less what net and the fees on it exceed spend by
//
// net and fees may leave a small rest of spend to the user. ok is false if net would be 0.
func (r Rates) Split(spend uint64) (net uint64, fees Fees, ok bool) {
	net, _ = arith.MulDiv(spend, Whole, Whole+r.Sum())
	fees = r.On(net)
	sum, ok := fees.Sum()
	total, carry := bits.Add64(net, sum, 0)
	if !ok || carry != 0 || net == 0 {
		return 0, fees, false
	}
	if total > spend {
		if total-spend >= net {
			return 0, fees, false
		}
		net -= total - spend
	}
	return net, fees, true
}

// Gross returns the least amount of which at least want is left after the fees. If the rates take
// more than 81 %, the result may be some units more than the least. ok is false if the fees take
// everything, if want is above 2^63, or if the amount exceeds 64 bits.
//
// Each of the three fees rounds up, so a unit more may leave two units less, and a binary search
// could miss the least amount. So Gross tries each amount from the lower bound want/(1-sum) to the
// upper bound (want+3)/(1-sum), where sum is that of the rates. No amount below the first leaves
// want. The second always does, as rounding takes less than 3. Between them are at most 3/(1-sum)
// units: 16 for 81 %.
func (r Rates) Gross(want uint64) (gross uint64, ok bool) {
	if r.Sum() >= Whole || want > 1<<63 {
		return 0, false
	}
	least, ok := arith.MulDivUp(want, Whole, Whole-r.Sum())
	most, alsoOK := arith.MulDivUp(want+3, Whole, Whole-r.Sum())
	if !ok || !alsoOK {
		return 0, false
	}
	for gross = least; gross < most && gross-least < 16; gross++ {
		if r.leaves(gross, want) {
			return gross, true
		}
	}
	return most, true
}

// leaves returns whether at least want of gross is left after the fees.
func (r Rates) leaves(gross, want uint64) bool {
	sum, ok := r.On(gross).Sum()
	return ok && sum <= gross && gross-sum >= want
}
