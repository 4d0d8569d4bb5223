package trust

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// Reasons of a Stop.
const (
	// ReasonUnread: it is not known yet how the programs are deployed.
	ReasonUnread = "unread"
	// ReasonRedeployed: a program was deployed anew, and nothing proves the new build yet.
	ReasonRedeployed = "redeployed"
	// ReasonMismatch: a swap on the chain gave something else than a quote says.
	ReasonMismatch = "mismatch"
)

// Why a build is trusted.
const (
	// BasisKnown: our own runs cover it.
	BasisKnown = "known_build"
	// BasisFirst: it was there when this node first looked.
	BasisFirst = "first_seen"
	// BasisOperator: swap.trust names it.
	BasisOperator = "operator"
)

// Stop is why a venue's swaps are not quoted. It is an error that wraps venue.ErrStopped.
type Stop struct {
	Reason, Message string
}

// Error implements error.
func (s *Stop) Error() string { return venue.ErrStopped.Error() + ": " + s.Message }

// Unwrap makes it a refusal.
func (s *Stop) Unwrap() error { return venue.ErrStopped }

// unwatched is a venue that is none of Deps.Venues. Nobody knows how its programs are deployed.
var unwatched = &Stop{ReasonUnread, "its programs are not watched"}

// Allows implements guard.Gate: nothing passes.
func (s *Stop) Allows(venue.Features) error { return s }

// deployed is a program as it was last seen.
type deployed struct {
	program venue.Key
	mark    mark
	// slot at which that was so.
	slot uint64
	// sum is empty while the executable is not read.
	sum string
}

// verdict is what is known of one build of a venue.
type verdict struct {
	// Basis of trust; empty for a build whose swaps are still to be proved.
	Basis string `json:"basis"`
	// Programs of the build, as it was first seen.
	Programs []Program `json:"programs"`
	// Mismatches counts swaps that were not what a quote says; Last is the signature of the last.
	Mismatches uint64 `json:"mismatches"`
	Last       string `json:"last_mismatch,omitempty"`
	// Proofs by features. In a row counts matches since the last mismatch, up to what is needed.
	Proofs map[venue.Features]*proof `json:"proofs,omitempty"`
	// Since is when it was first seen.
	Since time.Time `json:"since"`
}

type proof struct {
	Matches int `json:"matches"`
	// Proved: so many swaps in a row were right that these are quoted.
	Proved bool `json:"proved"`
}

// record is what is known of a venue.
type record struct {
	name     string
	venue    venue.Venue
	programs []deployed
	// seen says that the programs were read. suspect is a mismatch that is being looked into.
	seen    bool
	suspect string
	// early says that a program moved before any build was known: none is the first one then.
	early bool
	// builds by their executables' sums; now is the id of the one that is deployed, empty while it
	// is not known.
	builds map[string]*verdict
	now    string
	view   atomic.Pointer[view]
}

// view is what quotes ask. Immutable.
type view struct {
	all    bool
	proved map[venue.Features]bool
	// partly says that one of them is.
	partly bool
	stop   *Stop
}

// Allows implements guard.Gate.
func (r *record) Allows(features venue.Features) error {
	v := r.view.Load()
	if v.all || v.proved[features] {
		return nil
	}
	return v.stop
}

var _ guard.Gate = (*record)(nil)

// book is what is known of all venues.
type book struct {
	needed   int
	known    []KnownBuild
	accepted map[venue.Key][]string

	mu      sync.Mutex
	records map[string]*record
	order   []string
	// sums of deployments, so that one that comes back need not be read again.
	sums map[venue.Key]map[mark]string
}

func newBook(venues venue.List, terms Terms, accepted map[venue.Key][]string) *book {
	b := &book{needed: terms.Matches, known: terms.Known, accepted: accepted, records: map[string]*record{}, sums: map[venue.Key]map[mark]string{}}
	for _, v := range venues {
		r := &record{name: v.Name(), venue: v, builds: map[string]*verdict{}}
		for _, program := range v.Programs() {
			r.programs = append(r.programs, deployed{program: program})
			b.sums[program] = map[mark]string{}
		}
		r.view.Store(&view{stop: &Stop{ReasonUnread, "its programs were not read yet"}})
		b.records[r.name] = r
		b.order = append(b.order, r.name)
	}
	return b
}

// moved says how programs are deployed at a slot. What is older than what is known is passed over:
// servers differ in how far they are. It returns those whose executable must be read, and whether
// anything changed.
func (b *book) moved(marks map[venue.Key]mark, slot uint64, at time.Time) (unread map[venue.Key]mark, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	unread = map[venue.Key]mark{}
	for _, name := range b.order {
		r := b.records[name]
		was := r.seen
		r.seen = true
		for i := range r.programs {
			p := &r.programs[i]
			m, told := marks[p.program]
			if !told {
				r.seen = r.seen && was
				continue
			}
			if slot < p.slot {
				continue
			}
			p.slot = slot
			if m != p.mark || !was {
				changed = true
				r.early = r.early || was && len(r.builds) == 0
				p.mark, p.sum = m, b.sums[p.program][m]
			}
			if m.code == (venue.Key{}) {
				p.sum = noCode
			}
			if p.sum == "" {
				unread[p.program] = m
			}
		}
		b.decide(r, at)
	}
	return unread, changed
}

// summed says what the executable of a deployment is.
func (b *book) summed(program venue.Key, m mark, sum string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sums[program]) >= maxBuilds {
		clear(b.sums[program])
	}
	b.sums[program][m] = sum
	for _, name := range b.order {
		r := b.records[name]
		for i := range r.programs {
			if p := &r.programs[i]; p.program == program && p.mark == m {
				p.sum = sum
			}
		}
		b.decide(r, at)
	}
}

// maxBuilds bounds those that are remembered of a venue.
const maxBuilds = 32

// counts says whether a swap of a slot says something about what is deployed now: a deployment is
// in force from the slot behind it on.
func (r *record) counts(slot uint64) bool {
	if r.now == "" {
		return false
	}
	for _, p := range r.programs {
		if slot <= p.mark.slot {
			return false
		}
	}
	return true
}

// match counts a swap that was what a quote says. proved says that this proves the kind.
func (b *book) match(name string, features venue.Features, slot uint64) (counted, proved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[name]
	if r == nil || !r.counts(slot) {
		return false, false
	}
	v := r.builds[r.now]
	p := v.proof(features)
	if p == nil || p.Proved {
		return false, false
	}
	p.Matches++
	if p.Proved = p.Matches >= b.needed; p.Proved {
		b.publish(r)
	}
	return true, p.Proved
}

// programsOf a venue as they are deployed.
func (b *book) programsOf(name string) []Program {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.records[name].listPrograms()
}

// maxFeatures bounds the kinds of swaps that are counted.
const maxFeatures = 1024

// proof of swaps with these features; nil when there are too many kinds.
func (v *verdict) proof(features venue.Features) *proof {
	if v.Proofs == nil {
		v.Proofs = map[venue.Features]*proof{}
	}
	p := v.Proofs[features]
	if p == nil && len(v.Proofs) < maxFeatures {
		p = &proof{}
		v.Proofs[features] = p
	}
	return p
}

// suspend stops a venue with a trusted build while a mismatch is checked; resolve ends that. counts
// is false if the build that made the swap is not the one deployed now, or that one is not known.
// quoted says that swaps of this kind are quoted, so that the mismatch takes something away.
func (b *book) suspend(name, signature string, features venue.Features, slot uint64) (counts, quoted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[name]
	if r == nil || !r.counts(slot) {
		return false, false
	}
	quoted = r.Allows(features) == nil
	// Of a build that is not trusted only this kind of swap is concerned.
	if r.builds[r.now].Basis != "" {
		r.suspect = signature
		b.publish(r)
	}
	return true, quoted
}

// resolve ends a suspension, when it is known again how the programs are deployed. The mismatch
// takes the trust from the build: what it had proved counts no more, or, if it was not trusted as a
// whole, no more for these features.
// It returns how many the build has by now; 0 for a swap of another build.
func (b *book) resolve(name string, features venue.Features, signature string, slot uint64) (mismatches uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[name]
	if r == nil {
		return 0
	}
	r.suspect = ""
	if r.counts(slot) {
		v := r.builds[r.now]
		if v.Basis != "" {
			v.Basis, v.Proofs = "", nil
		}
		v.Mismatches++
		v.Last, mismatches = signature, v.Mismatches
		if p := v.proof(features); p != nil {
			*p = proof{}
		}
	}
	b.publish(r)
	return mismatches
}
