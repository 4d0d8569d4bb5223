package status

import (
	"context"
	"errors"
	"time"

	"github.com/mintlake/mintlake/replica"
)

// measurement is one reading of the pipeline's lags. It goes on after the document that asked for
// it has stopped waiting. Otherwise a broker that needs some seconds for an answer would be asked
// again and again, and no answer would ever be used.
type measurement struct {
	before   replica.View // what the node knew when it began
	began    time.Time
	cancel   context.CancelFunc
	done     chan struct{}
	pipeline Pipeline
	ends     offsets
	err      error
}

// errSlow says that the measurement has not ended in time. It goes on, and a later document has its
// result.
var errSlow = errors.New("kafka did not answer in time")

// measure returns the lags, and what the node knew when their measurement began. It waits for the
// measurement that is under way, or begins one. If ctx ends first, the result has errSlow. The
// caller holds c.making.
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

// endMeasurement cancels the measurement that is under way, if there is one, and waits for its end.
func (c *Collector) endMeasurement() {
	c.making.Lock()
	defer c.making.Unlock()
	if c.running != nil {
		c.running.cancel()
		<-c.running.done
		c.running = nil
	}
}
