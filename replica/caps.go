package replica

// What a market must have for its price to stand for more than the next trade. docs/market-caps.md
// tells why, and which attacks each bound stops.
const (
	// FloorHeldUSD is how much its pools must have held in stables and SOL.
	FloorHeldUSD = 10_000
	// FloorTraders is how many wallets must have traded it in 24 hours.
	FloorTraders = 25
	// MaxCapPerHeld is how many times what its pools held a market cap may be.
	MaxCapPerHeld = 1_000
	// MaxFeeBasisPoints is the highest transfer fee of a mint whose holders get what they sell for.
	MaxFeeBasisPoints = 1_000
)

// Withheld is why a token has no market cap.
type Withheld string

// Reasons, in the order in which they are looked for.
const (
	WithheldNoPrice     Withheld = "no_price"
	WithheldNoSupply    Withheld = "no_supply"
	WithheldTransferFee Withheld = "transfer_fee"
	WithheldThin        Withheld = "thin_liquidity"
	WithheldFewTraders  Withheld = "few_traders"
	WithheldBeyondPools Withheld = "beyond_liquidity"
	WithheldNothing     Withheld = ""
)

// floor returns what keeps the market from counting in orders by cap, trend, change and organic
// volume; WithheldNothing: it counts. Anchors always do.
func (m *Market) floor() Withheld {
	switch {
	case m.PriceUSD == nil:
		return WithheldNoPrice
	case m.Anchor:
		return WithheldNothing
	case m.feeBasisPoints > MaxFeeBasisPoints:
		return WithheldTransferFee
	case m.HeldUSD == nil || *m.HeldUSD < FloorHeldUSD:
		return WithheldThin
	case m.Traders < FloorTraders:
		return WithheldFewTraders
	default:
		return WithheldNothing
	}
}

// Counts returns whether the market counts in orders by trend, change and organic volume.
func (m *Market) Counts() bool { return m.floor() == WithheldNothing }

// Counting returns a figure that is unknown for markets that do not count.
func Counting(figure func(m *Market) *float64) func(m *Market) *float64 {
	return func(m *Market) *float64 {
		if !m.Counts() {
			return nil
		}
		return figure(m)
	}
}

// FullyDiluted is the price times a supply in whole tokens, whether or not anybody could sell for
// it; nil without a price or a supply.
func (m *Market) FullyDiluted(supply *float64) *float64 {
	if m.PriceUSD == nil || supply == nil {
		return nil
	}
	usd := *m.PriceUSD * *supply
	return &usd
}

// Cap is the market capitalisation of a supply in whole tokens that the market's liquidity can
// carry. If it is nil, why tells the reason.
func (m *Market) Cap(supply *float64) (usd *float64, why Withheld) {
	usd, why = m.FullyDiluted(supply), m.floor()
	switch {
	case why == WithheldNoPrice:
		return nil, why
	case usd == nil:
		return nil, WithheldNoSupply
	case why != WithheldNothing:
		return nil, why
	case !m.Anchor && *usd > MaxCapPerHeld**m.HeldUSD:
		return nil, WithheldBeyondPools
	default:
		return usd, WithheldNothing
	}
}

// CapThen is Cap with the supply at the time when the figures were set: tokens are ordered by it.
func (m *Market) CapThen() *float64 {
	usd, _ := m.Cap(m.supply)
	return usd
}
