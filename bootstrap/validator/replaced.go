package validator

import "fmt"

// maxVersions bounds the versions of accounts in a snapshot: with so many, the bitmap has 1 GiB.
// Mainnet-beta has a little more than one thousand million accounts.
const maxVersions = 8 << 30

// replaced is a bitmap of the versions of accounts that have lamports and that a newer version
// replaces.
type replaced struct {
	// first is the bit of each storage's first account, by rank.
	first []int64
	bits  []uint64
	// perStorage counts the versions in the bitmap by the rank of their storage.
	perStorage []uint32
	count      int64
}

// newReplaced makes an empty bitmap. counts has the number of accounts of each storage, by rank.
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

func (r *replaced) add(v version) {
	if v.empty() {
		return // a version without lamports has no hash in the sum, and no fact
	}
	bit := r.first[v.rank()] + int64(v.place())
	r.bits[bit/64] |= 1 << (bit % 64)
	r.perStorage[v.rank()]++
	r.count++
}

// has reports whether a version is replaced.
func (r *replaced) has(rank, place uint32) bool {
	bit := r.first[rank] + int64(place)
	return r.bits[bit/64]>>(bit%64)&1 == 1
}
