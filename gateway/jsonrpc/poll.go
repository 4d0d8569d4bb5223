package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/solana"
)

const (
	// idleAfter is the time without a call after which each upstream is polled only once each
	// probeInterval, because nobody needs its slots then.
	idleAfter = time.Minute
	// pollHealth and pollSlot are the ids of a poll's calls. A commitment and a quote follow
	// pollSlot.
	pollHealth = `"poll-health"`
	pollSlot   = `"poll-slot-`
)

// pollCalls are the calls of one poll: the node's health, and its slot at each commitment.
var pollCalls = func() []message.Call {
	calls := []message.Call{{Version: "2.0", ID: json.RawMessage(pollHealth), Method: "getHealth"}}
	for c := range commitments {
		calls = append(calls, message.Call{Version: "2.0", ID: json.RawMessage(pollSlot + c.String() + `"`), Method: "getSlot",
			Params: json.RawMessage(`[{"commitment":"` + c.String() + `"}]`)})
	}
	return calls
}()

// poll polls all upstreams until ctx ends. A slow upstream does not delay the others.
func (g *Gateway) poll(ctx context.Context) {
	var all sync.WaitGroup
	for _, u := range g.pool.upstreams {
		all.Go(func() {
			for {
				g.refresh(ctx, u)
				wait := g.cfg.PollInterval
				if steady.Since(g.lastCall.Load()) > idleAfter {
					wait = max(g.cfg.probeInterval, wait)
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
		})
	}
	all.Wait()
}

// refresh polls one upstream now. Callers that come at the same time share a poll. While the
// circuit breaker is open, refresh does nothing. It returns no error: the breaker learns the
// outcome.
func (g *Gateway) refresh(ctx context.Context, u *upstream) {
	_, _ = u.asking.Do(ctx, "", g.cfg.pollTimeout, func(ctx context.Context) (struct{}, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(g.stopped, cancel)()
		allowed, report := u.allow()
		if !allowed {
			return struct{}{}, nil
		}
		asked := time.Now()
		err := g.pollOnce(ctx, u)
		if highest := g.pool.highest(processed); err == nil && highest > 0 {
			g.pool.time.See(highest, asked)
		}
		if g.stopped.Err() != nil {
			err = context.Canceled // a stop of the gateway says nothing about the upstream
		}
		report(err)
		return struct{}{}, err
	})
}

// pollOnce polls with one batch. If the server answers the batch with something else than a list,
// it does not support batches. From then on it is polled call by call.
func (g *Gateway) pollOnce(ctx context.Context, u *upstream) (err error) {
	defer panics.Catch(g.log, g.metrics.panics, func() { err = errInternal })
	asked := time.Now()
	if !u.single.Load() {
		body, err := json.Marshal(pollCalls)
		if err != nil {
			return err
		}
		answers, isBatch, err := g.pollWith(ctx, u, body)
		if err != nil {
			return err
		}
		if isBatch {
			return u.learnPoll(answers, asked)
		}
		u.single.Store(true)
	}
	var answers []polled
	for i := range pollCalls {
		body, err := json.Marshal(&pollCalls[i])
		if err != nil {
			return err
		}
		one, _, err := g.pollWith(ctx, u, body)
		if err != nil {
			return err
		}
		one[0].ID = pollCalls[i].ID // whatever id the server wrote
		answers = append(answers, one[0])
	}
	return u.learnPoll(answers, asked)
}

// polled is the answer to one call of a poll.
type polled struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int `json:"code"`
	} `json:"error"`
}

// pollWith posts a poll. isBatch reports that the answer was a list. Otherwise answers has exactly
// one element.
func (g *Gateway) pollWith(ctx context.Context, u *upstream, body []byte) (answers []polled, isBatch bool, err error) {
	got, err := g.attempt(ctx, u, body, poll)
	if err != nil {
		if got != nil {
			got.close()
		}
		return nil, false, err
	}
	defer got.close()
	if got.rest != nil {
		return nil, false, &upstreamError{outcome: "malformed", err: errors.New("the answer to a poll is over 64 KB")}
	}
	head := bytes.TrimSpace(got.head)
	if len(head) > 0 && head[0] == '[' {
		if err := json.Unmarshal(head, &answers); err != nil {
			return nil, false, &upstreamError{outcome: "malformed", err: errors.New("the answer to a poll is no list of JSON-RPC answers")}
		}
		return answers, true, nil
	}
	var one polled
	if err := json.Unmarshal(head, &one); err != nil {
		return nil, false, &upstreamError{outcome: "malformed", err: errors.New("the answer to a poll is no JSON-RPC answer")}
	}
	return []polled{one}, false, nil
}

// learnPoll records the slots of a poll that was sent at the time asked. It returns an error only
// if the node says that it is unhealthy: a server that lacks a method works all the same.
func (u *upstream) learnPoll(answers []polled, asked time.Time) error {
	var slots [commitments]*uint64
	for _, a := range answers {
		if a.Error != nil && a.Error.Code == solana.CodeNodeUnhealthy {
			return &upstreamError{"unhealthy", errUnhealthy, true}
		}
		for c := range commitments {
			var slot uint64
			if string(a.ID) == pollSlot+c.String()+`"` && a.Error == nil && json.Unmarshal(a.Result, &slot) == nil && anyChain.Slot(slot) == nil {
				slots[c] = &slot
			}
		}
	}
	for c, slot := range slots {
		if slot != nil {
			u.slots.learn(commitment(c), *slot, asked)
		}
	}
	return nil
}
