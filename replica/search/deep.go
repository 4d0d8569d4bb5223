package search

import "slices"

const (
	// mostKept is how many documents a search keeps. Pages that end farther from the first document
	// are found by deepPage. 100,000 entries take 4 MB.
	mostKept = 100_000
	// mostPivots bounds the pivots of deepPage. A binary search among them takes ten comparisons
	// for each document, and the last pass keeps about a thousandth of the documents.
	mostPivots = 1_000
)

// deepPage finds a page that is too far from the first document to keep all documents before it:
// for the last page these would be the whole index. It ranks all documents three times. The first
// pass takes a sample. The second pass counts how many documents are up to each of the pivots,
// which are some of the sample in their order. The third pass keeps the documents from the last
// pivot before the page to the end of the page. The result is exact whatever the sample is.
func (x *Inverted) deepPage(p *plan, v *version, offset, limit int) (result Result) {
	sample, whole, total := x.sample(p, v)
	result.Total = total
	switch {
	case whole:
		sample.cut(offset + limit)
		result.Hits = sample.page(offset)
		return result
	case offset >= total:
		return result
	}
	pivot, before := x.pivotBefore(p, v, sample, offset)
	r := newRanking(p, offset-before+limit)
	r.top.after = pivot
	x.rank(r, v)
	result.Hits = r.page(offset - before)
	return result
}

// sample returns a ranking that has kept one in so many documents, and at most x.mostKept; whole is
// true if it has kept all that match. When it is full, it leaves out each second document, and
// from then on keeps half as many.
func (x *Inverted) sample(p *plan, v *version) (r *ranking, whole bool, total int) {
	r = newRanking(p, x.mostKept)
	step, met := 1, 0
	r.top.instead = func(e entry) {
		if met++; met%step != 0 {
			return
		}
		if len(r.top.entries) >= max(2, x.mostKept) {
			half := r.top.entries[:0]
			for at := 1; at < len(r.top.entries); at += 2 {
				half = append(half, r.top.entries[at])
			}
			r.top.entries, step = half, 2*step
			if met%step != 0 {
				return
			}
		}
		r.top.entries = append(r.top.entries, e)
	}
	total = x.rank(r, v)
	return r, step == 1, total
}

// pivotBefore returns the last pivot that is before the document at offset, and how many documents
// are up to this pivot, itself included; nil and 0 if all pivots are after that document.
func (x *Inverted) pivotBefore(p *plan, v *version, sample *ranking, offset int) (pivot *entry, before int) {
	sorted := sample.top.sorted()
	pivots := make([]entry, min(mostPivots, len(sorted)))
	for i := range pivots {
		pivots[i] = sorted[i*len(sorted)/len(pivots)]
	}
	r := newRanking(p, x.mostKept)
	counts := make([]int, len(pivots)+1)
	r.top.instead = func(e entry) {
		at, _ := slices.BinarySearchFunc(pivots, e, func(a, b entry) int { return r.top.compare(&a, &b) })
		counts[at]++
	}
	x.rank(r, v)
	for i := range pivots {
		if before+counts[i] > offset {
			break
		}
		pivot, before = &pivots[i], before+counts[i]
	}
	return pivot, before
}

// cut keeps the best size documents.
func (r *ranking) cut(size int) {
	r.top.entries = r.top.sorted()
	r.top.entries = r.top.entries[:min(size, len(r.top.entries))]
}
