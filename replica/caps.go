package replica

// Bounds that a market must keep so that its price stands for the value of all tokens, and not only
// for the next trade. docs/market-caps.md says why, and which attack each bound stops.
const (
	// FloorHeldUSD is the least value of the stables and SOL in the mint's pools, in US dollars:
	// see Market.HeldUSD.
	FloorHeldUSD = 10_000
	// FloorTraders is the least number of wallets that traded the mint in 24 hours.
	FloorTraders = 25
	// MaxCapPerHeld is the highest ratio of a market cap to Market.HeldUSD.
	MaxCapPerHeld = 1_000
	// MaxFeeBasisPoints is the highest transfer fee. With a higher one, holders who sell do not get
	// the price.
	MaxFeeBasisPoints = 1_000
)

// Withheld is why a token has no market cap.
type Withheld string

// Reasons, in the order in which Cap looks for them. WithheldNothing: there is a market cap.
const (
	WithheldNoPrice     Withheld = "no_price"
	WithheldNoSupply    Withheld = "no_supply"
	WithheldTransferFee Withheld = "transfer_fee"
	WithheldThin        Withheld = "thin_liquidity"
	WithheldFewTraders  Withheld = "few_traders"
	WithheldBeyondPools Withheld = "beyond_liquidity"
	WithheldNothing     Withheld = ""
)

// floor returns the reason for which the market does not count in orders by cap, trend, change and
// organic volume, or WithheldNothing if it counts. An anchor needs only a price to count.
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

// Counting returns a function that is figure for markets that count, see Counts, and nil for the
// others.
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

// Cap returns the market capitalisation of a supply in whole tokens, if the market's liquidity is
// enough for it. If usd is nil, why tells the reason.
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

// CapThen is Cap with the supply at the time when the figures were set. Tokens are ordered by it.
func (m *Market) CapThen() *float64 {
	usd, _ := m.Cap(m.supply)
	return usd
}
