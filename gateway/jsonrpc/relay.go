package jsonrpc

import (
	"errors"
	"io"
	"net/http"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/gateway/message"
)

// relay writes the answer to a single call. Once it has begun to write, it can show an error only
// by breaking off the connection.
func (g *Gateway) relay(w http.ResponseWriter, pass *keys.Pass, c *message.Call, got *answer) {
	if c.Notification() {
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

// copyAnswer writes an answer and counts its bytes. They are usage of the key only if the answer is
// no error. If copyAnswer returns an error, the client has only a part of the answer.
func (g *Gateway) copyAnswer(w io.Writer, pass *keys.Pass, c *message.Call, got *answer) error {
	n, err := w.Write(got.head) // the upstream's JSON, served as application/json with nosniff
	if err == nil && got.rest != nil {
		var m int64
		m, err = io.Copy(w, io.LimitReader(got.rest, g.cfg.maxAnswerBytes))
		if err == nil && m == g.cfg.maxAnswerBytes {
			err = errors.New("answer too large")
		}
		n += int(m)
	}
	g.metrics.answerBytes.Add(float64(n))
	if got.failure == nil {
		pass.Count(g.metrics.label(c.Method), usage.Counts{Bytes: uint64(n)})
	}
	return err
}
