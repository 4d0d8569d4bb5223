package validator

import "time"

// Tune changes the entries of a block of the spill, and the time between two notes of how far the
// reading is.
func (l *Loader) Tune(entries int, every time.Duration) {
	l.blockEntries, l.checkpointEvery = entries, every
}
