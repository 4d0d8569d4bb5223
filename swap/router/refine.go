package router

// attempt returns what reaches Out if the flows of the node from get the amounts of their trials,
// which the caller has set, and each later node divides what reaches it in the same proportions as
// now. ok is false if a pool refuses.
func (n *network) attempt(from int) (out uint64, ok bool) {
	after := false
	for _, at := range n.order {
		node := &n.nodes[at]
		if at == from {
			after = true
			if !n.answer(node) {
				return 0, false
			}
			continue
		}
		if !after {
			n.keep(node)
			continue
		}
		if node.trial = n.reaching(at); !n.scale(node) {
			return 0, false
		}
	}
	return n.reaching(nodeOut), true
}

// keep sets the trials of a node and of its flows to what they have now.
func (n *network) keep(node *node) {
	node.trial = node.amount
	for _, f := range node.sales {
		if f.trial = f.now; f.dead {
			f.trial = reply{}
		}
	}
}

// reaching returns what the trials of the flows bring to a node.
func (n *network) reaching(at int) (sum uint64) {
	for _, f := range n.flows {
		if f.to == at && !f.dead {
			sum += f.trial.out
		}
	}
	return sum
}

// answer asks a node's flows for the amounts of their trials. It returns false if a pool refuses.
func (n *network) answer(node *node) bool {
	node.trial = node.amount
	for _, f := range node.sales {
		if f.trial = n.reply(f, f.trial.amount); f.trial.refused {
			return false
		}
	}
	return true
}

// scale divides what reaches a node in the trial among its flows, in the same proportions as now.
// The last flow gets what rounding leaves. It returns false if a pool refuses.
func (n *network) scale(node *node) bool {
	if node.trial == node.amount {
		n.keep(node)
		return true
	}
	left, last := node.trial, (*flow)(nil)
	for _, f := range node.sales {
		f.trial = reply{}
		if f.dead || f.now.amount == 0 {
			continue
		}
		share := mulDiv(f.now.amount, node.trial, node.amount)
		f.trial.amount, last = min(share, left), f
		left -= f.trial.amount
	}
	if last == nil {
		return node.trial == 0
	}
	last.trial.amount += left
	for _, f := range node.sales {
		if f.trial = n.reply(f, f.trial.amount); f.trial.refused {
			return false
		}
	}
	return true
}

// accept makes the trials the state of the network.
func (n *network) accept() {
	for i := range n.nodes {
		n.nodes[i].amount = n.nodes[i].trial
	}
	for _, f := range n.flows {
		f.now = f.trial
	}
}

// total returns what reaches Out.
func (n *network) total() (sum uint64) {
	for _, f := range n.flows {
		if f.to == nodeOut {
			sum += f.now.out
		}
	}
	return sum
}

// refine moves shares between the flows of each node as long as that gains, first in steps of
// 1/coarsest of what the node has, then in steps of half the size, down to 1/finest of it.
func (n *network) refine(coarsest uint64) {
	best := n.total()
	for divisor := coarsest; divisor <= finest; divisor *= 2 {
		for moved := true; moved && !n.over(); {
			moved = false
			for _, at := range n.order {
				for _, from := range n.nodes[at].sales {
					for _, to := range n.nodes[at].sales {
						if from != to && !to.dead && n.shift(from, to, divisor, &best) {
							moved = true
						}
					}
				}
			}
		}
	}
}

// shift moves a part of what a node has from one flow to another if more than best then reaches
// Out. best is set to what reaches Out.
func (n *network) shift(from, to *flow, divisor uint64, best *uint64) bool {
	node := &n.nodes[from.from]
	step := min(max(node.amount/divisor, 1), from.now.amount)
	if step == 0 {
		return false
	}
	n.keep(node)
	from.trial.amount -= step
	to.trial.amount += step
	out, ok := n.attempt(from.from)
	if !ok || out <= *best {
		return false
	}
	*best = out
	n.accept()
	return true
}

// used returns how many pools have a share.
func (n *network) used() (count int) {
	for _, f := range n.flows {
		if f.now.amount > 0 {
			count++
		}
	}
	return count
}

// drop takes out the pool that is missed least: of all pools, most reaches Out without it. It also
// takes out pools that lead nowhere then. It returns false if no pool can be missed.
func (n *network) drop() bool {
	state := n.save()
	most, best := uint64(0), saved(nil)
	for _, f := range n.flows {
		if f.now.amount == 0 || n.over() {
			continue
		}
		if out, ok := n.without(f); ok && out > most {
			most, best = out, n.save()
		}
		n.restore(state)
	}
	if best == nil {
		return false
	}
	n.restore(best)
	return true
}

// saved is the state of a network: what each flow is given, and whether it is dead.
type saved []flow

func (n *network) save() saved {
	list := make(saved, len(n.flows))
	for i, f := range n.flows {
		list[i] = *f
	}
	return list
}

// restore goes back to a state.
func (n *network) restore(s saved) {
	for i := range s {
		*n.flows[i] = s[i]
	}
	n.sort()
}

// without takes a flow out, and divides what it had among the other flows of its node. It returns
// what then reaches Out. ok is false if that is nothing, or if a pool refuses.
func (n *network) without(f *flow) (out uint64, ok bool) {
	f.dead = true
	n.prune()
	for i, at := range n.order {
		node := &n.nodes[at]
		node.trial = n.q.Amount
		if i > 0 {
			node.trial = n.reaching(at)
		}
		kept := uint64(0)
		for _, f := range node.sales {
			if !f.dead {
				kept += f.now.amount
			}
		}
		if node.amount = kept; !n.scale(node) {
			return 0, false
		}
	}
	n.nodes[nodeOut].trial = n.reaching(nodeOut)
	n.accept()
	return n.nodes[nodeOut].amount, n.nodes[nodeOut].amount > 0
}

// prune marks flows as dead that nothing reaches, or that lead to a mint that nobody sells.
func (n *network) prune() {
	for changed := true; changed; {
		changed = false
		for _, f := range n.flows {
			if f.dead || f.now.amount == 0 {
				continue
			}
			sold, bought := f.to == nodeOut, f.from == nodeIn
			for _, other := range n.flows {
				live := !other.dead && other.now.amount > 0
				sold = sold || live && other.from == f.to
				bought = bought || live && other.to == f.from
			}
			if !sold || !bought {
				f.dead, changed = true, true
			}
		}
	}
}
