package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
)

// explorerPaths returns the paths of the explorer's files, and of all its pages except the page of
// a token.
func explorerPaths() []string {
	return []string{"/", "/new", "/movers", "/volume", "/quote", "/coverage", "/owner/:owner", "/explorer/*"}
}

// addExplorer adds the explorer's routes, if the node has an explorer.
func (s *Server) addExplorer() {
	if s.deps.Explorer == nil {
		return
	}
	s.explorer = adaptor.HTTPHandler(s.deps.Explorer)
	s.routes = append(s.routes, &route{fiber.MethodGet, "/token/:mint", windowGlobal, false, s.getTokenPage})
	for _, path := range explorerPaths() {
		s.routes = append(s.routes, &route{fiber.MethodGet, path, windowGlobal, false, s.explorer})
	}
}

// noPage answers 404 with the explorer's document, which shows that there is no such page. It
// returns false if the node has no explorer, or the client is a program and not a browser.
func (s *Server) noPage(c *fiber.Ctx) bool {
	if s.explorer == nil || c.Method() != fiber.MethodGet || c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) != fiber.MIMETextHTML {
		return false
	}
	if s.explorer(c) != nil {
		return false
	}
	c.Status(fiber.StatusNotFound).Set(fiber.HeaderCacheControl, "no-store")
	return true
}
