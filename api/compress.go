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

// compressFrom is the smallest body that is compressed. A smaller one fits into one packet, so
// compressing it would save nothing.
const compressFrom = 1400

// coding is a content coding, such as gzip, at its fastest level. Rows shrink to a sixth of their
// size at any level, and higher levels only take more time.
type coding struct {
	name    string
	writers sync.Pool // of resetWriter
}

type resetWriter interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// newCodings returns the codings of the node, the preferred one first.
func newCodings() []*coding {
	return []*coding{
		{name: "zstd", writers: sync.Pool{New: func() any {
			// A browser must hold the window in memory, so RFC 9659 limits it to 8 MiB. One
			// goroutine is enough, because requests run in parallel. The error is always nil: these
			// options are valid.
			w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
			return w
		}}},
		{name: "br", writers: sync.Pool{New: func() any { return brotli.NewWriterLevel(nil, 1) }}},
		{name: "gzip", writers: sync.Pool{New: func() any {
			w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // cannot fail with a valid level
			return w
		}}},
	}
}

// encode writes the body, compressed, to out. It returns false if that fails.
func (e *coding) encode(out io.Writer, body []byte) bool {
	w := e.writers.Get().(resetWriter)
	defer e.writers.Put(w)
	w.Reset(out)
	if _, err := w.Write(body); err != nil {
		return false
	}
	return w.Close() == nil
}

// compress encodes the response in the coding that the client prefers, if that makes it smaller. A
// response that is small, already encoded or not text stays as it is.
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
	c.Context().SetUserValue(keyEncoded, encoded) // frees the buffer after the request
	if chosen.encode(encoded, response.Body()) && len(encoded.bytes) < len(response.Body()) {
		response.SetBodyRaw(encoded.bytes)
		response.Header.SetContentEncoding(chosen.name)
	}
}

// compressible returns whether a content type is text.
func compressible(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte{';'})
	switch string(kind) {
	case "application/json", "image/svg+xml", "text/html", "text/css", "text/javascript", "text/plain", "application/javascript":
		return true
	default:
		return false
	}
}

// choose returns the coding to use, by Accept-Encoding (RFC 9110, 12.5.3): the one with the highest
// q, and among equals the first of codings. It returns nil for no compression: the client accepts
// none of codings, or prefers identity.
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

// mentioned returns whether Accept-Encoding has this name. Unlike quality, it does not count *.
func mentioned(accepted, name string) bool {
	for entry := range strings.SplitSeq(accepted, ",") {
		token, _, _ := strings.Cut(entry, ";")
		if strings.EqualFold(strings.TrimSpace(token), name) {
			return true
		}
	}
	return false
}

// quality returns the q that Accept-Encoding gives a coding: by the name of the coding or, if that
// is missing, by *. It is 0 if the coding is refused or not named, or if its q is no number.
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

// weight reads a parameter such as q=0.5. It returns 0 for any other text.
func weight(parameter string) float64 {
	key, text, _ := strings.Cut(strings.TrimSpace(parameter), "=")
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !strings.EqualFold(strings.TrimSpace(key), "q") || err != nil || !(value >= 0 && value <= 1) {
		return 0
	}
	return value
}
