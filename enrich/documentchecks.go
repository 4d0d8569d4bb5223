package enrich

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mintlake/mintlake/internal/recheck"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// A document that cannot be read gets a DocumentCheck with the reason and the time of the next try.
// At that time, package logos writes a request for the document.
const (
	// firstRetry is the time until a document that failed is read again: uploads lag behind
	// launches. It doubles with each further failure, up to longestRetry.
	firstRetry   = time.Minute
	longestRetry = 7 * 24 * time.Hour
	// firstRetryLasting is firstRetry of failures that last until somebody changes the URI or the
	// document.
	firstRetryLasting = time.Hour
	// busyRetry is firstRetry of documents for which the off-chain stage had no room or no worker.
	busyRetry = 10 * time.Minute
	// apiRetryAge is how long ago a document must have failed for a request of the API to read it
	// again, although the next try is not due yet.
	apiRetryAge = time.Minute
)

var errNoRoom = &fetch.Error{Class: fetch.ClassHostBusy, Err: errors.New("too many documents of its host wait")}

// fail ends a job whose document could not be read. It writes the check, and a dead letter if this
// is the first failure of the URI.
func (s *offchainStage) fail(ctx context.Context, j *job, err error) error {
	fact := s.check(j, err)
	if check := fact.GetDocumentCheck(); check.GetFailures() == 1 && !s.outdated(j) {
		next := time.UnixMilli(check.GetNextCheckAtMs()).UTC().Format(time.RFC3339)
		if err := s.e.writeDeadLetter(ctx, j, reasonOffchain, fmt.Sprintf("%s; next try %s", err, next)); err != nil {
			return err
		}
	}
	return s.conclude(ctx, []*job{j}, []*eventspb.Enrichment{fact})
}

// putOff ends jobs that found no room or no worker in time. It writes their checks, which say when
// to try again.
func (s *offchainStage) putOff(ctx context.Context, jobs []*job) error {
	for some := range slices.Chunk(jobs, intakeBatch) {
		facts := make([]*eventspb.Enrichment, len(some))
		for i, j := range some {
			facts[i] = s.check(j, errNoRoom)
		}
		if err := s.conclude(ctx, some, facts); err != nil {
			return err
		}
	}
	return nil
}

// outdated reports whether a document of the job's slot or of a later slot is known. Then the
// failure of the job is not written.
func (s *offchainStage) outdated(j *job) bool {
	mark, ok := s.fetched.Peek(j.mint)
	return ok && mark.slot >= j.slot
}

// conclude writes the checks of the jobs that are not outdated, and ends all jobs.
func (s *offchainStage) conclude(ctx context.Context, jobs []*job, facts []*eventspb.Enrichment) error {
	written := make([]*eventspb.Enrichment, 0, len(facts))
	for i, j := range jobs {
		if !s.outdated(j) {
			written = append(written, facts[i])
		}
	}
	if err := s.e.publish(ctx, written); err != nil {
		return err
	}
	for i, j := range jobs {
		s.failed.Add(j.mint, failMark{fetchMark: s.mark(j), failures: facts[i].GetDocumentCheck().GetFailures()})
		s.finish(j)
	}
	return nil
}

// check makes the fact of a failure. It counts on from the failures that the request knows, or that
// this process remembers.
func (s *offchainStage) check(j *job, err error) *eventspb.Enrichment {
	failures := j.request.GetFailures()
	if mark, ok := s.failed.Peek(j.mint); ok && mark.uri == digestOf(j.uri) {
		failures = max(failures, mark.failures)
	}
	failures++
	now, order := s.e.now(), uint64(failures)
	check := &eventspb.DocumentCheck{
		Uri: []byte(j.uri), Failures: failures, ErrorClass: string(fetch.ClassOf(err)), CheckedAtMs: now.UnixMilli(),
		NextCheckAtMs: now.Add(recheck.Jitter(retryDelay(fetch.ClassOf(err), failures), j.mint, order, -0.2, 0.2)).UnixMilli(),
	}
	var failed *fetch.Error
	if errors.As(err, &failed) {
		check.HttpStatus = uint32(failed.Status)
	}
	return &eventspb.Enrichment{
		Mint: j.mint[:], Slot: j.slot, Order: &order, Fact: &eventspb.Enrichment_DocumentCheck{DocumentCheck: check},
	}
}

// retryDelay is the time until the next try, before jitter.
func retryDelay(class fetch.Class, failures uint32) time.Duration {
	switch class { //nolint:exhaustive // all other failures pass, or are mended soon
	case fetch.ClassHostBusy:
		return recheck.Delay(busyRetry, longestRetry, failures)
	case fetch.ClassBadURL, fetch.ClassRefusedAddress, fetch.ClassTooLarge:
		return recheck.Delay(firstRetryLasting, longestRetry, failures)
	}
	return recheck.Delay(firstRetry, longestRetry, failures)
}

// failedBefore reports whether an earlier failure answers the job. A retry is answered if the
// document has failed again since the retry became due.
func (s *offchainStage) failedBefore(j *job) bool {
	mark, ok := s.failed.Get(j.mint)
	if !ok || mark.uri != digestOf(j.uri) {
		return false
	}
	age := s.e.now().Sub(mark.at)
	switch j.request.GetReason() { //nolint:exhaustive // for all others, nobody waits
	case eventspb.RequestReason_REQUEST_REASON_DOCUMENT_RETRY:
		return mark.failures > j.request.GetFailures()
	case eventspb.RequestReason_REQUEST_REASON_API_BATCH, eventspb.RequestReason_REQUEST_REASON_API_IMAGE:
		return age < apiRetryAge
	}
	return age < negativeTTL
}

// sweepInterval is how often sweep looks for jobs that found no room.
const sweepInterval = 500 * time.Millisecond

// sweep puts off the jobs that found no room, and those that have waited for a worker for too long.
// Otherwise each of them would hold a place of maxInFlight, and hold up the commit of later
// offsets.
func (s *offchainStage) sweep(ctx context.Context) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		jobs := s.queues.Remove(func(j *job) bool { return time.Since(j.queued) > s.e.cfg.queuePatience })
		s.mu.Lock()
		jobs = append(jobs, s.noRoom...)
		s.noRoom = nil
		s.mu.Unlock()
		if err := s.putOff(ctx, jobs); err != nil {
			return err
		}
	}
}
