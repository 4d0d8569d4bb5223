package chengine

import (
	"fmt"
	"math/bits"
	"path/filepath"
)

// mending makes damaged small files of one data directory anew. It logs and counts each of them.
type mending struct {
	engine *Engine
	copies *definitions
	// unknown are the damaged definitions without a copy.
	unknown  []string
	anew     bool // the engine's folder was put aside once
	failures uint // failed calls of update in a row
}

// newMending logs that the marker or the copies of the definitions are damaged, if they are, and
// mends the definitions that look damaged.
func (e *Engine) newMending(dir *dataDir) (*mending, error) {
	m := &mending{engine: e}
	if dir.unmarked != nil {
		e.metrics.mended.Inc()
		e.log.Error("the marker of the embedded clickhouse is damaged and made anew: which version of the engine wrote the data is not known", "file", filepath.Join(dir.path, markerFile), "err", dir.unmarked)
	}
	var damaged error
	if m.copies, damaged = loadDefinitions(dir); damaged != nil {
		e.metrics.mended.Inc()
		e.log.Error("the copies of clickhouse's definitions are damaged and made anew", "file", filepath.Join(dir.path, definitionsFile), "err", damaged)
	}
	return m, m.mend(false)
}

// mend puts copies in the place of damaged definitions; see definitions.mend.
func (m *mending) mend(all bool) error {
	mended, unknown, err := m.copies.mend(all)
	for _, path := range mended {
		m.engine.metrics.mended.Inc()
		m.engine.log.Error("a definition of the embedded clickhouse is damaged: it is put aside, and made anew from its copy",
			"file", m.copies.at(path), "aside", filepath.Join(m.copies.dir.path, asideDir))
	}
	m.unknown = unknown
	if err != nil {
		return fmt.Errorf("embedded clickhouse: put copies of damaged definitions in their place: %w: check permissions and free space of %s", err, m.copies.dir.path)
	}
	return nil
}

// afterFailure mends after a failed start. failed is the number of failed starts in a row, and the
// engine gives up after most. After the second failure, each definition that differs from its copy
// counts as damaged. After the last failure, if a damaged definition has no copy, the engine's
// folder is put aside. Then again is true: the starts are counted from 0 again.
func (m *mending) afterFailure(failed, most int) (again bool, err error) {
	switch {
	case failed == 2 && failed < most:
		err = m.mend(true)
	case failed >= most && len(m.unknown) > 0 && !m.anew:
		m.anew = true
		aside, err := m.copies.beginAnew()
		if err != nil {
			return false, fmt.Errorf("embedded clickhouse: put the damaged folder aside: %w: check permissions of %s", err, m.copies.dir.path)
		}
		m.engine.metrics.mended.Inc()
		m.engine.log.Error("definitions of the embedded clickhouse are damaged and have no copy: its tables are put aside, and made anew from the log; rows that the log has no longer are in the folder that was put aside alone",
			"files", m.unknown, "aside", aside)
		return true, nil
	}
	return false, err
}

// update copies the definitions. It does not return errors: the old copies stay.
func (m *mending) update() {
	err := m.copies.update()
	if err == nil {
		m.failures = 0
		return
	}
	if m.failures++; bits.OnesCount(m.failures) == 1 { // the 1st, 2nd, 4th, 8th … are logged
		m.engine.log.Warn("definitions of the embedded clickhouse were not copied", "failures", m.failures, "err", err)
	}
}
