package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// component is something that runs: a room, an engine, a server.
type component struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// lifecycle starts components one after another, and stops them one by one in the opposite order.
// So a producer has stopped before the store that it writes to stops.
type lifecycle struct {
	logger  *slog.Logger
	timeout time.Duration
	running []*component
	failed  chan *component
	// broken is true once a component has failed.
	broken bool
}

// brokenStop bounds a stop after a component has failed. The others may wait for that component
// until their own grace periods end, 20 s in all, and an operator's supervisor waits for the end.
const brokenStop = 3 * time.Second

func newLifecycle(logger *slog.Logger, timeout time.Duration) *lifecycle {
	return &lifecycle{logger: logger, timeout: timeout, failed: make(chan *component, 32)}
}

// start runs a component. If run returns an error, wait returns that error, and the caller stops
// everything. If run returns nil, the component is finished.
func (l *lifecycle) start(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &component{name: name, cancel: cancel, done: make(chan struct{})}
	l.running = append(l.running, c)
	go func() {
		c.err = run(ctx)
		close(c.done)
		if c.err != nil {
			l.failed <- c
		}
	}()
}

// await waits for ready, unless ctx ends or a component fails first.
func (l *lifecycle) await(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case c := <-l.failed:
		l.broken = true
		return c.err // its text names the component
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait returns nil when ctx ends, or the error of the first component that fails.
func (l *lifecycle) wait(ctx context.Context) error {
	if err := l.await(ctx, nil); !errors.Is(err, context.Canceled) { // nil is never ready
		return err
	}
	return nil
}

// stop stops the components in the opposite order of their start, and waits at most timeout for
// each. After a failure it cancels all at the same time, and waits at most brokenStop in all:
// unfinished work is done again at the next start, as after a kill. The error joins those of the
// components, and names each that did not stop in time.
func (l *lifecycle) stop() error {
	var problems []error
	limit := func() <-chan time.Time { return time.After(l.timeout) }
	if l.broken {
		for _, c := range l.running {
			c.cancel()
		}
		end := time.Now().Add(min(brokenStop, l.timeout))
		// At least a millisecond, so that a component that has stopped is always seen as stopped.
		limit = func() <-chan time.Time { return time.After(max(time.Until(end), time.Millisecond)) }
	}
	for i := len(l.running) - 1; i >= 0; i-- {
		c := l.running[i]
		c.cancel()
		select {
		case <-c.done:
			if c.err != nil && !errors.Is(c.err, context.Canceled) {
				problems = append(problems, fmt.Errorf("%s: %w", c.name, c.err))
			}
			l.logger.Debug("component stopped", "component", c.name)
		case <-limit():
			if l.broken {
				l.logger.Warn("component did not stop in time", "component", c.name)
				continue
			}
			problems = append(problems, fmt.Errorf("%s: did not stop within %s", c.name, l.timeout))
		}
	}
	l.running = nil
	return errors.Join(problems...)
}
