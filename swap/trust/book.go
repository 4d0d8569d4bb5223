package trust

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// Reasons of a Stop.
const (
	// ReasonUnread: how the programs are deployed is not known yet.
	ReasonUnread = "unread"
	// ReasonRedeployed: a program was deployed anew, and nothing proves the new build yet.
	ReasonRedeployed = "redeployed"
	// ReasonUnproved: nothing but swaps on the chain can prove the venue, and too few did yet.
	ReasonUnproved = "unproved"
	// ReasonMismatch: a swap on the chain gave something else than a quote says.
	ReasonMismatch = "mismatch"
)

// Why a build is trusted.
const (
	// BasisKnown: our own runs cover it.
	BasisKnown = "known_build"
	// BasisFirst: the build was deployed when this node first looked.
	BasisFirst = "first_seen"
	// BasisOperator: swap.trust names it.
	BasisOperator = "operator"
)

// Stop is why a venue's swaps, or some kinds of them, are not quoted. It is an error that wraps
// venue.ErrStopped.
type Stop struct {
	Reason, Message string
}

// Error implements error.
func (s *Stop) Error() string { return venue.ErrStopped.Error() + ": " + s.Message }

// Unwrap makes Stop a refusal.
func (s *Stop) Unwrap() error { return venue.ErrStopped }

// unwatched is the gate of a venue that is not in Deps.Venues, whose programs Trust therefore does
// not look at.
var unwatched = &Stop{ReasonUnread, "its programs are not watched"}

// Allows implements guard.Gate: nothing passes.
func (s *Stop) Allows(venue.Features) error { return s }

// deployed is a program as it was last seen.
type deployed struct {
	program venue.Key
	mark    mark
	// slot is the slot at which it was seen.
	slot uint64
	// sum is the hash of the executable; empty until it is read.
	sum string
}

// verdict is what is known about one build of a venue.
type verdict struct {
	// Basis of trust; empty for a build whose swaps are still to be proved.
	Basis string `json:"basis"`
	// Programs of the build, as it was first seen.
	Programs []Program `json:"programs"`
	// Mismatches counts swaps that gave something else than our quote. Last is the signature of the
	// last one.
	Mismatches uint64 `json:"mismatches"`
	Last       string `json:"last_mismatch,omitempty"`
	// Proofs has the proof of each kind of swap, by its features.
	Proofs map[venue.Features]*proof `json:"proofs,omitempty"`
	// Since is when the build was first seen.
	Since time.Time `json:"since"`
}

type proof struct {
	// Matches is how many swaps since the last mismatch gave what our quote says. It does not grow
	// after Proved.
	Matches int `json:"matches"`
	// Proved says that Matches has reached Terms.Matches, so that this kind of swap is quoted.
	Proved bool `json:"proved"`
}

// record is what is known about a venue.
type record struct {
	name     string
	venue    venue.Venue
	programs []deployed
	// seen says that the programs were read. suspect is the signature of a mismatch that is being
	// checked.
	seen    bool
	suspect string
	// early says that a program was deployed anew before any build was known. Then no build counts
	// as the first one.
	early bool
	// builds are the verdicts by the hashes of the executables, joined with commas. now is the key
	// of the deployed build; empty while that is not known.
	builds map[string]*verdict
	now    string
	view   atomic.Pointer[view]
}

// firstCounts returns whether no build was seen yet and the first one may be trusted. It may not if
// only swaps on the chain prove the venue, or if a program was deployed anew before.
func (r *record) firstCounts() bool {
	return len(r.builds) == 0 && !r.early && r.venue.Proof() != venue.ProofChain
}

// view is what quotes read of a record. If all is set, all swaps are quoted; else the kinds in
// proved are, and stop is why the others are not. Immutable.
type view struct {
	all bool
	// lacks are features that the deployed build is not known to have, though the venue's other
	// builds have them: they are not quoted.
	lacks  venue.Features
	proved map[venue.Features]bool
	// partly says that at least one kind is proved.
	partly bool
	stop   *Stop
}

// Allows implements guard.Gate.
func (r *record) Allows(features venue.Features) error {
	v := r.view.Load()
	switch {
	case features&v.lacks != 0:
		return errLacks
	case v.all || v.proved[features]:
		return nil
	}
	return v.stop
}

// errLacks is the refusal of a swap that only some builds can make.
var errLacks = fmt.Errorf("%w: the deployed build is not known to have this instruction", venue.ErrUnverified)

var _ guard.Gate = (*record)(nil)

// book is what is known about all venues.
type book struct {
	needed   int
	known    []KnownBuild
	accepted map[venue.Key][]string

	mu      sync.Mutex
	records map[string]*record
	order   []string
	// sums are the hashes of deployments, so that the executable of a known deployment is not read
	// again.
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

// noteDeployments takes in how programs are deployed at a slot. It ignores programs that are known
// from a later slot: some servers are behind others. It returns the programs whose executable must
// be read, and whether anything changed.
func (b *book) noteDeployments(marks map[venue.Key]mark, slot uint64, at time.Time) (unread map[venue.Key]mark, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	unread = map[venue.Key]mark{}
	for _, name := range b.order {
		r := b.records[name]
		was := r.seen
		r.seen = true
		for i := range r.programs {
			p := &r.programs[i]
			// A record counts as seen once one call has told all of its programs.
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
			if m.Code == (venue.Key{}) {
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

// noteHash takes in the hash of a deployment's executable.
func (b *book) noteHash(program venue.Key, m mark, sum string, at time.Time) {
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

// maxBuilds is how many builds of a venue are remembered, and how many hashes of one program.
const maxBuilds = 32

// counts returns whether a swap in a slot ran on the build that is deployed now. A deployment is in
// force from the slot after its own.
func (r *record) counts(slot uint64) bool {
	if r.now == "" {
		return false
	}
	for _, p := range r.programs {
		if slot <= p.mark.Slot {
			return false
		}
	}
	return true
}

// match counts a swap that gave what our quote says. counted is false if the swap did not run on
// the deployed build, its kind is proved already, or there are too many kinds. proved says that
// this swap proves the kind.
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

// programsOf returns a venue's programs as they are deployed.
func (b *book) programsOf(name string) []Program {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.records[name].listPrograms()
}

// maxFeatures is how many kinds of swaps of one build are counted.
const maxFeatures = 1024

// proof returns the proof of a kind of swap; nil if there are too many kinds.
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

// suspend stops a venue with a trusted build while a mismatch is checked. resolve ends that. counts
// is false if the swap did not run on the build that is deployed now, or if that build is not
// known. quoted says that swaps of this kind are quoted now.
func (b *book) suspend(name, signature string, features venue.Features, slot uint64) (counts, quoted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[name]
	if r == nil || !r.counts(slot) {
		return false, false
	}
	quoted = r.Allows(features) == nil
	// If the build is not trusted, only this kind of swap is affected.
	if r.builds[r.now].Basis != "" {
		r.suspect = signature
		b.publish(r)
	}
	return true, quoted
}

// resolve ends a suspension. Before, the caller looks at the programs again. If the swap ran on the
// deployed build, the mismatch counts: a trusted build loses its trust and all proofs, another
// build the proof of this kind. It returns how many mismatches the build has now; 0 if the swap ran
// on another build.
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
