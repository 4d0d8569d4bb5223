package api

import "github.com/gofiber/fiber/v2"

// getHealth is GET /healthz: the process serves requests.
func (s *Server) getHealth(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(fiber.Map{"status": "ok"})
}

// getReady is GET /readyz: 503 until the copy of the registry is loaded and as far as the topics were at start, and again while the node drains.
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
	return c.JSON(fiber.Map{"status": "ready"})
}
