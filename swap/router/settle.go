package router

import (
	"cmp"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// settle makes the routes of a plan from what the flows are given. The transaction must state the
// amount of each swap before the earlier swaps have run. So a swap that buys a mint in the middle
// buys exactly an amount, which is less by the slack than what it could buy, and the swaps that
// sell the mint sell no more than that. The slack stays in the token which the buying swap sells.
//
// Flows that share no mint in the middle are routes of their own. settle returns false if a pool
// refuses.
func (n *network) settle() (routes []Route, ok bool) {
	group := n.groups()
	routes = make([]Route, 0, len(group))
	index := map[int]int{}               // by group
	held := make([]uint64, len(n.nodes)) // what the swaps so far have bought of each mint
	for _, at := range n.order {
		left, used := held[at], n.nodes[at].amount
		if at == nodeIn {
			left = n.q.Amount
		}
		whole := left
		for i, f := range n.nodes[at].sales {
			if f.now.amount == 0 {
				continue
			}
			amount := min(mulDiv(f.now.amount, whole, used), left)
			if n.lastSale(at, i) {
				amount = left
			}
			left -= amount
			leg, bought, ok := n.leg(f, amount)
			if !ok {
				return nil, false
			}
			held[f.to] += bought
			r, known := index[group[f]]
			if !known {
				r = len(routes)
				index[group[f]], routes = r, append(routes, Route{})
			}
			routes[r].add(leg, f)
		}
	}
	for i := range routes {
		routes[i].leftovers(n.q.Out)
	}
	slices.SortStableFunc(routes, func(a, b Route) int { return cmp.Compare(b.AmountIn, a.AmountIn) })
	return routes, true
}

// lastSale returns whether no flow of a node after the i-th has a share.
func (n *network) lastSale(at, i int) bool {
	for _, f := range n.nodes[at].sales[i+1:] {
		if f.now.amount > 0 {
			return false
		}
	}
	return true
}

// leg makes the swap of a flow. bought is what later swaps may count on. ok is false if the pool
// refuses.
func (n *network) leg(f *flow, amount uint64) (l Leg, bought uint64, ok bool) {
	mint := n.nodes[f.from].mint
	if f.to == nodeOut {
		quote, err := f.edge.Quote(n.q.order(f.edge, mint, amount, false))
		return Leg{Edge: *f.edge, Quote: quote}, quote.AmountOut, err == nil
	}
	r := n.reply(f, amount)
	if bought = less(r.out, n.q.Slack); r.refused || bought == 0 {
		return l, 0, false
	}
	quote, err := f.edge.Quote(n.q.order(f.edge, mint, bought, true))
	if err != nil || quote.AmountIn > amount { // rounding takes more than the slack
		return l, 0, false
	}
	l = Leg{Edge: *f.edge, Quote: quote}
	if f.from != nodeIn {
		l.Most = amount
	}
	return l, bought, true
}

// groups numbers the flows with a share, so that those that share a mint in the middle have the
// same number.
func (n *network) groups() map[*flow]int {
	of := make([]int, len(n.nodes))
	for i := range of {
		of[i] = i
	}
	for again := true; again; {
		again = false
		for _, f := range n.flows {
			if f.now.amount == 0 || f.from == nodeIn || f.to == nodeOut || of[f.from] == of[f.to] {
				continue
			}
			lower := min(of[f.from], of[f.to])
			of[f.from], of[f.to], again = lower, lower, true
		}
	}
	group := map[*flow]int{}
	for i, f := range n.flows {
		switch {
		case f.now.amount == 0:
		case f.from != nodeIn:
			group[f] = of[f.from]
		case f.to != nodeOut:
			group[f] = of[f.to]
		default: // a direct pool is a route by itself
			group[f] = len(n.nodes) + i
		}
	}
	return group
}

// add appends a leg, and counts it in the route's amounts if it sells In or buys Out.
func (r *Route) add(l Leg, f *flow) {
	r.Legs = append(r.Legs, l)
	if f.from == nodeIn {
		r.AmountIn += l.Quote.AmountIn
	}
	if f.to == nodeOut {
		r.AmountOut += l.Quote.AmountOut
	}
}

// leftovers sets Residual: what the legs buy of each mint in the middle and do not sell.
func (r *Route) leftovers(out venue.Key) {
	for i := range r.Legs {
		mint := r.Legs[i].Quote.Out
		if mint == out || slices.ContainsFunc(r.Residual, func(a Amount) bool { return a.Mint == mint }) {
			continue
		}
		var bought, sold uint64
		for j := range r.Legs {
			quote := &r.Legs[j].Quote
			if quote.Out == mint {
				bought += quote.AmountOut
			}
			if quote.Order.In == mint {
				sold += quote.AmountIn
			}
		}
		if bought > sold {
			r.Residual = append(r.Residual, Amount{mint, bought - sold})
		}
	}
}
