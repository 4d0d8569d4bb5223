package swap

import (
	"bytes"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Aggregator is a program that routes through venues. Its events never count as volume.
type Aggregator struct {
	// Name is the name in legs and routes, lower snake case.
	Name string
	// Program is the program's address, base58.
	Program string
	// Hops appends to hops those that an event of the program states. It is nil if no such event is
	// known.
	Hops func(data []byte, hops []*eventspb.RouteHop) []*eventspb.RouteHop
}

// route returns the node of the outermost aggregator that contains a node; none if there is none.
func (w *walk) route(at int) int {
	l := &w.ledger
	outer := l.nodes[at].outer
	first := at
	for first > 0 && l.nodes[first-1].outer == outer {
		first--
	}
	for i := first; i < at; i++ {
		if n := &l.nodes[i]; n.aggregator >= 0 && n.end > at {
			return i
		}
	}
	return none
}

// routes makes a route of each outermost aggregator instruction that contains legs, or whose events
// tell hops.
func (w *walk) routes() {
	l := &w.ledger
	for i := 0; i < len(l.nodes); i++ {
		n := &l.nodes[i]
		if n.aggregator < 0 || isSelfCall(n.call.Data) {
			continue
		}
		w.makeRoute(i)
		i = max(i, n.end-1) // the instructions inside belong to this route
	}
}

// makeRoute makes the route of the aggregator instruction at a node. It makes none if the
// instruction contains no legs and its events tell no hops.
func (w *walk) makeRoute(at int) {
	l := &w.ledger
	n := &l.nodes[at]
	a := &w.decoder.aggregators[n.aggregator]
	var hops []*eventspb.RouteHop
	for i := at + 1; i < n.end && a.Hops != nil; i++ {
		if c := &l.nodes[i]; c.aggregator == n.aggregator && isSelfCall(c.call.Data) && len(c.call.Data) <= maxData {
			hops = a.Hops(c.call.Data[len(selfCall):], hops)
		}
	}
	legs := uint32(0)
	position := w.position(at, none)
	for _, leg := range w.out.Legs {
		if l.holds(n, at, leg.GetPosition()) {
			legs++
		}
	}
	if legs == 0 && len(hops) == 0 {
		return
	}
	program, _ := l.tx.Program(n.call)
	route := &eventspb.Route{
		Position: position, BlockTime: w.blockTime, Signature: bytes.Clone(l.tx.Signature[:]), ProgramId: program.Bytes(),
		Aggregator: a.Name, Legs: legs, Hops: hops,
	}
	if wallet := w.trader(at, none); wallet < len(l.tx.Keys) {
		route.Trader = l.tx.Keys[wallet].Bytes()
	}
	setEnds(route)
	w.out.Routes = append(w.out.Routes, route)
}

// holds reports whether a position is in the subtree of a node.
func (l *ledger) holds(n *node, at int, p *eventspb.Position) bool {
	if int(p.GetInstructionIndex()) != n.outer {
		return false
	}
	inner := none
	if p.InnerInstructionIndex != nil {
		inner = int(p.GetInnerInstructionIndex())
	}
	return inner >= n.inner && inner < n.inner+n.end-at
}

// setEnds sets what went into a route and what came out of it. The input is the mint that goes into
// the first hop, and the output the mint that comes out of the last hop. A split route has several
// hops with the input, or with the output: setEnds adds up their amounts, and subtracts what flows
// back.
func setEnds(r *eventspb.Route) {
	if len(r.GetHops()) == 0 {
		return
	}
	r.MintIn, r.MintOut = r.GetHops()[0].GetMintIn(), r.GetHops()[len(r.GetHops())-1].GetMintOut()
	var in, out, backIn, backOut uint64
	for _, h := range r.GetHops() {
		switch {
		case bytes.Equal(h.GetMintIn(), r.GetMintIn()):
			in += h.GetAmountIn()
		case bytes.Equal(h.GetMintIn(), r.GetMintOut()):
			backOut += h.GetAmountIn()
		}
		switch {
		case bytes.Equal(h.GetMintOut(), r.GetMintOut()):
			out += h.GetAmountOut()
		case bytes.Equal(h.GetMintOut(), r.GetMintIn()):
			backIn += h.GetAmountOut()
		}
	}
	if !bytes.Equal(r.GetMintIn(), r.GetMintOut()) {
		r.AmountIn, r.AmountOut = in-min(in, backIn), out-min(out, backOut)
		return
	}
	// A round trip, whose input is its output: the amounts of the first and the last hop.
	r.AmountIn, r.AmountOut = r.GetHops()[0].GetAmountIn(), r.GetHops()[len(r.GetHops())-1].GetAmountOut()
}

// JupiterHops reads the events SwapEvent and SwapsEvent of Jupiter v6. DFlow's have the same layout
// (both programs' IDLs).
func JupiterHops(data []byte, hops []*eventspb.RouteHop) []*eventspb.RouteHop {
	const (
		swapEvent  = "\x40\xc6\xcd\xe8\x26\x08\x71\xe2"
		swapsEvent = "\x98\x2f\x4e\xeb\xc0\x60\x6e\x6a"
		hopLength  = 80
	)
	switch {
	case len(data) >= 8+32+hopLength && string(data[:8]) == swapEvent:
		hop := hopOf(data[40:])
		amm := Key(data, 8)
		hop.Amm = amm.Bytes()
		return append(hops, hop)
	case len(data) >= 12 && string(data[:8]) == swapsEvent:
		for rest := data[12:]; len(rest) >= hopLength; rest = rest[hopLength:] {
			hops = append(hops, hopOf(rest))
		}
	}
	return hops
}

// hopOf reads mint and amount of the input, then of the output.
func hopOf(data []byte) *eventspb.RouteHop {
	in, out := Key(data, 0), Key(data, 40)
	amountIn, _ := U64(data, 32)
	amountOut, _ := U64(data, 72)
	return &eventspb.RouteHop{MintIn: in.Bytes(), MintOut: out.Bytes(), AmountIn: amountIn, AmountOut: amountOut}
}
