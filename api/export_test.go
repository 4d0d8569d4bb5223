package api

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/replica"
)

// BeginDrain makes the node say that it is about to stop, without stopping.
func (s *Server) BeginDrain() { s.draining.Store(true) }

// SetMaxWait lets a batch wait for longer than the default.
func (s *Server) SetMaxWait(wait time.Duration) { s.maxWait = wait }

// Handler is what the server calls for each request.
func (s *Server) Handler() fasthttp.RequestHandler { return s.app.Server().Handler }

// SetVolumes gives tokens their figures of trading, as the tables do.
func (s *Server) SetVolumes(list []replica.Volume) { s.replica.SetVolumes(list) }
