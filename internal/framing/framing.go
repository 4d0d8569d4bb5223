// Package framing refuses HTTP/1 requests for which two readers could disagree where the request
// ends.
//
// fasthttp uses the last of several Content-Length headers, lets Transfer-Encoding win over
// Content-Length, and reads any transfer coding as chunked. A proxy in front that decides otherwise
// takes a part of one client's body for the next request on the connection. That attack is called
// request smuggling.
//
// In: the headers of a request as they came. Out: an error that says what is ambiguous. The request
// must then be refused and its connection closed. Guarantees: what passes has one length, or is
// chunked, by the rules of RFC 9112, section 6.
package framing

import (
	"bytes"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"
)

// The reasons for which Check refuses a request. The texts are shown to clients.
var (
	ErrBoth     = errors.New("there is a content-length beside a transfer-encoding")
	ErrLengths  = errors.New("there is more than one content-length")
	ErrCoding   = errors.New("the transfer-encoding is something other than chunked, once")
	ErrOldChunk = errors.New("HTTP/1.0 has no transfer-encoding")
	ErrFolded   = errors.New("a header is folded over lines")
)

// Check returns an error if the request's headers, as they came, leave its end ambiguous. It does
// not parse the headers of a request for which fasthttp found no body.
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
