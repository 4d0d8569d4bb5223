package swap

import "github.com/mintlake/mintlake/swap/trust"

// Stop is why a venue's swaps, or some kinds of them, are not quoted for now.
type Stop struct {
	// Reason is panicked, or one of trust's: unread, redeployed, mismatch.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// stopPanicked is a venue whose code failed. It is tried again after a pause.
const stopPanicked = "panicked"

// stop says why a venue is stopped; nil if it is not. partly says that some kinds of its swaps are
// quoted.
func (s *Server) stop(name string) (stop *Stop, partly bool) {
	if stop := s.guard.Stopped(name); stop != nil {
		return &Stop{stopPanicked, stop.Message}, false
	}
	if s.trust == nil {
		return nil, false
	}
	if stop, partly := s.trust.Stop(name); stop != nil {
		return &Stop{stop.Reason, stop.Message}, partly
	}
	return nil, false
}

// Build is how a venue's programs are deployed, and what proves that our arithmetic is theirs.
type Build struct {
	// Basis of trust: known_build, first_seen or operator; null while swaps are to prove it.
	Basis    *string         `json:"basis"`
	Programs []trust.Program `json:"programs"`
	// Kinds of swaps that were seen on this build. Needed in a row of one kind prove it.
	Kinds  []trust.Kind `json:"kinds"`
	Needed int          `json:"needed"`
	// Mismatches counts swaps that gave something else than a quote says; LastMismatch is the
	// signature of the last.
	Mismatches   uint64  `json:"mismatches"`
	LastMismatch *string `json:"last_mismatch"`
}

// built is how a venue is deployed; nil while nothing is known.
func (s *Server) built(name string) *Build {
	if s.trust == nil {
		return nil
	}
	r := s.trust.Report(name)
	if r.Programs == nil {
		return nil
	}
	return &Build{Basis: optional(r.Basis), Programs: r.Programs, Kinds: r.Kinds, Needed: r.Needed, Mismatches: r.Mismatches, LastMismatch: optional(r.LastMismatch)}
}

// optional is nil for "".
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
