package chhttp

import (
	"compress/bzip2"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// maxWindow limits the memory that one zstd frame can make the reader hold, to 8 MiB, which the
// format (RFC 8878) recommends for interchange. Brotli without its large-window extension needs at
// most 16 MiB, lz4 frames 4 MiB. The size of the plain body is limited where it is read.
const maxWindow = 8 << 20

// decoder returns a reader of the plain body, and a function that closes it.
func decoder(encoding string, body io.Reader) (io.Reader, func(), error) {
	nothing := func() {}
	switch strings.ToLower(encoding) {
	case "", "identity":
		return body, nothing, nil
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(body)
		return r, nothing, err
	case "deflate":
		r, err := zlib.NewReader(body)
		return r, nothing, err
	case "br":
		return brotli.NewReader(body), nothing, nil
	case "zstd":
		r, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, err
		}
		return r, r.Close, nil
	case "lz4":
		return lz4.NewReader(body), nothing, nil
	case "bz2":
		return bzip2.NewReader(body), nothing, nil
	default:
		return nil, nil, libchdb.Errorf(48, "NOT_IMPLEMENTED", "Unknown compression method '%s' in Content-Encoding. The embedded engine takes gzip, deflate, br, zstd, lz4 and bz2", encoding)
	}
}

// responseEncoding returns the encoding for a result: the first that the client accepts, in the
// order of ClickHouse; empty for none.
func responseEncoding(accept string) string {
	accepted := map[string]bool{}
	for _, part := range strings.Split(strings.ToLower(accept), ",") {
		name, parameters, _ := strings.Cut(part, ";")
		// A weight of 0, such as q=0.0, refuses the encoding.
		q := strings.ReplaceAll(strings.TrimSpace(parameters), " ", "")
		accepted[strings.TrimSpace(name)] = strings.Trim(strings.TrimPrefix(q, "q="), "0.") != "" || !strings.HasPrefix(q, "q=")
	}
	for _, name := range []string{"zstd", "br", "lz4", "gzip", "deflate"} {
		if accepted[name] {
			return name
		}
	}
	return ""
}

// flusher is a compressing writer.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// newEncoder returns a writer that compresses into w. It uses fast levels: results stay on this
// machine.
func newEncoder(encoding string, w io.Writer) (flusher, error) {
	switch encoding {
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	case "br":
		return brotli.NewWriterLevel(w, 2), nil
	case "lz4":
		out := lz4.NewWriter(w)
		return out, out.Apply(lz4.BlockSizeOption(lz4.Block1Mb))
	case "gzip":
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	default:
		return zlib.NewWriterLevel(w, zlib.BestSpeed)
	}
}
