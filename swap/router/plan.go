package router

import "github.com/mintlake/mintlake/swap/venue"

// Leg is one swap of a route.
type Leg struct {
	Edge
	Quote venue.Quote
	// Most is the most of a mint in the middle that an exact-out swap may take: what the swaps
	// before it buy. 0 for any other swap.
	Most uint64
}

// Route is one swap, or several that share mints in the middle: what some of them buy, later ones
// sell.
type Route struct {
	// Legs are in the order of the transaction.
	Legs []Leg
	// Chained says that its two swaps are one instruction of their venue: see venue.Chained.
	Chained bool
	// Passes says that the mint in the middle of a chained route passes through the user's account.
	Passes bool
	// AmountIn and AmountOut are those of the whole route.
	AmountIn, AmountOut uint64
	// Residual is the most of each mint in the middle that may stay with the user.
	Residual []Amount
}

// Amount of a mint, in raw units.
type Amount struct {
	Mint  venue.Key
	Units uint64
}

// Plan is a way to make the trade.
type Plan struct {
	// Routes run side by side: one, or the parts of a split.
	Routes []Route
	// AmountIn and AmountOut are what the plan takes and gives.
	AmountIn, AmountOut uint64
	// ImpactBps is how much worse the plan's price is than the price before it, without fees, in
	// basis points, rounded up.
	ImpactBps uint64
	// ComputeUnits is how many compute units its swaps may use.
	ComputeUnits uint32
	// net is AmountOut less the costs, or for exact-out AmountIn plus the costs. worth is net that
	// also counts what is left over. Plans are compared by worth.
	net, worth uint64
}

// sold returns what units of a mint in the middle would give of the mint out, at the price at which
// the route sells that mint.
func (r *Route) sold(mint venue.Key, units uint64, out venue.Key) uint64 {
	if mint == out {
		return units
	}
	var in, gives uint64
	for i := range r.Legs {
		quote := &r.Legs[i].Quote
		if quote.Order.In == mint {
			in += quote.AmountIn
			gives += r.sold(quote.Out, quote.AmountOut, out)
		}
	}
	return mulDiv(units, gives, in)
}

// impact returns the price impact of a route, in basis points. Legs in a row multiply: after two
// legs with an impact of 1% each, 98.01% of the price is left. Legs that buy the same mint are
// weighted by what they give.
func impact(r *Route) uint64 {
	last := r.Legs[len(r.Legs)-1].Quote.Out
	return wholeBps - r.left(last, len(r.Legs))
}

// left returns how much of the price is left, in basis points, in what the first legs of a route
// have bought of a mint. before is how many legs these are.
func (r *Route) left(mint venue.Key, before int) uint64 {
	var bought, weighted uint64
	for i := range r.Legs[:before] {
		if r.Legs[i].Quote.Out == mint {
			bought += min(r.Legs[i].Quote.AmountOut, ^uint64(0)-bought)
		}
	}
	if bought == 0 {
		return wholeBps
	}
	for i := range r.Legs[:before] {
		quote := &r.Legs[i].Quote
		if quote.Out == mint {
			left := r.left(quote.Order.In, i) * (wholeBps - min(quote.ImpactBps, wholeBps)) / wholeBps
			weighted += mulDiv(left, quote.AmountOut, bought)
		}
	}
	return min(weighted, wholeBps)
}

// Ends returns the mint that the plan sells and the one that it buys.
func (p *Plan) Ends() (in, out venue.Key) {
	legs := p.Routes[0].Legs
	return legs[0].Quote.Order.In, legs[len(legs)-1].Quote.Out
}

// Legs returns all swaps of the plan, in the order of the transaction.
func (p *Plan) Legs() []*Leg {
	var list []*Leg
	for _, r := range p.Routes {
		for i := range r.Legs {
			list = append(list, &r.Legs[i])
		}
	}
	return list
}
