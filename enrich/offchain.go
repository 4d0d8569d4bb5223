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

// offchainStage fetches the documents behind metadata URIs. documentchecks.go has what happens to a
// document that cannot be read.
type offchainStage struct {
	e      *Enricher
	turns  *keyed
	queues *hostqueue.Queue[*job]
	waits  *waits
	// fetched remembers the last document of each mint that was read, failed the last one that
	// could not be read.
	fetched *lru.Cache[pubkey.Key, fetchMark]
	failed  *lru.Cache[pubkey.Key, failMark]
	// parsing bounds the documents parsed at once: a hostile one takes many times its size in
	// memory.
	parsing *semaphore.Weighted
	// bytes is the budget of bytes for all documents. While it is exceeded, only the walk over
	// missing documents waits.
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

// failMark is the fetchMark of a document that could not be read; failures counts the failures in a
// row.
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
			return max(e.cfg.Sockets/4, 1) // a quarter for IPFS, and a quarter for Arweave
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

// submit passes j to the stage. It ends the waiting jobs of the same mint whose slot is not later
// than j's: the answer to j answers them, too. So a mint that is requested all the time holds only
// a few places of maxInFlight, however slow its host is. If the stage has no room for j, sweep puts
// j off.
func (s *offchainStage) submit(j *job) {
	for _, old := range s.turns.drop(j, func(waiting *job) bool { return waiting.slot <= j.slot }) {
		s.e.metrics.dedup.WithLabelValues(dedupOffchainReplaced).Inc()
		s.complete(old)
	}
	j.groups = s.e.fetcher.Groups(j.uri)
	j.inside = s.waits.enter(j.groups)
	switch {
	case !j.inside:
		s.mu.Lock()
		s.noRoom = append(s.noRoom, j)
		s.mu.Unlock()
	case s.turns.enter(j):
		s.queue(j)
	}
}

// queue queues a job for a worker. A job that was tried before goes to the front of its host's
// queue, so that its next attempt does not wait for all jobs that came since.
func (s *offchainStage) queue(j *job) {
	if j.queued.IsZero() {
		j.queued = time.Now()
	}
	background := j.request.GetReason() == eventspb.RequestReason_REQUEST_REASON_DOCUMENT_WALK
	s.queues.Put(s.e.fetcher.Host(j.uri), s.e.fetcher.Groups(j.uri), j, hostqueue.Place{Behind: background, First: j.attempts > 0})
}

// complete ends a job and gives back its place in the stage. If the job has its turn, finish must
// be called instead.
func (s *offchainStage) complete(j *job) {
	if j.inside {
		s.waits.leave(j.groups)
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

// run starts Sockets workers, and sweep. If the budget of bytes is exceeded, the place of a job of
// the walk over missing documents stays taken until the budget is kept again.
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

// work makes one attempt at a document, unless the document of an earlier job answers this one.
// Then it ends the job, or queues it again after a delay. It returns how many bytes were read, and
// calls tell with the outcome of the attempt, for the pace of the host.
func (s *offchainStage) work(ctx context.Context, j *job, tell func(pace.Outcome)) (read int, err error) {
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
	tell(outcomeOf(err, s.e.cfg.hostPatience))
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
// If the server asks for a longer delay, it gets that delay within hostPatience. An attempt is not
// counted if no request was made because the host asked for a pause, is busy, or has been down for
// less than hostPatience.
func (s *offchainStage) nextAttempt(j *job, err error) (time.Duration, bool) {
	var failed *fetch.Error
	if !errors.As(err, &failed) || !fetch.Retryable(err) {
		return 0, false
	}
	left := s.e.cfg.hostPatience - time.Since(j.firstAttempt)
	notAsked := failed.Class == fetch.ClassHostPaused || failed.Class == fetch.ClassHostDown
	if failed.Unasked(s.e.cfg.hostPatience) && failed.DownFor < s.e.cfg.hostPatience {
		j.attempts--
		delay := max(failed.RetryAfter, s.e.cfg.retryDelay)
		return delay, delay < left
	}
	if j.attempts >= s.mayTry(failed) {
		return 0, false
	}
	delay := max(s.e.cfg.retryDelay<<min(j.attempts-1, 4), failed.RetryAfter)
	if failed.RetryAfter > 0 && !notAsked {
		return delay, delay < left
	}
	// This includes a host that has been down for hostPatience or longer: the documents of a dead
	// host are soon given up.
	return delay, j.worked+delay < s.e.cfg.patience
}

// mayTry returns how many attempts a document has. It has more if the host says that it is asked
// too fast, because that says nothing about the document.
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
// between, and its document would count. A document that was taken back answers nothing, either.
func (s *offchainStage) answered(j *job) bool {
	now, digest := s.e.now(), digestOf(j.uri)
	if j.request.GetReason() == eventspb.RequestReason_REQUEST_REASON_RETRACTED {
		// Its slot may be above all later ones, and succeed keeps the highest.
		s.fetched.Remove(j.mint)
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
