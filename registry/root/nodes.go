package root

// nodes are the digests of one version's nodes, by levels: 0 are the groups.
type nodes struct {
	// branches and top store the digests of the lower and of the upper levels, the lowest level
	// first. A branch is nil until something below it was hashed.
	branches [branches][]byte
	top      []byte
}

// digests returns the digests of count adjacent nodes of a level, from node on, to read and to
// write. Below the middle level the nodes must lie in one branch.
func (n *nodes) digests(level int, node, count uint32) []byte {
	in, from, below := n.top, node, level-middle // below: levels that come first in it
	if level < middle {
		bits := branchBits - fanBits*level // of the node's number within its branch
		branch := &n.branches[node>>bits]
		if *branch == nil {
			*branch = make([]byte, sumSize*branchNodes)
		}
		in, from, below = *branch, node&(1<<bits-1), level
	}
	// A level has an eighth of the digests of the level below it.
	size := uint32(1 << branchBits)
	for range below {
		from += size
		size >>= fanBits
	}
	return in[sumSize*from:][:sumSize*count]
}
