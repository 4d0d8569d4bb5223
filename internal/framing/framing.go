// Package framing guards against HTTP/1 requests whose end two readers could see at two places.
//
// fasthttp takes the last of several lengths, lets Transfer-Encoding win over Content-Length and
// reads any transfer coding as chunked. A proxy in front that decides otherwise takes a part of one
// client's body for the next request on the connection: request smuggling.
//
// In: the headers of a request as it came. Out: an error that says what is ambiguous; the request
// must be refused then and its connection closed.
// Guarantees: what passes has one length, or is chunked, by the rules of RFC 9112, section 6.
package framing

import (
	"bytes"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"
)

// Why a request is refused. The texts are for clients.
var (
	ErrBoth     = errors.New("there is a content-length beside a transfer-encoding")
	ErrLengths  = errors.New("there is more than one content-length")
	ErrCoding   = errors.New("the transfer-encoding is something other than chunked, once")
	ErrOldChunk = errors.New("HTTP/1.0 has no transfer-encoding")
	ErrFolded   = errors.New("a header is folded over lines")
)

// Check looks at the request's headers as they came. A request that has no body for fasthttp costs
// nothing.
func Check(h *fasthttp.RequestHeader) error {
	const bodyless = -2 // neither a content-length nor a transfer coding
	if h.ContentLength() == bodyless {
		return nil
	}
	lengths, codings, chunked := 0, 0, 0
	for line := range bytes.Lines(h.RawHeaders()) {
		if line[0] == ' ' || line[0] == '\t' {
			return ErrFolded
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case isHeader(name, fasthttp.HeaderContentLength):
			lengths++
		case isHeader(name, fasthttp.HeaderTransferEncoding):
			codings++
			if strings.EqualFold(string(bytes.TrimSpace(value)), "chunked") {
				chunked++
			}
		}
	}
	switch {
	case codings > 0 && lengths > 0:
		return ErrBoth
	case lengths > 1:
		return ErrLengths
	case codings > 1 || chunked < codings:
		return ErrCoding
	case codings > 0 && !h.IsHTTP11():
		return ErrOldChunk
	}
	return nil
}

func isHeader(name []byte, header string) bool {
	return len(name) == len(header) && strings.EqualFold(string(name), header)
}
