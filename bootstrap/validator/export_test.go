package validator

import "time"

// Tune changes the entries that are sorted in memory, and the time between two notes of how far the
// reading is.
func (l *Loader) Tune(runs int, every time.Duration) { l.runEntries, l.checkpointEvery = runs, every }
