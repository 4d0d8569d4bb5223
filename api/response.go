package api

import (
	"bytes"
	"math/rand/v2"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"
)

// Values of Cache-Control. Answers from the registry may be kept but must be asked about again
// before each use: they are never stale, and asking costs a 304. What the binary is built with
// holds for minutes.
const (
	cacheNever      = "no-store"
	cacheRevalidate = "public, no-cache"
	cacheMinutes    = "public, max-age=300"
)

// headerRequestID names a request, in the response and in the log.
const headerRequestID = fiber.HeaderXRequestID

// exposedHeaders are those that a page from another origin may read.
const exposedHeaders = "ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-ID"

// setCommonHeaders opens the response to any origin, keeps browsers from guessing its type and
// names the request.
func setCommonHeaders(c *fiber.Ctx) {
	header := &c.Response().Header
	header.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	header.Set(fiber.HeaderAccessControlExposeHeaders, exposedHeaders)
	header.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	if len(header.Peek(headerRequestID)) == 0 {
		header.SetBytesV(headerRequestID, requestIDFor(c.Request().Header.Peek(headerRequestID)))
	}
}

// maxRequestID bounds a client's own request id.
const maxRequestID = 128

// requestIDFor takes the client's id when it is one (letters, digits and ._:/+=@- only, so that it
// does no harm in a log), else makes one of 128 bits.
func requestIDFor(sent []byte) []byte {
	if len(sent) > 0 && len(sent) <= maxRequestID && !bytes.ContainsFunc(sent, notInRequestID) {
		return sent
	}
	id := make([]byte, 0, 32)
	for range 2 {
		id = strconv.AppendUint(id, rand.Uint64()|1<<63, 16) //nolint:gosec // a name, not a secret; the highest bit keeps the length
	}
	return id
}

func notInRequestID(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	default:
		return !bytes.ContainsRune([]byte("._:/+=@-"), r)
	}
}

// requestID is the request's name, once the common headers are set.
func requestID(c *fiber.Ctx) string { return string(c.Response().Header.Peek(headerRequestID)) }

// finish is the last step of every response: who may keep it, whether the client has it already,
// how it is compressed. Handlers that know better (the image route its age, a stream its length)
// have set their headers, which stay.
func (s *Server) finish(c *fiber.Ctx) {
	response := c.Response()
	if s.draining.Load() {
		response.SetConnectionClose()
	}
	if response.IsBodyStream() {
		return
	}
	safe := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	if len(response.Header.Peek(fiber.HeaderCacheControl)) == 0 {
		policy := cacheNever
		if safe && response.StatusCode() == fiber.StatusOK {
			policy = cacheRevalidate
		}
		response.Header.Set(fiber.HeaderCacheControl, policy)
	}
	if safe && response.StatusCode() == fiber.StatusOK && s.unchanged(c) {
		return
	}
	s.compress(c)
}

// unchanged answers 304 when the client names the body that it would get. The tag is a hash of the
// body, so that all nodes agree and no version must be kept; weak, since one tag stands for all
// codings of it.
func (s *Server) unchanged(c *fiber.Ctx) bool {
	response := c.Response()
	if string(response.Header.Peek(fiber.HeaderCacheControl)) == cacheNever {
		return false
	}
	tag := response.Header.Peek(fiber.HeaderETag)
	if len(tag) == 0 {
		tag = strconv.AppendUint([]byte(`W/"`), xxhash.Sum64(response.Body()), 36)
		tag = append(tag, '"')
		response.Header.SetBytesV(fiber.HeaderETag, tag)
	}
	known := c.Request().Header.Peek(fiber.HeaderIfNoneMatch)
	if len(known) == 0 || !namesTag(known, tag) {
		return false
	}
	if compressible(response.Header.ContentType()) && len(response.Body()) >= compressFrom {
		response.Header.Add(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	}
	response.ResetBody()
	response.Header.Del(fiber.HeaderContentType)
	response.SetStatusCode(fiber.StatusNotModified)
	return true
}

// namesTag compares If-None-Match weakly (RFC 9110, 13.1.2). Our tags hold no comma.
func namesTag(known, tag []byte) bool {
	opaque := bytes.TrimPrefix(tag, []byte("W/"))
	for entry := range bytes.SplitSeq(known, []byte{','}) {
		entry = bytes.TrimSpace(entry)
		if string(entry) == "*" || bytes.Equal(bytes.TrimPrefix(entry, []byte("W/")), opaque) {
			return true
		}
	}
	return false
}
