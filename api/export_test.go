package api

import "github.com/valyala/fasthttp"

// BeginDrain makes the node say that it is about to stop, without stopping.
func (s *Server) BeginDrain() { s.draining.Store(true) }

// Handler is what the server calls for each request.
func (s *Server) Handler() fasthttp.RequestHandler { return s.app.Server().Handler }
