package api

import (
	"bytes"
	"math/rand/v2"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"
)

// Values of Cache-Control. An answer from the registry may be cached but must be revalidated before
// each use: so it is never stale, and an answer that did not change costs a 304. What is built into
// the binary may be used for minutes.
const (
	cacheNever      = "no-store"
	cacheRevalidate = "public, no-cache"
	cacheMinutes    = "public, max-age=300"
)

// headerRequestID holds the id of a request, which the log has, too.
const headerRequestID = fiber.HeaderXRequestID

// exposedHeaders are the headers that a page from another origin may read.
const exposedHeaders = "ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-ID"

// setCommonHeaders opens the response to pages of any origin, keeps browsers from guessing its
// type, and sets the request id.
func setCommonHeaders(c *fiber.Ctx) {
	header := &c.Response().Header
	header.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	header.Set(fiber.HeaderAccessControlExposeHeaders, exposedHeaders)
	header.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	if len(header.Peek(headerRequestID)) == 0 {
		header.SetBytesV(headerRequestID, requestIDFor(c.Request().Header.Peek(headerRequestID)))
	}
}

// maxRequestID bounds a request id that a client sent, in bytes.
const maxRequestID = 128

// requestIDFor returns the client's id if it is harmless in a log (letters, digits and ._:/+=@-
// only), otherwise a new one of 128 bits.
func requestIDFor(sent []byte) []byte {
	if len(sent) > 0 && len(sent) <= maxRequestID && !bytes.ContainsFunc(sent, notInRequestID) {
		return sent
	}
	id := make([]byte, 0, 32)
	for range 2 {
		// With the highest bit set, the number has 16 digits.
		id = strconv.AppendUint(id, rand.Uint64()|1<<63, 16) //nolint:gosec // a name, not a secret
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

// requestID returns the request's id. setCommonHeaders must have set it before.
func requestID(c *fiber.Ctx) string { return string(c.Response().Header.Peek(headerRequestID)) }

// finish is the last step of every response. It sets Cache-Control, answers 304 if the client has
// the body already, and compresses the body. Headers that a handler has set stay, such as the age
// of an image. While the node drains, finish also makes the connection close. For a stream it does
// only that.
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

// unchanged sets the ETag, unless the response must not be stored. If the client already has the
// body, it makes the response a 304 and returns true. The ETag is a hash of the body, so all nodes
// agree on it and need not keep a version. It is weak, because one tag stands for all codings of
// the body.
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

// namesTag returns whether If-None-Match names the tag, compared weakly (RFC 9110, 13.1.2). It may
// cut the header at commas, because our tags have none.
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
