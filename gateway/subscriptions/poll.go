package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/solana"
)

const (
	// statusesPerCall is getSignatureStatuses' own limit.
	statusesPerCall = 256
	// gather is how long the first new signature waits for more signatures, so that they share a
	// call.
	gather = 10 * time.Millisecond
	// maxCatchUp bounds how many slots below the tip are reported one by one after a pause; older
	// ones are left out.
	maxCatchUp = 128
	// parentSearch is how many slots below the tip a question begins that reports only the tip, to
	// find the tip's parent.
	parentSearch = 32
	// freshAfter is how long nobody may have wanted slots or roots for a new subscription to get
	// what came meanwhile. After a longer time only the newest slot and root are reported.
	freshAfter = 10 * time.Second
)

// askAgain returns how long to wait until the upstream is asked again for a signature that somebody
// has waited for since waited ago. A transaction lands within seconds, or not at all once its
// blockhash has expired: after 150 blocks, some 30 s at 200 ms a slot.
func (s *Server) askAgain(waited time.Duration) time.Duration {
	switch {
	case waited < 30*time.Second:
		return s.cfg.pollInterval
	case waited < 2*time.Minute:
		return 4 * s.cfg.pollInterval
	}
	return 20 * s.cfg.pollInterval
}

// dueSignatures returns at most `most` signatures that the upstream is to be asked for now, and
// sets when they are due again.
func (s *Server) dueSignatures(now time.Time, most int) []string {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []string
	for signature, w := range h.watches {
		if w.due.After(now) {
			continue
		}
		if len(list) == most {
			break
		}
		w.due = now.Add(s.askAgain(now.Sub(w.since)))
		list = append(list, signature)
	}
	return list
}

// pollSignatures asks the upstream for signatures until ctx ends.
func (s *Server) pollSignatures(ctx context.Context) {
	ticker := time.NewTicker(max(s.cfg.pollInterval/4, time.Millisecond))
	defer ticker.Stop()
	var complained time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.hub.signaturesDue:
			select {
			case <-ctx.Done():
				return
			case <-time.After(gather):
			}
		}
		for list := s.dueSignatures(time.Now(), statusesPerCall); len(list) > 0 && ctx.Err() == nil; list = s.dueSignatures(time.Now(), statusesPerCall) {
			s.note(ctx, "getSignatureStatuses", s.askStatuses(ctx, list), &complained)
		}
	}
}

// note counts a call of the upstream. It logs a failure, unless one was logged within the last
// minute: complained is the time of that. It ignores a call that the end of ctx broke off.
func (s *Server) note(ctx context.Context, method string, err error, complained *time.Time) {
	switch {
	case ctx.Err() != nil:
	case err == nil:
		s.metrics.polls.WithLabelValues(method, "ok").Inc()
	default:
		s.metrics.polls.WithLabelValues(method, "error").Inc()
		if time.Since(*complained) > time.Minute {
			*complained = time.Now()
			s.deps.Logger.Warn("subscriptions cannot ask the upstream, trying again", "method", method, "err", err)
		}
	}
}

// status is one element of the answer to getSignatureStatuses.
type status struct {
	Slot          uint64          `json:"slot"`
	Err           json.RawMessage `json:"err"`
	Confirmations *uint64         `json:"confirmations"`
	Commitment    *string         `json:"confirmationStatus"`
}

// level returns the commitment that the status names.
func (t *status) level() level {
	if t.Commitment != nil {
		if l, ok := parseLevel(*t.Commitment); ok {
			return l
		}
	}
	if t.Confirmations == nil { // old nodes send no status; null confirmations mean finalized
		return finalized
	}
	return processed
}

// askStatuses asks the upstream for statuses of signatures and notifies of those that have landed.
func (s *Server) askStatuses(ctx context.Context, signatures []string) error {
	var got struct {
		Value []*status `json:"value"`
	}
	if err := s.deps.RPC.Call(ctx, "getSignatureStatuses", []any{signatures}, &got); err != nil {
		return err
	}
	if len(got.Value) != len(signatures) {
		return fmt.Errorf("getSignatureStatuses: %d answers to %d signatures", len(got.Value), len(signatures))
	}
	for i, st := range got.Value {
		if st == nil {
			continue
		}
		failure := st.Err
		if len(failure) == 0 {
			failure = json.RawMessage("null")
		}
		s.hub.landed(signatures[i], st.Slot, st.level(), failure, fromUpstream)
	}
	return nil
}

// pollSlots asks the upstream for roots, and for slots if ingest brings none, while somebody wants
// slots or roots.
func (s *Server) pollSlots(ctx context.Context) {
	ticker := time.NewTicker(s.cfg.pollInterval)
	defer ticker.Stop()
	var last, complained time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.hub.slotsWanted:
		}
		if !s.hub.follows() {
			continue
		}
		fresh := time.Since(last) > freshAfter
		last = time.Now()
		s.note(ctx, "getBlocks", s.askSlots(ctx, fresh), &complained)
	}
}

// askSlots asks the upstream for new roots and, if ingest is behind or brings none, for new slots.
// If fresh is set, it reports only the newest root and the newest slot: see freshAfter.
func (s *Server) askSlots(ctx context.Context, fresh bool) error {
	h := s.hub
	h.mu.Lock()
	slot, root, stale := h.slot, h.root, time.Since(h.fedAt) > s.cfg.feedPatience
	h.mu.Unlock()
	rooted, err := s.askBlocks(ctx, solana.Finalized, root, fresh)
	if err != nil {
		return err
	}
	for _, b := range rooted {
		h.newRoot(b.slot, fromUpstream)
		root = b.slot
	}
	if !stale && slot >= root {
		return nil // ingest tells the slots, and it is not behind
	}
	produced, err := s.askBlocks(ctx, solana.Confirmed, slot, fresh)
	for _, b := range produced {
		h.newSlot(b.slot, b.parent, fromUpstream)
	}
	return err
}

// block is a slot that has a block, with its parent's slot.
type block struct{ slot, parent uint64 }

// askBlocks returns the blocks at a commitment in slots above known, in ascending order, of the
// last maxCatchUp slots. If fresh is set or known is 0, it returns only the newest block. A block's
// parent is the block before it in the upstream's answer. For the first block of the answer it is
// assumed to be the slot before.
func (s *Server) askBlocks(ctx context.Context, commitment solana.Commitment, known uint64, fresh bool) ([]block, error) {
	options := map[string]any{"commitment": commitment}
	var tip uint64
	if err := s.deps.RPC.Call(ctx, "getSlot", []any{options}, &tip); err != nil || tip <= known {
		return nil, err
	}
	from := max(known, tip-min(tip, maxCatchUp))
	if fresh || known == 0 {
		from = tip - min(tip, parentSearch)
	}
	var slots []uint64
	if err := s.deps.RPC.Call(ctx, "getBlocks", []any{from, tip, options}, &slots); err != nil {
		return nil, err
	}
	var list []block
	before := uint64(0)
	for _, slot := range slots {
		if slot > known && slot > before && slot <= tip {
			parent := before
			if before == 0 {
				parent = slot - 1
			}
			list = append(list, block{slot, parent})
		}
		before = slot
	}
	if (fresh || known == 0) && len(list) > 1 {
		list = list[len(list)-1:]
	}
	return list, nil
}
