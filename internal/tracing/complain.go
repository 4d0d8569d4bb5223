package tracing

import (
	"log/slog"
	"sync"
	"time"
)

// complainer logs the SDK's errors, at most once in complainEvery: while the collector is away,
// every batch has one.
type complainer struct {
	logger *slog.Logger
	mu     sync.Mutex
	next   time.Time
}

func newComplainer(logger *slog.Logger) *complainer {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &complainer{logger: logger}
}

// Handle implements otel.ErrorHandler.
func (c *complainer) Handle(err error) {
	c.mu.Lock()
	due := time.Now().After(c.next)
	if due {
		c.next = time.Now().Add(complainEvery)
	}
	c.mu.Unlock()
	if due {
		c.logger.Warn("spans were not sent to tracing.endpoint", "err", err)
	}
}
