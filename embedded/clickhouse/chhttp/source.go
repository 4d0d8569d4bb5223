package chhttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// source reads the body from the network. It limits the time that a client may take, and remembers
// the error of the reading.
type source struct {
	reader  io.Reader
	control *http.ResponseController
	cfg     Config
	begin   time.Time
	bytes   int64
	err     error
}

func newSource(w http.ResponseWriter, r *http.Request, cfg Config) *source {
	return &source{reader: r.Body, control: http.NewResponseController(w), cfg: cfg, begin: time.Now()}
}

// Read waits at most bodyTimeout for the next bytes. Also, the whole body may take no longer than
// bodyTimeout plus one second for each bodyRate bytes that have come. If the ResponseWriter cannot
// set deadlines, there is no limit.
func (s *source) Read(b []byte) (int, error) {
	until := time.Now().Add(s.cfg.bodyTimeout)
	slowest := s.begin.Add(s.cfg.bodyTimeout + time.Duration(s.bytes/s.cfg.bodyRate)*time.Second)
	if slowest.Before(until) {
		until = slowest
	}
	_ = s.control.SetReadDeadline(until)
	n, err := s.reader.Read(b)
	s.bytes += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		// While the query runs, net/http keeps reading, to notice that the client goes away. A
		// deadline must not end that.
		_ = s.control.SetReadDeadline(time.Time{})
	case err != nil:
		s.err = err
	}
	return n, err
}

// atEnd is called at the end of the compressed data. It returns io.EOF if nothing follows.
func (s *source) atEnd() error {
	var more [1]byte
	n, err := s.Read(more[:])
	switch {
	case n > 0:
		return s.explain(errors.New("something follows the compressed data"))
	case err == nil || errors.Is(err, io.EOF):
		return io.EOF
	default:
		return s.explain(err)
	}
}

// explain returns the error for the client: the body came too slowly, the connection broke, or the
// data is not compressed as it should be.
func (s *source) explain(err error) error {
	var timeout net.Error
	if errors.As(s.err, &timeout) && timeout.Timeout() {
		return libchdb.Errorf(codeSlowBody, "SOCKET_TIMEOUT", "Timeout exceeded while reading the body: it must come within %s, and at %d bytes a second at least", s.cfg.bodyTimeout, s.cfg.bodyRate)
	}
	if s.err != nil {
		return fmt.Errorf("read body: %w", s.err)
	}
	return libchdb.Errorf(271, "CANNOT_DECOMPRESS", "Cannot decompress the body: %s", err)
}
