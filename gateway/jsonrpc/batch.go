package jsonrpc

import (
	"context"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/gateway/message"
)

const (
	// batchAtOnce bounds the calls of one batch that are made at one time.
	batchAtOnce = 16
	// batchHeld is how many bytes of finished answers may wait until the answers before them are
	// written. An answer beyond that still counts against batchAtOnce until it is written, so that
	// fewer new calls begin. So does an answer that was not read to its end (answer.rest). A batch
	// holds at most batchHeld bytes and batchAtOnce more answers, each of at most peekBytes, or
	// shareBytes if it is a shared read.
	batchHeld = 1 << 20
)

// part is the answer to one element of a batch: got, or the body of an error. For a notification
// both are nil. release, if set, is called when the part is no longer needed.
type part struct {
	got     *answer
	body    []byte
	release func()
}

// answerBatch makes each call of a batch by itself, never as a batch at an upstream: a call that
// fails or is slow at one upstream goes to the next one alone. It writes the answers in the order
// of the calls. If an answer breaks off, or the client has left, it breaks off the connection.
// client ends when the client leaves. limited is a child of client that also ends when the time of
// the request is over.
func (g *Gateway) answerBatch(limited, client context.Context, w http.ResponseWriter, req *request, s *session) {
	ctx, cancel := context.WithCancel(limited)
	defer cancel()
	parts := make([]chan part, len(req.items))
	for i := range parts {
		parts[i] = make(chan part, 1)
	}
	go g.performAll(ctx, client, req, s, parts)
	begun := false
	for i := range parts {
		p := <-parts[i]
		err := g.writePart(w, req, i, p, &begun)
		p.close()
		if err != nil {
			go closeAll(parts[i+1:])
			g.metrics.requests.WithLabelValues("broken_off").Inc()
			cancel()
			panic(http.ErrAbortHandler)
		}
	}
	if !begun {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_, _ = w.Write([]byte("]")) // the client may have left
}

// performAll begins the calls in order, at most batchAtOnce at a time. Each part gets exactly one
// value, whatever happens, because answerBatch waits for it.
func (g *Gateway) performAll(ctx, client context.Context, req *request, s *session, parts []chan part) {
	turns := semaphore.NewWeighted(batchAtOnce)
	var held atomic.Int64
	for i, it := range req.items {
		if it.call == nil {
			parts[i] <- part{body: it.refused}
			continue
		}
		leave := func() { turns.Release(1) }
		if turns.Acquire(ctx, 1) != nil {
			leave = func() {} // ctx has ended, and perform will return that error
		}
		go func() {
			p := g.performOne(ctx, client, req, it.call, s)
			size := int64(p.size())
			p.release = func() { held.Add(-size) }
			if total := held.Add(size); total > batchHeld || p.got != nil && p.got.rest != nil {
				p.release = func() {
					held.Add(-size)
					leave()
				}
			} else {
				leave()
			}
			parts[i] <- p
		}()
	}
}

// performOne makes one call of a batch.
func (g *Gateway) performOne(ctx, client context.Context, req *request, c *message.Call, s *session) part {
	got, _, err := g.perform(ctx, req, c, s)
	switch {
	case c.Notification():
		if got != nil {
			got.close()
		}
		return part{}
	case err != nil:
		refused := g.refusalOf(client, err, c.ID)
		return part{body: message.Failure(c.ID, &message.Error{Code: refused.code, Message: refused.message, Data: refused.data})}
	}
	return part{got: got.withID(c.ID)}
}

func (p *part) size() int {
	if p.got != nil {
		return len(p.got.head)
	}
	return len(p.body)
}

func (p *part) close() {
	if p.got != nil {
		p.got.close()
	}
	if p.release != nil {
		p.release()
	}
}

// writePart writes the answer to element i. It writes [ before the first answer, and a comma before
// any other. begun says whether there was an answer before. For a notification it writes nothing.
func (g *Gateway) writePart(w http.ResponseWriter, req *request, i int, p part, begun *bool) error {
	if p.got == nil && p.body == nil {
		return nil
	}
	separator := ","
	if !*begun {
		*begun = true
		separator = "["
		w.Header().Set("Content-Type", "application/json")
	}
	if _, err := w.Write([]byte(separator)); err != nil {
		return err
	}
	if p.got != nil {
		return g.copyAnswer(w, &req.pass, req.items[i].call, p.got)
	}
	_, err := w.Write(p.body)
	return err
}

// closeAll waits for parts that nobody will read and closes them.
func closeAll(parts []chan part) {
	for _, c := range parts {
		p := <-c
		p.close()
	}
}
