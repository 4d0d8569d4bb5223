package chengine_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

// encodings are the ones of HTTP that both directions know.
var encodings = map[string]struct {
	write func(io.Writer) io.WriteCloser
	read  func(io.Reader) (io.Reader, error)
}{
	"gzip":    {func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	"deflate": {func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }, func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }},
	"br":      {func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }, func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }},
	"lz4":     {func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) }, func(r io.Reader) (io.Reader, error) { return lz4.NewReader(r), nil }},
	"zstd":    {func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }, func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) }},
}

func encode(t *testing.T, encoding, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := encodings[encoding].write(&out)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestEncodings(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	post := func(query, encoding string, body []byte) answer {
		r := newRequest(t, http.MethodPost, addr, "/?"+url.Values{"query": {query}}.Encode(), body)
		r.Header.Set("Content-Encoding", encoding)
		return send(t, r)
	}
	for encoding, codec := range encodings {
		t.Run(encoding, func(t *testing.T) {
			table := "default.enc_" + encoding
			require.Equal(t, 200, curl(t, addr, "", "CREATE OR REPLACE TABLE "+table+" (n UInt32) ENGINE = MergeTree ORDER BY n").status)
			rows := encode(t, encoding, strings.Repeat("1\n", 300000))
			a := post("INSERT INTO "+table+" FORMAT TSV", encoding, rows)
			require.Equal(t, 200, a.status, a.body)
			require.Equal(t, "300000\n", curl(t, addr, "SELECT sum(n) FROM "+table, "").body)
			require.Equal(t, "7\n", post("", encoding, encode(t, encoding, "SELECT 7")).body, "the statement too")
			require.Equal(t, 271, codeOf(post("INSERT INTO "+table+" FORMAT TSV", encoding, rows[:len(rows)/2])), "cut off")
			require.Equal(t, 271, codeOf(post("INSERT INTO "+table+" FORMAT TSV", encoding, []byte("no such data, to be sure of it"))))
			require.Equal(t, "300000\n", curl(t, addr, "SELECT sum(n) FROM "+table, "").body, "nothing of them was taken")

			for _, query := range []string{"SELECT number FROM numbers(200000)", "SELECT number FROM numbers(200000) FORMAT TSVWithNames", "SELECT 1 WHERE 0"} {
				r := newRequest(t, http.MethodPost, addr, "/?enable_http_compression=1", []byte(query))
				r.Header.Set("Accept-Encoding", encoding+";q=0.5, identity;q=1")
				a := send(t, r)
				require.Equal(t, 200, a.status)
				plain := a.body
				if a.body != "" {
					require.Equal(t, encoding, a.header.Get("Content-Encoding"))
					reader, err := codec.read(strings.NewReader(a.body))
					require.NoError(t, err)
					all, err := io.ReadAll(reader)
					require.NoError(t, err)
					plain = string(all)
				}
				require.Equal(t, curl(t, addr, "", query).body, plain, query)
			}
		})
	}
	for accept, want := range map[string]string{"": "", "*": "", "gzip, br": "br", "br;q=0, gzip": "gzip", "lz4,br,gzip,deflate,zstd": "zstd", "identity": "", "gzip;q=0.0": ""} {
		r := newRequest(t, http.MethodPost, addr, "/?enable_http_compression=1", []byte("SELECT 1"))
		r.Header.Set("Accept-Encoding", accept)
		require.Equal(t, want, send(t, r).header.Get("Content-Encoding"), accept)
	}
	require.Equal(t, 48, codeOf(post("SELECT 1", "rot13", nil)))
}

// TestBombs: a small body that unpacks to a large one is cut off at the size that a plain one may
// have.
func TestBombs(t *testing.T) {
	r := start(t, chengine.Config{}.WithMaxInsertBytes(1<<20))
	for encoding := range encodings {
		bomb := encode(t, encoding, strings.Repeat("1\n", 32<<20))
		request := newRequest(t, http.MethodPost, r.Addr(), "/?query="+url.QueryEscape("INSERT INTO FUNCTION null('a UInt8') FORMAT TSV"), bomb)
		request.Header.Set("Content-Encoding", encoding)
		require.Equal(t, 413, send(t, request).status, encoding)
		request = newRequest(t, http.MethodPost, r.Addr(), "/", bomb)
		request.Header.Set("Content-Encoding", encoding)
		require.Equal(t, 413, send(t, request).status, encoding)
	}
	// A frame that asks for a window of a gigabyte.
	var wide bytes.Buffer
	w, err := zstd.NewWriter(&wide, zstd.WithWindowSize(512<<20), zstd.WithSingleSegment(false))
	require.NoError(t, err)
	for range 64 {
		_, err = w.Write(bytes.Repeat([]byte("1\n"), 512<<10))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	request := newRequest(t, http.MethodPost, r.Addr(), "/", wide.Bytes())
	request.Header.Set("Content-Encoding", "zstd")
	require.Equal(t, 271, codeOf(send(t, request)))
	require.Less(t, residentMiB(t, r.PID()), 1500)
}
