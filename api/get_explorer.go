package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
)

// addExplorer serves the pages for people, where the node has some: / and what lies under
// /explorer/.
func (s *Server) addExplorer() {
	if s.deps.Explorer == nil {
		return
	}
	handle := adaptor.HTTPHandler(s.deps.Explorer)
	for _, path := range []string{"/", "/explorer/*"} {
		s.routes = append(s.routes, &route{fiber.MethodGet, path, windowGlobal, false, handle})
	}
}
