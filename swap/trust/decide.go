package trust

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mintlake/mintlake/swap/venue"
)

// decide finds the build that is deployed, and which swaps of the venue may be quoted. at is when a
// new build was seen. The caller holds mu.
func (b *book) decide(r *record, at time.Time) {
	r.now = ""
	var sums []string
	for _, p := range r.programs {
		if p.sum == "" {
			b.publish(r)
			return
		}
		sums = append(sums, p.sum)
	}
	r.now = strings.Join(sums, ",")
	v := r.builds[r.now]
	if v == nil {
		v = &verdict{Since: at.UTC(), Programs: r.listPrograms(), Basis: b.basis(r)}
		b.forget(r)
		r.builds[r.now] = v
	} else if v.Basis == "" && v.Mismatches == 0 {
		v.Basis = b.basis(r) // by now KnownBuilds may have it, or the operator may accept it
	}
	b.publish(r)
}

// forget drops the oldest build if there is no room for another.
func (b *book) forget(r *record) {
	if len(r.builds) < maxBuilds {
		return
	}
	oldest := slices.MinFunc(slices.Collect(maps.Keys(r.builds)), func(x, y string) int {
		return cmp.Or(r.builds[x].Since.Compare(r.builds[y].Since), cmp.Compare(x, y))
	})
	delete(r.builds, oldest)
}

// basis returns why the deployed build is trusted; empty if it is not. The first build of a venue
// is trusted, unless firstCounts says otherwise.
func (b *book) basis(r *record) string {
	switch {
	case slices.ContainsFunc(b.known, func(k KnownBuild) bool { return k.covers(r.programs) }):
		return BasisKnown
	case b.accepts(r):
		return BasisOperator
	case r.firstCounts():
		return BasisFirst
	}
	return ""
}

// accepts returns whether the operator accepts what is deployed. He must name the executable of at
// least one program. The executable of each other program must be part of a trusted build.
func (b *book) accepts(r *record) bool {
	named := false
	for _, p := range r.programs {
		if slices.Contains(b.accepted[p.program], p.sum) {
			named = true
			continue
		}
		old := false
		for _, v := range r.builds {
			old = old || v.Basis != "" && slices.ContainsFunc(v.Programs, func(q Program) bool { return q.Program == p.program && q.SHA256 == p.sum })
		}
		if !old {
			return false
		}
	}
	return named
}

// listPrograms returns a venue's programs in the form of reports.
func (r *record) listPrograms() []Program {
	list := make([]Program, len(r.programs))
	for i, p := range r.programs {
		list[i] = Program{p.program, p.mark.Slot, p.sum}
	}
	return list
}

// publish stores a new view of a record. Until the programs are seen, the first view stays.
func (b *book) publish(r *record) {
	v := r.builds[r.now]
	switch {
	case !r.seen:
	case r.suspect != "":
		r.view.Store(&view{stop: &Stop{ReasonMismatch, "a swap is not what a quote says: " + r.suspect}})
	// The first build is trusted even before its executables are read.
	case v == nil && r.firstCounts(), v != nil && v.Basis != "":
		r.view.Store(&view{all: true, lacks: b.lacks(r)})
	case v == nil:
		r.view.Store(&view{stop: &Stop{r.unproved(), r.redeployed() + ": the new executable is being read"}})
	default:
		shown := &view{proved: map[venue.Features]bool{}, stop: &Stop{r.unproved(), r.redeployed()}}
		if v.Mismatches > 0 {
			shown.stop = &Stop{ReasonMismatch, "a swap was not what a quote says: " + v.Last}
		}
		shown.stop.Message += fmt.Sprintf("; swaps of a kind are quoted again when %d of it on the chain in a row are what a quote says", b.needed)
		for features, p := range v.Proofs {
			shown.proved[features] = p.Proved
			shown.partly = shown.partly || p.Proved
		}
		r.view.Store(shown)
	}
}

// lacks returns the optional features that the deployed build is not known to have.
func (b *book) lacks(r *record) venue.Features {
	lacks := r.venue.Optional()
	for _, k := range b.known {
		if k.covers(r.programs) {
			lacks &^= k.Has[r.name]
		}
	}
	return lacks
}

// unproved returns the Reason of the Stop of a build that is not trusted.
func (r *record) unproved() string {
	if r.venue.Proof() == venue.ProofChain {
		return ReasonUnproved
	}
	return ReasonRedeployed
}

// redeployed returns why a build has to be proved, as part of a message.
func (r *record) redeployed() string {
	if r.venue.Proof() == venue.ProofChain {
		return "no run of its program proves it"
	}
	last := slices.MaxFunc(r.programs, func(a, b deployed) int { return cmp.Compare(a.mark.Slot, b.mark.Slot) })
	return fmt.Sprintf("its program %s was deployed anew in slot %d", last.program.String(), last.mark.Slot)
}
