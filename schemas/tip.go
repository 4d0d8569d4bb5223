package schemas

import (
	"cmp"
	"strconv"
)

// TipOf returns the highest slot of TopicTransactions up to a record: the record's own slot, which
// is its key, unless it has a HeaderTip with a higher one. It returns 0 if that is not a number.
func TipOf(key, header []byte) uint64 {
	tip, err := strconv.ParseUint(cmp.Or(string(header), string(key)), 10, 64)
	if err != nil {
		return 0
	}
	return tip
}
