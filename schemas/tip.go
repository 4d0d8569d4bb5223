package schemas

import (
	"cmp"
	"strconv"
)

// TipOf returns the highest slot of TopicTransactions up to and including a record. It is the
// record's HeaderTip, or else the record's own slot, which is its key. TipOf returns 0 if the text
// is no number.
func TipOf(key, header []byte) uint64 {
	tip, err := strconv.ParseUint(cmp.Or(string(header), string(key)), 10, 64)
	if err != nil {
		return 0
	}
	return tip
}
