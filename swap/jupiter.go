package swap

import (
	"strconv"
	"time"

	"github.com/mintlake/mintlake/swap/router"
	"github.com/mintlake/mintlake/swap/venue"
)

// jupiterQuote is a quote in the format of Jupiter's API (dev.jup.ag, GET /swap/v1/quote). Amounts
// are decimal strings; priceImpactPct is a fraction, so 0.01 is one percent.
type jupiterQuote struct {
	InputMint            string        `json:"inputMint"`
	InAmount             string        `json:"inAmount"`
	OutputMint           string        `json:"outputMint"`
	OutAmount            string        `json:"outAmount"`
	OtherAmountThreshold string        `json:"otherAmountThreshold"`
	SwapMode             string        `json:"swapMode"`
	SlippageBps          uint64        `json:"slippageBps"`
	PlatformFee          *jupiterFee   `json:"platformFee"`
	PriceImpactPct       string        `json:"priceImpactPct"`
	RoutePlan            []jupiterStep `json:"routePlan"`
	ContextSlot          uint64        `json:"contextSlot"`
	// TimeTaken in seconds.
	TimeTaken float64 `json:"timeTaken"`
	*jupiterSwap
}

type jupiterFee struct {
	Amount string `json:"amount"`
	FeeBps uint64 `json:"feeBps"`
}

type jupiterStep struct {
	SwapInfo jupiterInfo `json:"swapInfo"`
	Percent  uint64      `json:"percent"`
	Bps      uint64      `json:"bps"`
}

type jupiterInfo struct {
	AmmKey     string `json:"ammKey"`
	Label      string `json:"label"`
	InputMint  string `json:"inputMint"`
	OutputMint string `json:"outputMint"`
	InAmount   string `json:"inAmount"`
	OutAmount  string `json:"outAmount"`
	FeeAmount  string `json:"feeAmount"`
	FeeMint    string `json:"feeMint"`
}

// jupiterSwap is the part of a jupiterQuote about the transaction.
type jupiterSwap struct {
	SwapTransaction           string      `json:"swapTransaction"`
	LastValidBlockHeight      uint64      `json:"lastValidBlockHeight"`
	PrioritizationFeeLamports uint64      `json:"prioritizationFeeLamports"`
	ComputeUnitLimit          uint32      `json:"computeUnitLimit"`
	Simulation                *Simulation `json:"simulation,omitempty"`
}

// jupiter puts an answer into Jupiter's format. With exact_out, outAmount is the amount asked for
// and the threshold is the most that is sold.
func jupiter(r *request, c *choice, out *Response, began time.Time) *jupiterQuote {
	j := &jupiterQuote{
		InputMint: out.SourceMint, InAmount: out.AmountIn, OutputMint: out.TargetMint, OutAmount: out.AmountOut,
		OtherAmountThreshold: out.MinAmountOut, SwapMode: modeInAlias, SlippageBps: r.slippage,
		PriceImpactPct: strconv.FormatFloat(float64(c.plan.ImpactBps)/maxSlippage, 'f', -1, 64), RoutePlan: []jupiterStep{},
		ContextSlot: c.view.slot, TimeTaken: time.Since(began).Seconds(),
	}
	if r.exactOut {
		j.SwapMode, j.OutAmount, j.OtherAmountThreshold = modeOutAlias, decimal(r.amount), out.MaxAmountIn
	}
	if c.fee > 0 {
		j.PlatformFee = &jupiterFee{decimal(c.fee), r.fee}
	}
	j.RoutePlan = steps(c.plan.Routes)
	if out.Transaction != nil {
		j.jupiterSwap = &jupiterSwap{out.Txn, out.LastValidBlockHeight, out.PriorityFee, out.ComputeUnits, out.Simulation}
	}
	return j
}

// steps returns the swaps of routes. The percents of the swaps that sell one token add up to 100,
// and their bps to 10,000: the first of these swaps gets what rounding leaves.
func steps(routes []router.Route) []jupiterStep {
	list := []jupiterStep{}
	total, first := map[venue.Key]uint64{}, map[venue.Key]int{}
	for i := range routes {
		for j := range routes[i].Legs {
			total[routes[i].Legs[j].Quote.Order.In] += routes[i].Legs[j].Quote.AmountIn
		}
	}
	for i := range routes {
		for j := range routes[i].Legs {
			l := &routes[i].Legs[j]
			sold := l.Quote.Order.In
			step := jupiterStep{jupiterLeg(l), proportion(100, l.Quote.AmountIn, total[sold]), proportion(maxSlippage, l.Quote.AmountIn, total[sold])}
			if at, later := first[sold]; later {
				list[at].Percent -= step.Percent
				list[at].Bps -= step.Bps
			} else {
				first[sold] = len(list)
				step.Percent, step.Bps = 100, maxSlippage
			}
			list = append(list, step)
		}
	}
	return list
}

// jupiterLeg describes one swap. FeeMint is the mint of the pool's first fee, FeeAmount the sum of
// the fees in that mint. Fees in the other mint, and transfer fees of Token-2022, are left out.
func jupiterLeg(l *router.Leg) jupiterInfo {
	info := jupiterInfo{
		AmmKey: l.Address().String(), Label: label(l.Venue), InputMint: l.Quote.Order.In.String(), OutputMint: l.Quote.Out.String(),
		InAmount: decimal(l.Quote.AmountIn), OutAmount: decimal(l.Quote.AmountOut), FeeAmount: "0", FeeMint: l.Quote.Order.In.String(),
	}
	var total uint64
	for _, fee := range l.Quote.Fees.List() {
		if fee.Kind == venue.FeeTransfer {
			continue
		}
		mint := l.Quote.MintOf(fee).String()
		if total == 0 {
			info.FeeMint = mint
		}
		if mint == info.FeeMint {
			total += fee.Amount
		}
	}
	info.FeeAmount = decimal(total)
	return info
}
