package venue

import "slices"

// Joint is a pool that shares accounts with other pools, such as Meteora's vaults: a swap on one of
// these pools changes what the others give.
type Joint interface {
	// Joints returns the addresses of the shared accounts; none if the pool shares nothing.
	Joints() []Key
}

// JointsOf returns the accounts that a pool shares with others.
func JointsOf(p Pool) []Key {
	if j, ok := p.(Joint); ok {
		return j.Joints()
	}
	return nil
}

// Apart returns whether a pool shares none of the accounts joints, which are those of another pool.
func Apart(p Pool, joints []Key) bool {
	return len(joints) == 0 || !slices.ContainsFunc(JointsOf(p), func(key Key) bool { return slices.Contains(joints, key) })
}
