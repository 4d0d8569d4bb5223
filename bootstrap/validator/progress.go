package validator

import (
	"fmt"

	"github.com/mintlake/mintlake/bootstrap"
)

// step is a part of a run. from and to say where in the run it begins and ends, in thousandths of
// the run's time.
type step struct{ from, to int64 }

// The steps of a run, as they are for mainnet-beta on two cores: some 400,000 accounts a second are
// read and hashed, one in thirty is a mint, and 30,000 facts a second are written beside a node
// that projects them.
var (
	stepRead    = step{0, 450}
	stepCompare = step{450, 480}
	stepTakeOff = step{480, 560}
	stepWrite   = step{560, 950}
	stepHold    = step{950, 990}
	stepClose   = step{990, 1000}
)

// progressTotal is Progress.Total: progress is counted in millionths of a run.
const progressTotal = 1_000_000

// tell sets the progress: of the step s, done parts of total are done.
func (l *Loader) tell(s step, done, total int64, note string) {
	share := float64(done) / float64(max(total, 1))
	at := s.from*1000 + int64(share*float64((s.to-s.from)*1000))
	l.progress.Store(&bootstrap.Progress{Done: min(at, progressTotal), Total: progressTotal, Records: l.state.Records, Note: note})
}

// tellRead sets the progress while archive i is read.
func (l *Loader) tellRead(s step, i int, source *source, note string) {
	read, total := int64(0), int64(0)
	for k, other := range l.sources {
		total += other.size()
		if k < i {
			read += other.size()
		}
	}
	read += source.read.Load()
	l.tell(s, read, total, fmt.Sprintf("%s %s, %d of %d MB", note, source.name, source.read.Load()>>20, source.size()>>20))
}

// Progress returns how far the run is, in millionths.
func (l *Loader) Progress() bootstrap.Progress {
	p := *l.progress.Load()
	p.Items = l.items.Load()
	return p
}
