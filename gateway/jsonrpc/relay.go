package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/internal/usage"
)

// relay writes the answer to a single call. Once it has begun to write, it can show an error only
// by breaking off the connection.
func (g *Gateway) relay(w http.ResponseWriter, pass *keys.Pass, c *call, got *answer) {
	if c.notification() {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if got.rest == nil {
		w.Header().Set("Content-Length", itoa(len(got.head)))
	}
	if g.copyAnswer(w, pass, c, got) != nil {
		g.metrics.requests.WithLabelValues("broken_off").Inc()
		panic(http.ErrAbortHandler)
	}
}

// copyAnswer writes an answer and counts its bytes; as usage of the key only if the answer is no
// error. After an error of copyAnswer the client has only a part of the answer.
func (g *Gateway) copyAnswer(w io.Writer, pass *keys.Pass, c *call, got *answer) error {
	n, err := w.Write(got.head) // the upstream's JSON, served as application/json with nosniff
	if err == nil && got.rest != nil {
		var m int64
		end := &lastByte{reader: got.rest, last: '}'}
		m, err = io.Copy(w, io.LimitReader(end, g.cfg.maxAnswerBytes))
		switch {
		case err != nil:
		case m == g.cfg.maxAnswerBytes:
			err = errors.New("answer too large")
		case end.last != '}':
			err = errors.New("the answer was cut off")
		}
		n += int(m)
	}
	g.metrics.answerBytes.Add(float64(n))
	if got.failure == nil {
		pass.Count(g.metrics.label(c.Method), usage.Counts{Bytes: uint64(n)})
	}
	return err
}

// lastByte remembers the last byte that is not white space. An upstream that cuts an answer off may
// still end it correctly for HTTP, but then the JSON does not end with }.
type lastByte struct {
	reader io.Reader
	last   byte
}

func (l *lastByte) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	if trimmed := bytes.TrimRight(p[:n], " \t\r\n"); len(trimmed) > 0 {
		l.last = trimmed[len(trimmed)-1]
	}
	return n, err
}
