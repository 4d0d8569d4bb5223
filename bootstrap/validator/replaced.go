package validator

import "fmt"

// maxVersions bounds the versions of accounts in a snapshot: the bitmap of them has a GiB then.
// Mainnet-beta has a little more than one thousand million accounts.
const maxVersions = 8 << 30

// replaced is a bitmap of the versions of accounts that a newer one replaces.
type replaced struct {
	// first is the number of each storage's first account, by rank.
	first []int64
	bits  []uint64
	// perStorage counts those that have lamports, by rank.
	perStorage []uint32
	count      int64
}

// newReplaced makes an empty bitmap; counts are the accounts of each storage, by rank.
func newReplaced(counts []uint32) (*replaced, error) {
	r := &replaced{first: make([]int64, len(counts)), perStorage: make([]uint32, len(counts))}
	total := int64(0)
	for rank, count := range counts {
		r.first[rank] = total
		total += int64(count)
	}
	if total > maxVersions {
		return nil, fmt.Errorf("the snapshot has %d accounts, and at most %d are read", total, int64(maxVersions))
	}
	r.bits = make([]uint64, (total+63)/64)
	return r, nil
}

func (r *replaced) add(e *entry) error {
	if e.empty() {
		return nil // adds nothing to the lattice hash, and states nothing
	}
	bit := r.first[e.rank()] + int64(e.place())
	r.bits[bit/64] |= 1 << (bit % 64)
	r.perStorage[e.rank()]++
	r.count++
	return nil
}

// has reports whether a version is replaced.
func (r *replaced) has(rank, place uint32) bool {
	bit := r.first[rank] + int64(place)
	return r.bits[bit/64]>>(bit%64)&1 == 1
}
