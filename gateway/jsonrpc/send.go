package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

const sendTransaction = "sendTransaction"

// unknownError says that a call may or may not have had its effect: it was sent, and the answer was
// lost.
type unknownError struct {
	// signature is that of the transaction; empty if it could not be read, or if the call has none.
	signature string
	// refusal is the error of another upstream that did answer; nil if there is none.
	refusal json.RawMessage
}

func (e *unknownError) Error() string {
	if e.signature == "" {
		return "the outcome is unknown: the call went out, and the answer was lost"
	}
	return "the outcome is unknown: the transaction went out, and the answer was lost; ask for the signature's status before you sign another one"
}

// data returns the member data of the JSON-RPC error, for programs.
func (e *unknownError) data() any {
	return struct {
		Outcome   string          `json:"outcome"`
		Signature string          `json:"signature,omitempty"`
		Error     json.RawMessage `json:"error,omitempty"`
	}{"unknown", e.signature, e.refusal}
}

// forwardOnce makes a call that must not be made twice. It asks the next upstream only if the one
// before cannot have executed the call. Otherwise it returns an unknownError.
func (g *Gateway) forwardOnce(ctx context.Context, t *task) (*answer, error) {
	var missed misses
	for _, u := range g.pool.choose(t.level, t.least) {
		o := g.ask(ctx, u, t)
		if o.err == nil {
			return o.got, nil
		}
		missed.add(&o)
		if ctx.Err() != nil || !refused(o.err) {
			missed.close()
			return nil, &unknownError{}
		}
	}
	return missed.end(g.pool, t)
}

// refused returns whether the upstream cannot have executed the call.
func refused(err error) bool {
	var failed *upstreamError
	return errors.As(err, &failed) && failed.refused
}

// sending is one sendTransaction, at one or more upstreams.
type sending struct {
	g         *Gateway
	t         *task
	order     []*upstream
	ended     chan outcome
	launched  int
	cancels   []context.CancelFunc
	signature string
	// lost says that an upstream may have accepted the transaction, but its answer was lost.
	// refusals has the error answers of upstreams, by the place of the upstream in order.
	lost     bool
	refusals map[int]*answer
	missed   misses
}

// forwardSend sends a transaction to SendUpstreams upstreams at once. If none of them accepts or
// refuses it, it goes to the other upstreams one by one, until one of them does.
func (g *Gateway) forwardSend(ctx context.Context, t *task) (*answer, error) {
	order := g.pool.choose(t.level, t.least)
	s := &sending{g: g, t: t, order: order, ended: make(chan outcome, len(order)), signature: signatureOf(t.call.Params), refusals: map[int]*answer{}}
	for s.launched < min(g.cfg.SendUpstreams, len(order)) {
		s.launch(ctx)
	}
	pending := s.launched
	for pending > 0 {
		select {
		case <-ctx.Done():
			s.leave(pending, false)
			return nil, s.unknown()
		case o := <-s.ended:
			pending--
			if got := s.judge(ctx, &o); got != nil {
				s.leave(pending, true)
				return got, nil
			}
		}
		if pending == 0 && s.launched < len(order) && len(s.refusals) == 0 && ctx.Err() == nil {
			s.launch(ctx)
			pending++
		}
	}
	s.leave(0, false)
	return s.end()
}

// launch sends the transaction to the next upstream. The attempt does not end with the client's
// context: after another upstream has accepted the transaction, leave may let it go on.
func (s *sending) launch(client context.Context) {
	place := s.launched
	s.launched++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(client), s.g.cfg.timeout)
	s.cancels = append(s.cancels, cancel)
	go func() {
		o := s.g.ask(ctx, s.order[place], s.t)
		o.place = place
		s.ended <- o
	}()
}

// judge returns the answer to pass on. nil means to wait for other attempts, or to make another
// one. If the transaction went to several upstreams, the error "already processed" is a success:
// the transaction reached the chain through another upstream.
func (s *sending) judge(ctx context.Context, o *outcome) *answer {
	if o.err == nil && o.got.rest != nil { // no answer to sendTransaction is that long
		o.drop()
		s.lost = true
		return nil
	}
	if o.err == nil && o.got.failure == nil {
		return o.got
	}
	if o.err == nil {
		if s.launched > 1 && s.signature != "" && alreadyProcessed(o.got.failure) {
			o.drop()
			s.g.metrics.sends.WithLabelValues("already_processed").Inc()
			result, err := json.Marshal(s.signature)
			if err != nil {
				return nil
			}
			return resultAnswer(s.t.call.ID, result)
		}
		s.refusals[o.place] = o.got
		return nil
	}
	if ctx.Err() != nil || !refused(o.err) {
		s.lost = true
	}
	s.missed.add(o)
	return nil
}

// end returns what the client gets if no upstream accepted the transaction.
func (s *sending) end() (*answer, error) {
	if s.lost {
		return nil, s.unknown()
	}
	for place := range s.order {
		if refusal, ok := s.refusals[place]; ok {
			return refusal, nil // the error of the preferred upstream
		}
	}
	return s.missed.end(s.g.pool, s.t)
}

// unknown returns an unknownError with the error of the preferred upstream, if any upstream
// answered with one.
func (s *sending) unknown() error {
	s.g.metrics.sends.WithLabelValues("unknown").Inc()
	e := &unknownError{signature: s.signature}
	for place := range s.order {
		if refusal, ok := s.refusals[place]; ok && e.refusal == nil {
			e.refusal = refusal.failure
		}
	}
	return e
}

// leave handles the attempts that have not ended; pending is their number. taken says that an
// upstream has accepted the transaction. Then these attempts go on, so that the transaction reaches
// the other upstreams, too. Otherwise, or if afterwards has no room, they are canceled.
func (s *sending) leave(pending int, taken bool) {
	cancels, ended := s.cancels, s.ended
	if pending == 0 {
		for _, cancel := range cancels {
			cancel()
		}
		return
	}
	held := taken && s.g.afterwards.TryAcquire(1)
	if !held {
		for _, cancel := range cancels {
			cancel()
		}
	}
	go func() {
		for range pending {
			o := <-ended
			o.drop()
		}
		for _, cancel := range cancels {
			cancel()
		}
		if held {
			s.g.afterwards.Release(1)
		}
	}()
}

// alreadyProcessed returns whether a node refuses a transaction because the chain has it already.
func alreadyProcessed(failure json.RawMessage) bool {
	var parsed struct {
		Message string `json:"message"`
		Data    struct {
			Err json.RawMessage `json:"err"`
		} `json:"data"`
	}
	_ = json.Unmarshal(failure, &parsed) // what cannot be read is no such error
	return string(parsed.Data.Err) == `"AlreadyProcessed"` || strings.Contains(parsed.Message, "already been processed") ||
		strings.Contains(parsed.Message, "AlreadyProcessed")
}
