package trust

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/swap/venue"
)

// Report is what is known about a venue.
type Report struct {
	// Stop is why not all of its swaps are quoted; nil if they are. Partly says that some kinds
	// are.
	Stop   *Stop
	Partly bool
	// Basis is why the deployed build is trusted, one of the constants Basis…; empty if it is not.
	Basis    string
	Programs []Program
	// Needed is how many matches in a row prove a kind.
	Needed int
	// Kinds of swaps that were seen on this build.
	Kinds []Kind
	// Mismatches is how many mismatches this build has, LastMismatch the signature of the last one.
	Mismatches   uint64
	LastMismatch string
}

// Kind is a kind of swap: swaps that use the same parts of a venue's arithmetic.
type Kind struct {
	// Features by name; empty for the plainest swap.
	Features []string `json:"features"`
	// Matches is how many swaps in a row gave what our quote says, up to Report.Needed.
	Matches int  `json:"matches"`
	Proved  bool `json:"proved"`
}

// Report returns what is known about a venue; the zero value for an unknown name.
func (t *Trust) Report(name string) Report { return t.book.report(name) }

// Stop returns why not all swaps of a venue are quoted; nil if they are. partly says that some
// kinds are. It takes no lock, as every quote calls it.
func (t *Trust) Stop(name string) (stop *Stop, partly bool) {
	if r := t.book.records[name]; r != nil {
		return r.stop()
	}
	return unwatched, false
}

func (r *record) stop() (stop *Stop, partly bool) {
	v := r.view.Load()
	if v.all {
		return nil, false
	}
	return v.stop, v.partly
}

func (b *book) report(name string) Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[name]
	if r == nil {
		return Report{}
	}
	report := Report{Programs: r.listPrograms(), Needed: b.needed, Kinds: []Kind{}}
	report.Stop, report.Partly = r.stop()
	v := r.builds[r.now]
	if v == nil {
		return report
	}
	report.Basis, report.Mismatches, report.LastMismatch = v.Basis, v.Mismatches, v.Last
	names := r.venue.FeatureNames()
	for features, p := range v.Proofs {
		report.Kinds = append(report.Kinds, Kind{append([]string{}, features.Names(names)...), p.Matches, p.Proved})
	}
	slices.SortFunc(report.Kinds, func(x, y Kind) int {
		return cmp.Or(cmp.Compare(y.Matches, x.Matches), slices.Compare(x.Features, y.Features))
	})
	return report
}

// kind returns the name of a kind of swap of a venue.
func (t *Trust) kind(name string, features venue.Features) string {
	r := t.book.records[name]
	if r == nil {
		return ""
	}
	return strings.Join(append([]string{"swap"}, features.Names(r.venue.FeatureNames())...), " ")
}
