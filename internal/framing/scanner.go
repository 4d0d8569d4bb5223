package framing

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// The reasons for which a request is refused.
var (
	ErrLineEnd     = errors.New("a line does not end with CR LF, or is too long")
	ErrControl     = errors.New("a line has a control character")
	ErrRequestLine = errors.New("the request line is not a method, a target and HTTP/1.1 or HTTP/1.0 with one space between them")
	ErrField       = errors.New("a line is not a header: a name, a colon and a value, on one line")
	ErrHost        = errors.New("the host is not one name or address")
	ErrLength      = errors.New("the content-length is not one number")
	ErrCoding      = errors.New("the transfer-encoding is something other than chunked, once, in HTTP/1.1")
	ErrBoth        = errors.New("there is a content-length beside a transfer-encoding")
	ErrChunk       = errors.New("a chunk does not begin with its length, or does not end after it")
)

// usualLine bounds a line in bytes. It is more than most servers read.
const usualLine = 64 << 10

// state is what comes next on a connection.
type state int

const (
	requestLine state = iota
	fields            // the lines of the head; a blank line ends them
	body              // the next scanner.left bytes
	chunkSize
	chunk    // the next scanner.left bytes are its data
	chunkEnd // the blank line after the data of a chunk
	trailers
)

// scanner follows the requests of a connection: which bytes are lines, and how many are a body.
type scanner struct {
	longest int // the most bytes of a line
	state   state
	line    []byte // the beginning of a line whose end has not come
	left    uint64 // bytes of a body or chunk that have not come
	head
}

// head is what the head of a request says about its body.
type head struct {
	old                   bool   // HTTP/1.0
	host, length, chunked bool   // there is such a header
	bytes                 uint64 // the Content-Length
}

// scan reads p, the next bytes of the connection. If a line is bad, good is the number of bytes of
// p that the server may still get. The end of the bad line is not among them, so the server never
// has the whole line.
func (s *scanner) scan(p []byte) (good int, bad error) {
	for at := 0; at < len(p); {
		if s.state == body || s.state == chunk {
			n := min(s.left, uint64(len(p)-at))
			at += int(n)
			s.skipped(n)
			continue
		}
		end := bytes.IndexByte(p[at:], '\n')
		if end < 0 {
			if s.line = append(s.line, p[at:]...); len(s.line) > s.longest {
				return at, ErrLineEnd
			}
			return len(p), nil
		}
		line := p[at : at+end+1]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		if err := s.take(line); err != nil {
			return at + end, err
		}
		s.line = s.line[:0]
		at += end + 1
	}
	return len(p), nil
}

// skipped notes that n bytes of a body or chunk have come.
func (s *scanner) skipped(n uint64) {
	switch s.left -= n; {
	case s.left > 0:
	case s.state == body:
		s.state = requestLine
	default:
		s.state = chunkEnd
	}
}

// take checks the next line, line end included, and sets the state that follows it.
func (s *scanner) take(line []byte) error {
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || len(text) > s.longest {
		return ErrLineEnd
	}
	for _, b := range text {
		if b < ' ' && b != '\t' || b == 0x7f {
			return ErrControl
		}
	}
	switch s.state {
	case requestLine:
		return s.takeRequestLine(text)
	case fields:
		return s.takeField(text)
	case chunkSize:
		return s.takeChunkSize(text)
	case chunkEnd:
		if len(text) > 0 {
			return ErrChunk
		}
		s.state = chunkSize
		return nil
	default:
		return s.takeTrailer(text)
	}
}

func (s *scanner) takeRequestLine(text []byte) error {
	method, rest, _ := bytes.Cut(text, []byte(" "))
	target, version, _ := bytes.Cut(rest, []byte(" "))
	s.head = head{old: string(version) == "HTTP/1.0"}
	if !httpguts.ValidHeaderFieldName(string(method)) || len(target) == 0 || bytes.IndexByte(target, '\t') >= 0 || !s.old && string(version) != "HTTP/1.1" {
		return ErrRequestLine
	}
	s.state = fields
	return nil
}

// parseField returns the name and the value of a field. White space after the value stays a part of
// it, so a length or a coding that ends with white space is refused. llhttp refuses it too.
func parseField(text []byte) (name, value string, err error) {
	before, after, found := bytes.Cut(text, []byte(":"))
	// No space is in a name, so a folded line and a space before the colon fail here.
	if !found || !httpguts.ValidHeaderFieldName(string(before)) {
		return "", "", ErrField
	}
	return string(before), string(bytes.TrimLeft(after, " \t")), nil
}

// takeField takes a field of the head, or the blank line after it.
func (s *scanner) takeField(text []byte) error {
	if len(text) == 0 {
		return s.endHead()
	}
	name, value, err := parseField(text)
	switch {
	case err != nil:
		return err
	case strings.EqualFold(name, "Content-Length"):
		var bad error
		// ParseUint takes digits only. 63 bits, as servers count in int64.
		s.bytes, bad = strconv.ParseUint(value, 10, 63)
		if bad != nil || s.length {
			return ErrLength
		}
		s.length = true
	case strings.EqualFold(name, "Transfer-Encoding"):
		if !strings.EqualFold(value, "chunked") || s.chunked || s.old {
			return ErrCoding
		}
		s.chunked = true
	case strings.EqualFold(name, "Host"):
		if s.host || !httpguts.ValidHostHeader(value) {
			return ErrHost
		}
		s.host = true
	}
	return nil
}

func (s *scanner) endHead() error {
	switch {
	case s.chunked && s.length:
		return ErrBoth
	case s.chunked:
		s.state = chunkSize
	case s.bytes > 0:
		s.state, s.left = body, s.bytes
	default:
		s.state = requestLine
	}
	return nil
}

// chunkHead is the line before a chunk: its length, and extensions, which servers ignore.
var chunkHead = regexp.MustCompile(`^([0-9A-Fa-f]{1,15})(;[0-9A-Za-z_.-]+(=[0-9A-Za-z_.-]+)?)*$`)

func (s *scanner) takeChunkSize(text []byte) error {
	parts := chunkHead.FindSubmatch(text)
	if parts == nil {
		return ErrChunk
	}
	size, err := strconv.ParseUint(string(parts[1]), 16, 63)
	switch {
	case err != nil:
		return ErrChunk
	case size == 0:
		s.state = trailers
	default:
		s.state, s.left = chunk, size
	}
	return nil
}

// takeTrailer takes a field after the last chunk, or the blank line after it.
func (s *scanner) takeTrailer(text []byte) error {
	if len(text) == 0 {
		s.state = requestLine
		return nil
	}
	name, _, err := parseField(text)
	if err == nil && (strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding")) {
		return ErrField // the length is known by now
	}
	return err
}
