package status

import (
	"context"
	"errors"
	"time"

	"github.com/mintlake/mintlake/replica"
)

// measurement is one reading of the pipeline's lags. It may outlast the document that asked for it:
// a broker that is busy for some seconds would else never be heard to its end, and the lag would
// stay unknown for as long as it is busy.
type measurement struct {
	before   replica.View // what the node knew when it began
	began    time.Time
	cancel   context.CancelFunc
	done     chan struct{}
	pipeline Pipeline
	ends     offsets
	err      error
}

// errSlow says that the measurement that runs has not ended in time; a later document has it.
var errSlow = errors.New("kafka did not answer in time")

// measure returns the lags, and what the node knew when their measurement began. It waits for the
// measurement that runs, or begins one, until ctx ends. The caller holds making.
func (c *Collector) measure(ctx context.Context) *measurement {
	m := c.running
	if m == nil {
		m = &measurement{before: c.copy.View(), began: c.now(), done: make(chan struct{})}
		c.running = m
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
		m.cancel = cancel
		go func() {
			defer cancel()
			defer close(m.done)
			m.pipeline, m.ends, m.err = c.pipeline(within, m.before)
		}()
	}
	select {
	case <-m.done:
		c.running = nil
		return m
	case <-ctx.Done():
		why := "kafka is slow to tell offsets: the lag is that of the last answer"
		p := Pipeline{Topics: map[string]Topic{}, MeasuredAtMS: c.now().UnixMilli(), Error: &why}
		return &measurement{before: c.copy.View(), pipeline: p, err: errSlow}
	}
}

// endMeasurement ends the measurement that runs, if there is one.
func (c *Collector) endMeasurement() {
	c.making.Lock()
	defer c.making.Unlock()
	if c.running != nil {
		c.running.cancel()
		<-c.running.done
		c.running = nil
	}
}
