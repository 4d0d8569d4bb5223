package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/registry"
)

// getStatus is GET /status: how far the pipeline is, and what is unavailable.
func (s *Server) getStatus(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, cacheNever)
	document := s.status.Get(c.UserContext())
	if s.deps.History != nil {
		health := s.status.ClickHouse(c.UserContext(), s.askClickHouse)
		document.ClickHouse = health.WithDamage(s.deps.Damage)
	}
	return c.JSON(document)
}

// getStatusPast is GET /status/past: freshness and lag of the last hour.
func (s *Server) getStatusPast(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, cacheNever)
	return c.JSON(s.status.Past())
}

// askClickHouse asks ClickHouse for a window of the history that has hardly any row: slot 0 of one
// mint.
func (s *Server) askClickHouse(ctx context.Context) error {
	_, _, err := s.deps.History.Window(ctx, registry.WrappedSOL(), 0, 1)
	return err
}
