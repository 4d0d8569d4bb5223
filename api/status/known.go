package status

import "time"

// unknownFor is how long the lag must be unknown before that is logged. On a busy machine single
// measurements fail, and a log line for each would say nothing.
const unknownFor = 30 * time.Second

// knownLag remembers the last known lag, and whether it was logged that the lag is unknown.
type knownLag struct {
	lag    *int64
	at     time.Time // when lag was known last
	since  time.Time // when the lag became unknown; zero while it is known
	logged bool      // it was logged that the lag is unknown
}

// see remembers the lag of p if it is known, and sets the last known lag in p. If the lag is not
// known now, p gets the last known lag in its place, but at least 1: a lag of 0 would say that
// everything is visible now.
func (k *knownLag) see(now time.Time, p *Pipeline) {
	if p.LagRecords != nil {
		lag := *p.LagRecords
		k.lag, k.at = &lag, now
	}
	if k.lag == nil {
		return
	}
	age := now.Sub(k.at).Milliseconds()
	p.LastKnownLag, p.LastKnownAgeMS = k.lag, &age
	if p.LagRecords == nil {
		old := max(*k.lag, 1)
		p.LagRecords = &old
	}
}

// changed returns whether there is something to log: the lag has been unknown for unknownFor, or is
// known again after that was logged.
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
