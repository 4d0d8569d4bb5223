package api

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressFrom is the smallest body that is compressed: a smaller one fits one packet, and a packet
// is what sending costs.
const compressFrom = 1400

// coding is a way to compress a body. Levels are the fast ones: rows shrink to a sixth at any
// level, and a node has better to do.
type coding struct {
	name    string
	writers sync.Pool // of resetWriter
}

type resetWriter interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// newCodings lists what the node can do, what it prefers first.
func newCodings() []*coding {
	return []*coding{
		{name: "zstd", writers: sync.Pool{New: func() any {
			// The window is what a browser must hold, 8 MiB at most by RFC 9659; one goroutine,
			// since requests are the parallelism.
			w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				// cannot fail with these
				zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
			return w
		}}},
		{name: "br", writers: sync.Pool{New: func() any { return brotli.NewWriterLevel(nil, 1) }}},
		{name: "gzip", writers: sync.Pool{New: func() any {
			w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
			return w
		}}},
	}
}

// encode writes body compressed, and says whether that could be done.
func (e *coding) encode(out io.Writer, body []byte) bool {
	w := e.writers.Get().(resetWriter)
	defer e.writers.Put(w)
	w.Reset(out)
	if _, err := w.Write(body); err != nil {
		return false
	}
	return w.Close() == nil
}

// compress encodes the body as the client likes best, if at all.
func (s *Server) compress(c *fiber.Ctx) {
	response := c.Response()
	if len(response.Body()) < compressFrom || len(response.Header.ContentEncoding()) > 0 || !compressible(response.Header.ContentType()) {
		return
	}
	response.Header.Add(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	accepted := c.Request().Header.Peek(fiber.HeaderAcceptEncoding)
	if len(accepted) == 0 {
		return
	}
	chosen := choose(string(accepted), s.codings)
	if chosen == nil {
		return
	}
	encoded := s.body(len(response.Body()) / 2)
	c.Context().SetUserValue(keyEncoded, encoded)
	if chosen.encode(encoded, response.Body()) && len(encoded.bytes) < len(response.Body()) {
		response.SetBodyRaw(encoded.bytes)
		response.Header.SetContentEncoding(chosen.name)
	}
}

// compressible says whether a type is text.
func compressible(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte{';'})
	switch string(kind) {
	case "application/json", "image/svg+xml", "text/html", "text/css", "text/javascript", "text/plain", "application/javascript":
		return true
	default:
		return false
	}
}

// choose reads Accept-Encoding (RFC 9110, 12.5.3): the highest q wins, on equality the order of
// codings; nil is identity.
func choose(accepted string, codings []*coding) *coding {
	var best *coding
	bestQ := 0.0
	for _, e := range codings {
		if q := quality(accepted, e.name); q > bestQ {
			best, bestQ = e, q
		}
	}
	if best != nil && mentioned(accepted, "identity") && quality(accepted, "identity") > bestQ {
		return nil
	}
	return best
}

func mentioned(accepted, name string) bool {
	for entry := range strings.SplitSeq(accepted, ",") {
		token, _, _ := strings.Cut(entry, ";")
		if strings.EqualFold(strings.TrimSpace(token), name) {
			return true
		}
	}
	return false
}

// quality is q of a coding; 0 when it is refused or not named, by itself or by *. A q that is no
// number refuses.
func quality(accepted, name string) float64 {
	q := 0.0
	for entry := range strings.SplitSeq(accepted, ",") {
		token, parameter, weighted := strings.Cut(entry, ";")
		token = strings.TrimSpace(token)
		exact := strings.EqualFold(token, name) || name == "gzip" && strings.EqualFold(token, "x-gzip")
		if !exact && token != "*" {
			continue
		}
		value := 1.0
		if weighted {
			value = weight(parameter)
		}
		if exact {
			return value
		}
		q = value
	}
	return q
}

func weight(parameter string) float64 {
	key, text, _ := strings.Cut(strings.TrimSpace(parameter), "=")
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !strings.EqualFold(strings.TrimSpace(key), "q") || err != nil || !(value >= 0 && value <= 1) {
		return 0
	}
	return value
}
