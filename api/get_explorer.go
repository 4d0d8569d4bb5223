package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
)

// explorerPaths are the paths of the explorer's pages, and of the files that they load.
func explorerPaths() []string {
	return []string{"/", "/new", "/movers", "/volume", "/quote", "/coverage", "/token/:mint", "/explorer/*"}
}

// addExplorer adds the explorer's routes, if the node has an explorer.
func (s *Server) addExplorer() {
	if s.deps.Explorer == nil {
		return
	}
	handle := adaptor.HTTPHandler(s.deps.Explorer)
	for _, path := range explorerPaths() {
		s.routes = append(s.routes, &route{fiber.MethodGet, path, windowGlobal, false, handle})
	}
}
