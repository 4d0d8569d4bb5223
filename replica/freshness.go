package replica

import (
	"math/bits"
	"sync"
	"time"
)

const (
	freshnessSlice  = 10 * time.Second
	freshnessSlices = 30 // five minutes
	// subBuckets is the number of cells for each power of two of milliseconds: a quantile is at
	// most 1/64 too high.
	subBuckets     = 64
	subBucketBits  = 6
	freshnessCells = (32 - subBucketBits) * subBuckets
)

// Freshness is how long token events took from reaching Mintlake to being visible here, over the
// last five minutes. The quantiles are nil when Count is 0.
type Freshness struct {
	P50   *int64 `json:"p50_ms"`
	P99   *int64 `json:"p99_ms"`
	Count uint64 `json:"count"`
}

// freshness is a histogram of ages for each slice of time. Old slices are overwritten, and the
// memory is the same at any rate.
type freshness struct {
	mu     sync.Mutex
	epoch  time.Time
	slices [freshnessSlices]struct {
		number int64 // slices of freshnessSlice since epoch; 0: unused
		counts [freshnessCells]uint32
	}
}

func newFreshness(epoch time.Time) *freshness {
	return &freshness{epoch: epoch.Add(-freshnessSlice)} // the first slice is number 1
}

// observe counts an age at the time now.
func (f *freshness) observe(now time.Time, age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	number := int64(now.Sub(f.epoch) / freshnessSlice)
	if number < 1 {
		return // the clock was set back to before the start
	}
	s := &f.slices[number%freshnessSlices]
	if s.number != number {
		s.number, s.counts = number, [freshnessCells]uint32{}
	}
	s.counts[cellOf(age.Milliseconds())]++
}

// summary sums the slices of the last five minutes.
func (f *freshness) summary(now time.Time) Freshness {
	var counts [freshnessCells]uint64
	result := Freshness{}
	f.mu.Lock()
	current := int64(now.Sub(f.epoch) / freshnessSlice)
	for i := range f.slices {
		s := &f.slices[i]
		if s.number == 0 || s.number <= current-freshnessSlices {
			continue
		}
		for cell, n := range s.counts {
			counts[cell] += uint64(n)
			result.Count += uint64(n)
		}
	}
	f.mu.Unlock()
	if result.Count > 0 {
		p50, p99 := percentile(&counts, result.Count, 50), percentile(&counts, result.Count, 99)
		result.P50, result.P99 = &p50, &p99
	}
	return result
}

// percentile returns the upper end of the cell that holds the given percentile of total ages.
func percentile(counts *[freshnessCells]uint64, total, percent uint64) int64 {
	rank := max((total*percent+99)/100, 1) // rounded up
	for cell, n := range counts {
		if n >= rank {
			return upperEnd(cell)
		}
		rank -= n
	}
	return upperEnd(freshnessCells - 1)
}

// cellOf returns the cell of an age. Below 64 ms each millisecond has its own; above, each power of
// two has 64 cells. Ages above 2^31 ms, some 25 days, count as 2^31 ms.
func cellOf(ms int64) int {
	ms = min(max(ms, 0), 1<<31-1)
	if ms < subBuckets {
		return int(ms)
	}
	shift := bits.Len64(uint64(ms)) - subBucketBits - 1
	return (shift+1)*subBuckets + int(ms>>shift) - subBuckets
}

// upperEnd returns the highest age of a cell, in milliseconds.
func upperEnd(cell int) int64 {
	if cell < subBuckets {
		return int64(cell)
	}
	shift := cell/subBuckets - 1
	return (int64(cell%subBuckets+subBuckets)+1)<<shift - 1
}
