package validator

import (
	"fmt"

	"github.com/mintlake/mintlake/bootstrap"
)

// step is a part of a run, with about the share of the whole run that it takes: from and to are of
// 1,000.
type step struct{ from, to int64 }

// The steps of a run. On two cores most of it is reading and hashing.
var (
	stepRead    = step{0, 600}
	stepSort    = step{600, 650}
	stepTakeOff = step{650, 850}
	stepWrite   = step{850, 950}
	stepHold    = step{950, 1000}
)

// progressTotal is Progress.Total: thousandths of thousandths of a run.
const progressTotal = 1_000_000

// tell shows that done of total of a step is done.
func (l *Loader) tell(s step, done, total int64, note string) {
	share := float64(done) / float64(max(total, 1))
	at := s.from*1000 + int64(share*float64((s.to-s.from)*1000))
	l.progress.Store(&bootstrap.Progress{Done: min(at, progressTotal), Total: progressTotal, Records: l.state.Records, Note: note})
}

// tellRead shows how far the reading of an archive is.
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

// Progress is how far the run is, in millionths.
func (l *Loader) Progress() bootstrap.Progress {
	p := *l.progress.Load()
	p.Items = l.items.Load()
	return p
}
