package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mintlake/mintlake/access/limits"
)

// taker counts requests. It is *limits.Limiter or *limits.Shared.
type taker interface {
	Take(client string, now time.Time, windows ...int) limits.Decision
}

// buildLimits parses the trusted proxies. If rate limits are enabled, it makes this node's limiter
// and, if nodes share their limits, the shared one in front of it.
func (s *Server) buildLimits() (err error) {
	cfg := &s.cfg.RateLimits
	if s.proxies, err = limits.ParseProxies(s.cfg.TrustedProxies); err != nil {
		return err
	}
	if !cfg.Enabled {
		return nil
	}
	if s.local, err = limits.New(cfg.rules(), cfg.MaxClients, cfg.networks()); err != nil {
		return err
	}
	s.limiter = s.local
	if cfg.SharedURL == "" {
		return nil
	}
	s.shared, err = limits.NewShared(limits.SharedConfig{URL: cfg.SharedURL, CAFile: cfg.SharedCAFile, Timeout: cfg.SharedTimeout, Retry: cfg.SharedRetry},
		limits.SharedDeps{Local: s.local, Logger: s.deps.Logger, Registerer: s.deps.Registerer})
	s.limiter = s.shared
	return err
}

func (s *Server) newListener(bound net.Listener) *listener {
	l := newListener(bound, listenerConfig{
		most: s.cfg.MaxConnections, perClient: s.cfg.MaxConnectionsPerClient, proxies: s.proxies,
		networks: s.cfg.RateLimits.networks(), readTimeout: s.cfg.ReadTimeout,
		refused: func(reason string) { s.metrics.refused.WithLabelValues(reason).Inc() },
		evicted: func(count int) { s.metrics.evicted.Add(float64(count)) },
	})
	s.listener.Store(l)
	return l
}

// serve answers requests until ctx ends. Then /readyz answers 503 for DrainTime while everything is
// still served, so that load balancers turn to other nodes. After that no more connections are
// accepted, and requests in flight get ShutdownGrace. failed ends when another part of the node has
// failed: what is left of DrainTime is then skipped.
func (s *Server) serve(ctx, failed context.Context, l *listener) error {
	ended := make(chan error, 1)
	go func() { ended <- s.app.Listener(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-failed.Done():
	case <-ctx.Done():
		if err := s.drain(failed, ended); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	_ = l.Close()
	l.closeQuiet()
	if err := s.app.ShutdownWithTimeout(s.cfg.ShutdownGrace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.deps.Logger.Warn("api did not stop cleanly", "err", err)
	}
	return nil
}

// drain lets /readyz answer 503 for DrainTime, or until failed ends. It returns an error only if
// the server has stopped serving meanwhile.
func (s *Server) drain(failed context.Context, ended <-chan error) error {
	s.draining.Store(true)
	if s.cfg.DrainTime <= 0 {
		return nil
	}
	s.deps.Logger.Info("api drains", "seconds", s.cfg.DrainTime.Seconds())
	select {
	case <-time.After(s.cfg.DrainTime):
	case <-failed.Done():
	case err := <-ended:
		return err
	}
	return nil
}

// sweep removes idle clients from this node's limiter, once a minute.
func (s *Server) sweep(ctx context.Context) error {
	ticker := time.NewTicker(limitWindow)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if s.local != nil {
				s.local.Sweep(s.deps.Now())
			}
		}
	}
}

// share runs the shared rate limiter, if there is one.
func (s *Server) share(ctx context.Context) error {
	if s.shared == nil {
		return nil
	}
	return s.shared.Run(ctx)
}
