package api

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/requests"
	"github.com/mintlake/mintlake/internal/jsonappend"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// batchResponse is the body of the answer to POST /tokens/batch.
type batchResponse struct {
	rows    []row
	write   rowWriter
	unknown []string
	states  []mintState // nil: not asked for
}

// mintState is the state of one mint of a batch.
type mintState struct {
	mint, state, reason string
	// retryAfter is how long to wait before the next request; 0 if asking again is of no use.
	retryAfter time.Duration
}

// States of a mint in a batch. They are part of the API.
const (
	stateReady    = "ready"
	stateQueued   = "queued"
	stateNotAMint = "not_a_mint"
	stateFailed   = "failed"
)

// postBatch is POST /tokens/batch: it resolves up to 500 mints, each once, in the order asked. An
// unknown mint is queued for enrichment, unless it is no address or a bound of package requests
// forbids it. So is a known mint whose metadata document could not be read. With wait_ms the answer
// waits for the unknown mints that are queued.
func (s *Server) postBatch(c *fiber.Ctx) error {
	shape, err := queryShape(c, false)
	if err != nil {
		return err
	}
	request, err := parseBatch(c.Body(), s.maxWait)
	if err != nil {
		return err
	}
	members := make([]member, len(request.mints))
	var bufs rowBuffers
	defer bufs.free()
	s.findRows(request.mints, members, &shape, &bufs)
	client, answers, pending := s.client(c), map[pubkey.Key]requests.Answer{}, []pubkey.Key(nil)
	for i, mint := range request.mints {
		if members[i].exists {
			continue
		}
		key, err := pubkey.Parse(mint)
		if err != nil {
			continue
		}
		answers[key] = s.requests.Ask(client, key, eventspb.RequestReason_REQUEST_REASON_API_BATCH)
		if outcome := answers[key].Outcome; outcome == requests.Queued || outcome == requests.Duplicate {
			pending = append(pending, key)
		}
	}
	// Documents are asked for after the unknown mints, so that a queue that is nearly full takes
	// the mints.
	for i, mint := range request.mints {
		if !members[i].row.lacksDocument {
			continue
		}
		if key, err := pubkey.Parse(mint); err == nil {
			s.requests.AskDocument(client, key, eventspb.RequestReason_REQUEST_REASON_API_BATCH)
		}
	}
	if request.wait > 0 && len(pending) > 0 {
		s.awaitMints(client, pending, request.wait, answers)
		s.findRows(request.mints, members, &shape, &bufs)
	}
	response := batchResponse{rows: make([]row, 0, len(request.mints)), write: s.writer(shape), unknown: []string{}}
	for i, mint := range request.mints {
		state := mintState{mint: mint, state: stateReady}
		if members[i].exists {
			response.rows = append(response.rows, members[i].row)
		} else {
			response.unknown = append(response.unknown, mint)
			state = stateOf(mint, answers)
		}
		if request.states {
			response.states = append(response.states, state)
		}
	}
	return s.sendJSON(c, response)
}

// member is a mint of a batch: whether it is a member of the registry, and its row if it is.
type member struct {
	exists bool
	row    row
}

// rowBuffers hold the rows of a batch. Each part of the batch, of rowsATime mints, has a buffer of
// its own, because several goroutines fill them.
type rowBuffers [(maxBatch + rowsATime - 1) / rowsATime]*pooledBody

func (r *rowBuffers) free() {
	for _, buf := range r {
		if buf != nil {
			buf.free()
		}
	}
}

// rowsATime is how many rows a goroutine makes at a time. To make a row takes some five
// microseconds, and to wake another core up to two hundred.
const rowsATime = 32

// findRows finds the rows of the mints. If they are many, several goroutines take one part after
// the other. A goroutine that starts late finds fewer parts left, or none: the others do not wait
// for it. A panic in any of them is raised again in the caller's goroutine.
func (s *Server) findRows(mints []string, members []member, sh *shape, bufs *rowBuffers) {
	parts := (len(mints) + rowsATime - 1) / rowsATime
	var taken atomic.Int64
	var left sync.WaitGroup
	var failed atomic.Pointer[string]
	left.Add(parts)
	find := func() {
		for part := int(taken.Add(1)) - 1; part < parts; part = int(taken.Add(1)) - 1 {
			from, to := part*rowsATime, min(len(mints), (part+1)*rowsATime)
			if bufs[part] == nil {
				bufs[part] = s.buf()
			}
			if panicked := s.findSome(mints[from:to], members[from:to], sh, &bufs[part].bytes); panicked != "" {
				failed.Store(&panicked)
			}
			left.Done()
		}
	}
	for range min(parts, runtime.GOMAXPROCS(0)) - 1 {
		go find()
	}
	find()
	left.Wait()
	if text := failed.Load(); text != nil {
		panic(*text)
	}
}

// findSome finds the rows of some mints. It recovers from a panic and returns its text: in a
// goroutine of findRows, a panic would end the process.
func (s *Server) findSome(mints []string, members []member, sh *shape, buf *[]byte) (panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	for i, mint := range mints {
		members[i] = member{}
		if id, ok := s.idOf(mint); ok {
			members[i].row, members[i].exists = s.rowOf(id, sh, buf)
		}
	}
	return ""
}

// awaitMints waits until each of the mints is in the replica, or it is known that the mint will not
// come, but for wait at most. It does not wait if too many HTTP requests wait already. It enters
// what became of the mints into answers.
func (s *Server) awaitMints(client string, mints []pubkey.Key, wait time.Duration, answers map[pubkey.Key]requests.Answer) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	s.requests.Wait(ctx, client, mints, func(mint pubkey.Key) bool {
		answer, known := s.requests.Known(mint)
		if known {
			answers[mint] = answer
		}
		return s.replica.Lookup(mint) == nil && (!known || answer.Outcome == requests.Duplicate)
	})
}

// stateOf returns the state of a mint that is not in the registry.
func stateOf(mint string, answers map[pubkey.Key]requests.Answer) mintState {
	key, err := pubkey.Parse(mint)
	if err != nil {
		return mintState{mint: mint, state: stateNotAMint, reason: "no_address"}
	}
	answer, asked := answers[key]
	state := mintState{mint: mint, retryAfter: answer.RetryAfter}
	switch {
	case !asked:
		state.state, state.reason = stateNotAMint, "no_address"
	case answer.Outcome == requests.NotAMint:
		state.state, state.reason = stateNotAMint, "no_mint_there"
	case answer.Outcome == requests.Failed:
		state.state, state.reason = stateFailed, "given_up"
	case answer.Outcome == requests.Capped:
		state.state, state.reason = stateFailed, "client_limit"
	case answer.Outcome == requests.Dropped:
		state.state, state.reason = stateFailed, "queue_full"
	default:
		state.state = stateQueued
	}
	return state
}

// appendStates writes the states of a batch's mints as a JSON array.
func appendStates(dst []byte, states []mintState) []byte {
	dst = append(dst, '[')
	for i, state := range states {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonappend.String(append(dst, `{"mint":`...), state.mint)
		dst = jsonappend.String(append(dst, `,"state":`...), state.state)
		if state.reason != "" {
			dst = jsonappend.String(append(dst, `,"reason":`...), state.reason)
		}
		dst = append(dst, `,"retry_after_ms":`...)
		if state.retryAfter > 0 {
			dst = strconv.AppendInt(dst, state.retryAfter.Milliseconds(), 10)
		} else {
			dst = append(dst, "null"...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
