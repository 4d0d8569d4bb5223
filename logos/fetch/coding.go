package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxCodings bounds the layers of a body: each may expand a thousandfold.
	maxCodings = 2
	// zstdMemory bounds the window of zstd: RFC 9659 has browsers support 8 MiB.
	zstdMemory = 8 << 20
)

// content returns a reader that undoes the content codings of a body, as browsers do. It ignores
// names that are no coding (aws-chunked, utf-8, binary, none …), and the codings gzip and zstd
// where the body does not begin like one. A body whose only coding is gzip comes here decoded
// already: net/http's transport decodes it. coded is true if there is a coding to undo. limit
// bounds the coded bytes. The caller must bound the decoded ones.
func content(answer *http.Response, limit int64) (body io.Reader, coded bool, failed *Error) {
	body = answer.Body
	var codings []string
	for _, name := range strings.Split(strings.ToLower(strings.Join(answer.Header.Values("Content-Encoding"), ",")), ",") {
		switch name = strings.TrimSpace(name); name {
		case "gzip", "x-gzip", "deflate", "br", "zstd":
			codings = append(codings, name)
		}
	}
	if len(codings) > maxCodings {
		return nil, true, failure(ClassBadEncoding, "more than %d content codings", maxCodings)
	}
	if len(codings) > 0 {
		body = io.LimitReader(body, limit+1)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		decoded, err := decode(bufio.NewReader(body), codings[i])
		if err != nil {
			return nil, true, classify(answer.Request.Context(), err)
		}
		body = decoded
	}
	return body, len(codings) > 0, nil
}

func decode(body *bufio.Reader, coding string) (io.Reader, error) {
	head, err := body.Peek(4)
	if len(head) < 2 {
		if err == io.EOF {
			err = nil // an empty body is empty in every coding
		}
		return body, err
	}
	switch {
	case strings.HasSuffix(coding, "gzip") && bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(body)
	case coding == "zstd" && bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdMemory), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return decoder, nil // concurrency 1 starts no goroutine, so nothing must be closed
	case coding == "deflate" && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0:
		// A header of zlib (RFC 1950, 2.2). The next case is for servers that leave it out.
		return zlib.NewReader(body)
	case coding == "deflate":
		return flate.NewReader(body), nil
	case coding == "br":
		return brotli.NewReader(body), nil
	}
	return body, nil
}
