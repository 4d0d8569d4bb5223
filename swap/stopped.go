package swap

import "github.com/mintlake/mintlake/swap/trust"

// Stop is why a venue's swaps, or some kinds of them, are not quoted for now.
type Stop struct {
	// Reason is panicked, or one of trust's: unread, redeployed, unproved, mismatch.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// stopPanicked is the reason of a venue whose code panicked. The venue is tried again after a
// pause.
const stopPanicked = "panicked"

// stop returns why a venue is stopped; nil if it is not. partly says that only some kinds of its
// swaps are not quoted.
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
	// Basis is why the build is trusted: known_build, first_seen or operator; null while swaps have
	// yet to prove it.
	Basis    *string         `json:"basis"`
	Programs []trust.Program `json:"programs"`
	// Kinds are the kinds of swaps that were seen on this build. A kind is proved by Needed correct
	// quotes in a row.
	Kinds  []trust.Kind `json:"kinds"`
	Needed int          `json:"needed"`
	// Mismatches counts swaps that gave something else than our quote. LastMismatch is the
	// signature of the last one.
	Mismatches   uint64  `json:"mismatches"`
	LastMismatch *string `json:"last_mismatch"`
}

// built returns how a venue is deployed; nil while nothing is known.
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

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
