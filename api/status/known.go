package status

import "time"

// unknownFor is how long the lag is unknown before the log says so. On a busy machine single
// questions go unanswered, and a line for each would say nothing.
const unknownFor = 30 * time.Second

// knownLag remembers the last lag that was known, and whether the log has said that it is not.
type knownLag struct {
	lag    *int64
	at     time.Time
	since  time.Time // when it became unknown; zero while it is known
	logged bool      // that it is unknown
}

// see remembers the lag of p, and tells p the last known one.
func (k *knownLag) see(now time.Time, p *Pipeline) {
	if p.LagRecords != nil {
		lag := *p.LagRecords
		k.lag, k.at = &lag, now
	}
	if k.lag != nil {
		age := now.Sub(k.at).Milliseconds()
		p.LastKnownLag, p.LastKnownAgeMS = k.lag, &age
	}
}

// changed says whether the log has something to tell: that the lag has been unknown for unknownFor,
// or that it is known again after that was told.
func (k *knownLag) changed(now time.Time, known bool) bool {
	switch {
	case known:
		told := k.logged
		k.since, k.logged = time.Time{}, false
		return told
	case k.since.IsZero():
		k.since = now
		return false
	case k.logged || now.Sub(k.since) < unknownFor:
		return false
	default:
		k.logged = true
		return true
	}
}
