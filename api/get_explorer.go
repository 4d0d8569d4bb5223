package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
)

// explorerPaths are the pages for people, and what they load.
func explorerPaths() []string {
	return []string{"/", "/new", "/movers", "/volume", "/quote", "/coverage", "/token/:mint", "/explorer/*"}
}

// addExplorer serves the pages for people, where the node has some.
func (s *Server) addExplorer() {
	if s.deps.Explorer == nil {
		return
	}
	handle := adaptor.HTTPHandler(s.deps.Explorer)
	for _, path := range explorerPaths() {
		s.routes = append(s.routes, &route{fiber.MethodGet, path, windowGlobal, false, handle})
	}
}
