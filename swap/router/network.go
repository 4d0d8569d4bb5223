package router

import (
	"cmp"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Bounds of a network.
const (
	// parts is in how many equal parts fill gives the amount away, before refine moves smaller
	// amounts.
	parts = 24
	// refineAgain is the divisor of the first step when refine runs again after a pool was taken
	// out.
	refineAgain = 4 * parts
	// maxPaths is how many paths over other mints are kept: those that give most for one part.
	maxPaths = 12
	// maxParallel is how many pools of a pair are kept.
	maxParallel = 4
	// maxDetours bounds the pairs of mints that a path over three pools may go through. A graph
	// with more such pairs has more mints in the middle than a list of hubs, and a search over all
	// of them would take too long.
	maxDetours = 1024
)

// network is the pools that an exact-in question may be sent through: direct ones, and those of
// paths over one or two other mints. It is a flow network without cycles, whose nodes are mints.
// What a pool is given is kept at the pool and not at a path: so paths share pools, and the pools
// of a pair share what reaches the pair.
type network struct {
	*search
	// nodes begin with In and Out.
	nodes []node
	index map[venue.Key]int
	flows []*flow
	paths []path
	// order has all nodes but Out, in an order in which a token is bought before it is sold.
	order []int
}

// Indexes of nodes.
const (
	nodeIn = iota
	nodeOut
)

// node is a mint.
type node struct {
	mint venue.Key
	role role
	// sales are the flows that sell it.
	sales []*flow
	// amount is what reaches the node, trial what reaches it in an attempt.
	amount, trial uint64
}

// role says whether a mint is the first or the second of two mints in the middle of a path. A mint
// has one role only, so there are no cycles.
type role uint8

const (
	anyRole role = iota
	// first and second say which of the two mints in the middle of a path it is.
	first
	second
)

// flow is a pool in one direction, and what goes through it.
type flow struct {
	edge     *Edge
	from, to int
	// now is the pool's answer to what it is given, last its last answer to another amount.
	now, last reply
	// trial is the pool's answer in an attempt.
	trial reply
	// dead says that the pool was taken out.
	dead bool
}

// path is a way from In to Out: the flows between each two mints of it.
type path struct {
	mints []int
	hops  [][]*flow
	// gain is what the path gave for the first part.
	gain uint64
}

// newNetwork finds the paths that give most for one part of the amount.
func newNetwork(s *search) *network {
	n := &network{search: s, nodes: []node{{mint: s.q.In}, {mint: s.q.Out}}, index: map[venue.Key]int{}}
	step := s.share(parts)
	n.try(step, nodeIn, nodeOut)
	direct := len(n.paths)
	if !s.q.OnlyDirect {
		n.detours(step)
	}
	indirect := n.paths[direct:]
	slices.SortStableFunc(indirect, func(a, b path) int { return cmp.Compare(b.gain, a.gain) })
	n.paths = n.paths[:direct+min(len(indirect), maxPaths)]
	return n
}

// detours tries the paths over one and over two mints in the middle.
func (n *network) detours(step uint64) {
	firsts, lasts := n.beside(n.q.In), n.beside(n.q.Out)
	for _, m := range n.middles() {
		if n.over() {
			return
		}
		n.try(step, nodeIn, n.node(m), nodeOut)
	}
	if len(firsts)*len(lasts) > maxDetours {
		return
	}
	for _, one := range firsts {
		for _, other := range lasts {
			if one == other || len(n.pools.Between(one, other)) == 0 {
				continue
			}
			if n.over() {
				return
			}
			n.try(step, nodeIn, n.node(one), n.node(other), nodeOut)
		}
	}
}

// beside returns the mints that share a pool with mint, without In and Out.
func (n *network) beside(mint venue.Key) []venue.Key {
	return slices.DeleteFunc(n.pools.Neighbours(mint), func(m venue.Key) bool { return m == n.q.In || m == n.q.Out })
}

// node returns the index of the node of a mint in the middle, and adds the node if there is none.
func (n *network) node(mint venue.Key) int {
	i, known := n.index[mint]
	if !known {
		i = len(n.nodes)
		n.nodes, n.index[mint] = append(n.nodes, node{mint: mint}), i
	}
	return i
}

// try adds the path over these nodes, if each of its pairs has a pool that takes the first part of
// the amount.
func (n *network) try(step uint64, mints ...int) {
	p := path{mints: mints, gain: step}
	for i, from := range mints[:len(mints)-1] {
		hop := n.between(from, mints[i+1], p.gain)
		if p.gain = n.best(hop, p.gain).out; p.gain == 0 {
			return
		}
		p.hops = append(p.hops, hop)
	}
	n.paths = append(n.paths, p)
}

// between returns the flows of a pair of nodes. At the first call for the pair it makes them, for
// the pools that give most for amount, as many as parallel says. Of pools that share an account,
// the network keeps only the first.
func (n *network) between(from, to int, amount uint64) (hop []*flow) {
	for _, f := range n.nodes[from].sales {
		if f.to == to {
			hop = append(hop, f)
		}
	}
	if hop != nil {
		return hop
	}
	edges := n.pools.Between(n.nodes[from].mint, n.nodes[to].mint)
	all := make([]flow, 0, len(edges))
	for i := range edges {
		f := flow{edge: &edges[i], from: from, to: to}
		if r := n.reply(&f, amount); !r.refused {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b flow) int { return cmp.Compare(b.last.out, a.last.out) })
	for i := range all {
		if len(hop) == n.parallel(from, to) {
			break
		}
		if f := &all[i]; n.apart(f) {
			hop, n.flows = append(hop, f), append(n.flows, f)
		}
	}
	n.nodes[from].sales = append(n.nodes[from].sales, hop...)
	return hop
}

// apart returns whether a flow's pool shares no account with the pools of the network's flows.
func (n *network) apart(f *flow) bool {
	joints := venue.JointsOf(f.edge.Pool)
	return len(joints) == 0 || !slices.ContainsFunc(n.flows, func(other *flow) bool { return !venue.Apart(other.edge.Pool, joints) })
}

// parallel returns how many pools of a pair are kept.
func (n *network) parallel(from, to int) int {
	if from == nodeIn && to == nodeOut {
		return maxPools
	}
	return maxParallel
}

// reply returns a pool's answer to an amount. It does not ask the pool again if now or last is that
// answer. SOL in the middle must be wrapped: hop makes the routes over pools that move it natively.
func (n *network) reply(f *flow, amount uint64) reply {
	switch amount {
	case 0:
		return reply{}
	case f.now.amount:
		return f.now
	case f.last.amount:
		return f.last
	}
	quote, err := f.edge.Quote(n.q.order(f.edge, n.nodes[f.from].mint, amount, false))
	r := reply{amount, quote.AmountIn, quote.AmountOut, err != nil}
	if quote.Native && (f.from != nodeIn && n.nodes[f.from].mint == n.q.Native || f.to != nodeOut && n.nodes[f.to].mint == n.q.Native) {
		r.refused = true
	}
	f.last = r
	return r
}

// gain is what a flow gives in addition when it is given more. reply is its answer to the new
// total, out the additional output.
type gain struct {
	*flow
	reply reply
	out   uint64
}

// best returns the gain of the flow of a hop that gives most for an additional amount; its out is 0
// if no flow gives anything.
func (n *network) best(hop []*flow, amount uint64) (best gain) {
	for _, f := range hop {
		total := f.now.amount + amount
		if total < amount {
			continue
		}
		r := n.reply(f, total)
		if !r.refused && r.out > f.now.out && r.out-f.now.out > best.out {
			best = gain{f, r, r.out - f.now.out}
		}
	}
	return best
}

// fill gives the amount away in equal parts, each to the path that gives most for it. The last part
// includes the division's rest. It returns false if no path takes a part, or if the time is over.
func (n *network) fill() bool {
	for left := n.q.Amount; left > 0; {
		step := min(n.share(parts), left)
		if left-step < step {
			step = left
		}
		var chosen [3]gain
		var mints []int
		most := uint64(0)
		for i := range n.paths {
			p := &n.paths[i]
			if tried, ok := n.extend(p, step); ok && tried[len(p.hops)-1].out > most {
				chosen, mints, most = tried, p.mints, tried[len(p.hops)-1].out
			}
		}
		if most == 0 || n.over() {
			return false
		}
		for i := range mints[:len(mints)-1] {
			chosen[i].now = chosen[i].reply
		}
		if len(mints) == 4 { // two mints in the middle, whose roles are fixed from now on
			n.nodes[mints[1]].role, n.nodes[mints[2]].role = first, second
		}
		left -= step
	}
	n.narrow()
	n.sort()
	return true
}

// narrow keeps only the flows of pairs of nodes between which something flows, because refine looks
// at all flows many times.
func (n *network) narrow() {
	type pair struct{ from, to int }
	var used []pair
	for _, f := range n.flows {
		if p := (pair{f.from, f.to}); f.now.amount > 0 && !slices.Contains(used, p) {
			used = append(used, p)
		}
	}
	unused := func(f *flow) bool { return !slices.Contains(used, pair{f.from, f.to}) }
	n.flows = slices.DeleteFunc(n.flows, unused)
	for i := range n.nodes {
		n.nodes[i].sales = slices.DeleteFunc(n.nodes[i].sales, unused)
	}
}

// extend returns what each hop of a path gains by an additional part. ok is false if a hop gains
// nothing, or if the path would make a cycle.
func (n *network) extend(p *path, step uint64) (gains [3]gain, ok bool) {
	if len(p.mints) == 4 && (n.nodes[p.mints[1]].role == second || n.nodes[p.mints[2]].role == first) {
		return gains, false
	}
	for i, hop := range p.hops {
		gains[i] = n.best(hop, step)
		if step = gains[i].out; step == 0 {
			return gains, false
		}
	}
	return gains, true
}

// sort sets order, and computes what reaches each node.
func (n *network) sort() {
	n.order = []int{nodeIn}
	for _, role := range []role{first, anyRole, second} {
		for i := range n.nodes {
			if i > nodeOut && n.nodes[i].role == role && len(n.nodes[i].sales) > 0 {
				n.order = append(n.order, i)
			}
		}
	}
	for i := range n.nodes {
		n.nodes[i].amount = 0
	}
	n.nodes[nodeIn].amount = n.q.Amount
	for _, f := range n.flows {
		n.nodes[f.to].amount += f.now.out
	}
}
