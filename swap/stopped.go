package swap

// Stop is why a venue gives no quotes for now.
type Stop struct {
	// Reason is panicked.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// stopPanicked is a venue whose code failed. It is tried again after a pause.
const stopPanicked = "panicked"

// stop says why a venue is stopped; nil if it is not.
func (s *Server) stop(name string) *Stop {
	if stop := s.guard.Stopped(name); stop != nil {
		return &Stop{stopPanicked, stop.Message}
	}
	return nil
}
