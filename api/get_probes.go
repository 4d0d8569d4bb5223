package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

// getHealth is GET /healthz: the process serves requests.
func (s *Server) getHealth(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(fiber.Map{"status": "ok"})
}

// getReady is GET /readyz. It answers 503 until the replica is loaded and has read the topics up to
// where they ended at start, while the node drains, and when a topic that the registry is made of
// is lost. If anything else is lost, it answers 200 and lists the reasons.
func (s *Server) getReady(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	if s.draining.Load() {
		return newError(fiber.StatusServiceUnavailable, "the node is about to stop")
	}
	if !s.replica.Ready() {
		e := newError(fiber.StatusServiceUnavailable, "the registry is still loading")
		e.headers = []string{fiber.HeaderRetryAfter, "1"}
		return e
	}
	reasons, lost := s.status.Reasons()
	if lost {
		return newError(fiber.StatusServiceUnavailable, "%s", strings.Join(reasons, "; "))
	}
	if len(reasons) > 0 {
		return c.JSON(fiber.Map{"status": "ready", "reasons": reasons})
	}
	return c.JSON(fiber.Map{"status": "ready"})
}
