package enrich

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/hostqueue"
	"github.com/mintlake/mintlake/logos/pace"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// offchainStage fetches the documents behind metadata URIs. What becomes of those that cannot be
// read is in documentchecks.go.
type offchainStage struct {
	e      *Enricher
	turns  *keyed
	queues *hostqueue.Queue[*job]
	waits  *waits
	// fetched remembers the last document of each mint, failed the last one that could not be read.
	fetched *lru.Cache[pubkey.Key, fetchMark]
	failed  *lru.Cache[pubkey.Key, failMark]
	// parsing bounds the documents parsed at once: a hostile one takes many times its size in
	// memory.
	parsing *semaphore.Weighted
	// bytes is the budget of the walk over missing documents.
	bytes byteBudget

	mu     sync.Mutex
	noRoom []*job // jobs that sweep will put off
}

// fetchMark remembers a document of a mint: its URI, the slot of the request, and when it was
// fetched.
type fetchMark struct {
	uri  uriDigest
	slot uint64
	at   time.Time
}

// failMark is the fetchMark of a document that could not be read, as often in a row as failures.
type failMark struct {
	fetchMark
	failures uint32
}

// uriDigest is the start of a URI's SHA-256: URIs may be long.
type uriDigest [16]byte

func digestOf(uri string) uriDigest {
	sum := sha256.Sum256([]byte(uri))
	return uriDigest(sum[:16])
}

// gatewayHosts are the names that Fetcher.Host returns for content that any gateway can serve.
var gatewayHosts = map[string]bool{"ipfs": true, "ar": true}

func newOffchainStage(e *Enricher) (*offchainStage, error) {
	s := &offchainStage{
		e: e, turns: newKeyed(byMint), waits: newWaits(e.cfg.maxInFlight), parsing: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
		bytes: byteBudget{perSecond: e.cfg.BytesPerSecond},
	}
	s.queues = hostqueue.NewPaced[*job](e.cfg.Sockets, func(host string) int {
		if gatewayHosts[host] {
			return max(e.cfg.Sockets/4, 1) // IPFS, and as many from Arweave
		}
		return e.cfg.perHost
	})
	var err error
	if s.fetched, err = lru.New[pubkey.Key, fetchMark](cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of documents: %w", err)
	}
	if s.failed, err = lru.New[pubkey.Key, failMark](cacheSize); err != nil {
		return nil, fmt.Errorf("enrich: memory of failed documents: %w", err)
	}
	return s, nil
}

// submit passes j to the stage. It ends the jobs of the mint that wait there and are of no later
// slot: the answer to j is theirs. So a mint that is asked for all the time holds a few places of
// maxInFlight, however slow its host is. A job for which the stage has no room is put off.
func (s *offchainStage) submit(j *job) {
	for _, old := range s.turns.drop(j, func(waiting *job) bool { return waiting.slot <= j.slot }) {
		s.e.metrics.dedup.WithLabelValues(dedupOffchainReplaced).Inc()
		s.complete(old)
	}
	j.room = s.e.fetcher.Groups(j.uri)
	j.inside = s.waits.enter(j.room)
	switch {
	case !j.inside:
		s.mu.Lock()
		s.noRoom = append(s.noRoom, j)
		s.mu.Unlock()
	case s.turns.enter(j):
		s.queue(j)
	}
}

// queue queues a job; one that was tried comes first at its host, so that no attempt waits for all
// that came since.
func (s *offchainStage) queue(j *job) {
	if j.queued.IsZero() {
		j.queued = time.Now()
	}
	behind := j.request.GetReason() == eventspb.RequestReason_REQUEST_REASON_DOCUMENT_WALK
	s.queues.Put(s.e.fetcher.Host(j.uri), s.e.fetcher.Groups(j.uri), j, hostqueue.Place{Behind: behind, First: j.attempts > 0})
}

// complete ends a job that does not have its turn.
func (s *offchainStage) complete(j *job) {
	if j.inside {
		s.waits.leave(j.room)
	}
	s.e.complete(j)
}

// finish ends a job. If it has its turn, the mint's next job is queued.
func (s *offchainStage) finish(j *job) {
	s.complete(j)
	if !j.inside {
		return
	}
	if next := s.turns.leave(j); next != nil {
		s.queue(next)
	}
}

func (s *offchainStage) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.sweep(ctx) })
	for range s.e.cfg.Sockets {
		group.Go(func() error {
			for {
				turn, err := s.queues.Pop(ctx)
				if err != nil {
					return err
				}
				read, err := s.work(fetch.WithAdmission(ctx, turn.Join), turn.Job, turn.Told)
				turn.ReleaseAfter(s.bytes.spend(time.Now(), read))
				if err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// work makes one attempt at a document, unless an earlier job's answers this one. Then it ends the
// job, or lets it wait for the next attempt. It returns how many bytes were read, and calls told
// with what that says of the host.
func (s *offchainStage) work(ctx context.Context, j *job, told func(pace.Outcome)) (read int, err error) {
	if s.answered(j) {
		s.finish(j)
		return 0, nil
	}
	began := time.Now()
	if j.firstAttempt.IsZero() {
		j.firstAttempt = began
	}
	j.attempts++
	ctx, span := s.e.span(ctx, "enrich document", j)
	defer span.End()
	bounded, cancel := context.WithTimeout(ctx, s.e.cfg.patience-j.worked)
	defer cancel()
	document, read, err := s.fetch(bounded, j.uri)
	j.worked += time.Since(began)
	if ctx.Err() != nil {
		return read, ctx.Err()
	}
	told(outcomeOf(err, s.e.cfg.hostPatience))
	s.e.metrics.fetches.WithLabelValues(string(fetch.ClassOf(err))).Inc()
	span.String("outcome", string(fetch.ClassOf(err)))
	if err == nil {
		return read, s.succeed(ctx, j, document)
	}
	if delay, again := s.nextAttempt(j, err); again {
		time.AfterFunc(delay, func() { s.queue(j) })
		return read, nil
	}
	return read, s.fail(ctx, j, err)
}

// fetch returns a document, and how many bytes were read for it.
func (s *offchainStage) fetch(ctx context.Context, uri string) (*eventspb.OffchainMetadata, int, error) {
	response, err := s.e.fetcher.Document(ctx, uri)
	if err != nil {
		return nil, 0, err
	}
	read := len(response.Body)
	if err := s.parsing.Acquire(ctx, 1); err != nil {
		return nil, read, err
	}
	defer s.parsing.Release(1)
	document, err := normalise(uri, response.Body)
	if err != nil {
		return nil, read, err
	}
	keepRaw(document, response)
	return document, read, nil
}

// nextAttempt returns the delay before the next attempt; false if there is none. A job has a few
// attempts, and each delay is twice the one before. All attempts together take no longer than
// patience; the time in the host's queue does not count, because it says nothing about the
// document.
//
// If the server asks for a longer delay, it is granted within hostPatience. An attempt is not
// counted if no request was made, because the host asked for a pause or is down for a short time.
func (s *offchainStage) nextAttempt(j *job, err error) (time.Duration, bool) {
	var failed *fetch.Error
	if !errors.As(err, &failed) || !fetch.Retryable(err) {
		return 0, false
	}
	left := s.e.cfg.hostPatience - time.Since(j.firstAttempt)
	refused := failed.Class == fetch.ClassHostPaused || failed.Class == fetch.ClassHostDown
	if failed.Unasked(s.e.cfg.hostPatience) && failed.DownFor < s.e.cfg.hostPatience {
		j.attempts--
		delay := max(failed.RetryAfter, s.e.cfg.retryDelay)
		return delay, delay < left
	}
	if j.attempts >= s.mayTry(failed) {
		return 0, false
	}
	delay := max(s.e.cfg.retryDelay<<min(j.attempts-1, 4), failed.RetryAfter)
	if failed.RetryAfter > 0 && !refused {
		return delay, delay < left
	}
	// This includes a host that is down for longer: the documents of a dead host are soon given up.
	return delay, j.worked+delay < s.e.cfg.patience
}

// mayTry is how many attempts a document has. A host that is asked too fast says nothing of it.
func (s *offchainStage) mayTry(failed *fetch.Error) int {
	if failed.Class == fetch.ClassHTTPStatus && failed.Status == http.StatusTooManyRequests {
		return 4 * s.e.cfg.attempts
	}
	return s.e.cfg.attempts
}

// succeed writes the fact. It remembers the document, unless one of a later slot is remembered
// already.
func (s *offchainStage) succeed(ctx context.Context, j *job, document *eventspb.OffchainMetadata) error {
	fact := &eventspb.Enrichment{Mint: j.mint[:], Slot: j.slot, Fact: &eventspb.Enrichment_Offchain{Offchain: document}}
	if err := s.e.publish(ctx, []*eventspb.Enrichment{fact}); err != nil {
		return err
	}
	mark := s.mark(j)
	if old, ok := s.fetched.Peek(j.mint); !ok || old.slot <= mark.slot {
		s.fetched.Add(j.mint, mark)
	}
	s.failed.Remove(j.mint)
	if !j.record.Time.IsZero() {
		s.e.metrics.answerAge.WithLabelValues("offchain").Observe(mark.at.Sub(j.record.Time).Seconds())
	}
	s.finish(j)
	return nil
}

func (s *offchainStage) mark(j *job) fetchMark {
	return fetchMark{uri: digestOf(j.uri), slot: j.slot, at: s.e.now()}
}

// answered reports whether the document was fetched, or given up, not long ago. A document fetched
// at an earlier slot does not answer a request of a later one: another URI may have been current in
// between, and the fact of that one would hold. Nor does one that was taken back.
func (s *offchainStage) answered(j *job) bool {
	now, digest := s.e.now(), digestOf(j.uri)
	if j.request.GetReason() == eventspb.RequestReason_REQUEST_REASON_RETRACTED {
		s.fetched.Remove(j.mint) // its slot may be one that no later request reaches
	}
	if mark, ok := s.fetched.Get(j.mint); ok && mark.uri == digest && mark.slot >= j.slot && now.Sub(mark.at) < offchainTTL {
		s.e.metrics.dedup.WithLabelValues(dedupOffchain).Inc()
		return true
	}
	if s.failedBefore(j) {
		s.e.metrics.dedup.WithLabelValues(dedupOffchainFailures).Inc()
		return true
	}
	return false
}
