package logos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/recheck"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// work makes checks until ctx ends or Kafka refuses for good.
func (m *Machine) work(ctx context.Context) error {
	for {
		turn, err := m.queue.Pop(ctx)
		if err != nil {
			return err
		}
		m.metrics.started(m.deps.Now().Sub(turn.Job.due))
		err = m.check(fetch.WithAdmission(ctx, turn.Join), turn.Job.mint)
		turn.Release()
		if err != nil {
			return err
		}
		m.awaken()
	}
}

// check tries once to load the mint's logo. It writes a fact if the result is final for now: the
// logo is good or broken. If the failure may pass soon, it writes nothing and plans the next
// attempt.
func (m *Machine) check(ctx context.Context, mint pubkey.Key) error {
	e := m.table.view(mint)
	url := e.url()
	if url == "" {
		m.table.finish(mint, m.plan)
		return nil
	}
	request := imageload.Request{URL: url, Anew: e.override.Purge > e.last.GetPurge()}
	if e.checked() && len(e.last.GetContentHash()) > 0 {
		request.ETag, request.LastModified = e.last.GetEtag(), e.last.GetLastModified()
	}
	image, err := m.deps.Loader.Load(ctx, request)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.metrics.checks.WithLabelValues(string(fetch.ClassOf(err))).Inc()
	if delay, again := m.nextAttempt(&e, err); again {
		m.table.finish(mint, func(held *entry) time.Time {
			if held.url() != url {
				return m.plan(held)
			}
			if !m.costsNoAttempt(err) {
				held.attempts++
			}
			return m.deps.Now().Add(delay)
		})
		return nil
	}
	check := m.conclude(&e, url, image, err)
	fact := &eventspb.Enrichment{Mint: mint[:], Slot: e.slot(), Order: &check.Check, Fact: &eventspb.Enrichment_Logo{Logo: check}}
	if err := m.publish(ctx, fact); err != nil {
		return err
	}
	m.table.finish(mint, func(held *entry) time.Time {
		held.attempts = 0
		if !m.table.covers(mint, fact.GetSlot()) { // the slot was not retracted meanwhile
			held.foldCheck(fact.GetSlot(), check)
		}
		return m.plan(held)
	})
	return nil
}

// nextAttempt returns the delay before the next attempt, or false if a fact is to be written now.
// An attempt is free if the host asked for a pause, if its outage is short, or if its domain or
// address already holds its share of the workers. During a longer outage, an attempt counts, though
// no request is made.
func (m *Machine) nextAttempt(e *entry, err error) (time.Duration, bool) {
	var failed *fetch.Error
	switch {
	case !errors.As(err, &failed) || !fetch.Retryable(err):
		return 0, false
	case failed.Class == fetch.ClassHostPaused, failed.Class == fetch.ClassHostBusy:
		return recheck.Jitter(max(failed.RetryAfter, time.Second), e.mint, uint64(e.attempts)+1<<32, 0, 0.5), true
	case failed.Class == fetch.ClassHostDown && failed.DownFor < downPatience:
		// After a short outage, of the host or of our network, the logos that wait for the host
		// must not all be broken. So the wait ends with downPatience at the latest: from then on,
		// attempts count again.
		wait := min(failed.RetryAfter, downPatience-failed.DownFor)
		return recheck.Jitter(max(wait, time.Second), e.mint, uint64(e.attempts)+1<<32, 0, 0.5), true
	case failed.RetryAfter > 0 && failed.Class == fetch.ClassHTTPStatus && e.attempts+1 < 4*attempts:
		// A server that asks us to wait does not mean that the logo is broken: it has four times as
		// many attempts.
		return recheck.Jitter(failed.RetryAfter, e.mint, uint64(e.attempts), 0, 0.5), true
	case e.attempts+1 >= attempts:
		return 0, false
	}
	// This includes a host that has been down for downPatience or longer. The attempt then makes no
	// request, so the logos of a dead host are soon broken.
	delay := m.cfg.attemptDelay << (2 * e.attempts)
	return recheck.Jitter(delay, e.mint, uint64(e.attempts), 0, 0.5), true
}

// costsNoAttempt reports whether a failure does not count as an attempt: no request was made, for a
// reason that passes soon.
func (m *Machine) costsNoAttempt(err error) bool {
	var failed *fetch.Error
	return errors.As(err, &failed) && failed.Unasked(downPatience)
}

// conclude makes the fact of a check. It also decides when the next check is due. What is known of
// the last good picture is kept, if the URL is still the same.
func (m *Machine) conclude(e *entry, url string, image *imageload.Image, err error) *eventspb.Logo {
	now := m.deps.Now()
	check := &eventspb.Logo{Url: url, Check: e.last.GetCheck() + 1, CheckedAtMs: now.UnixMilli(), Purge: e.override.Purge}
	same := e.checked()
	if same {
		keepGood(check, e.last)
	}
	if err == nil {
		check.Status = eventspb.LogoStatus_LOGO_STATUS_OK
		if !image.NotModified {
			setGood(check, image)
		}
		delay := m.cfg.Recheck
		if immutable(url) || check.GetContentVerified() {
			delay *= 4
		}
		check.NextCheckAtMs = now.Add(recheck.Jitter(delay, e.mint, check.GetCheck(), -0.2, 0.2)).UnixMilli()
		if strings.HasPrefix(strings.ToLower(url), "data:") {
			check.NextCheckAtMs = 0 // a data URI never changes
		}
		return check
	}
	check.Status = eventspb.LogoStatus_LOGO_STATUS_BROKEN
	check.ErrorClass = string(fetch.ClassOf(err))
	var failed *fetch.Error
	if errors.As(err, &failed) {
		check.HttpStatus = uint32(failed.Status)
	}
	check.Failures = 1
	if same {
		check.Failures = min(e.last.GetFailures(), math.MaxUint32-1) + 1
	}
	delay := m.cfg.Retry
	switch {
	case fetch.ClassOf(err).Final():
		// The picture was fetched and refused. Only another picture at the same URL would change
		// that, so the next check is as late as for a good logo.
		if delay = max(m.cfg.Recheck, delay); immutable(url) {
			delay *= 4
		}
		check.NextCheckAtMs = now.Add(recheck.Jitter(delay, e.mint, check.GetCheck(), -0.2, 0.2)).UnixMilli()
		return check
	case !fetch.Retryable(err):
		delay = min(6*delay, m.cfg.MaxRetry)
	}
	delay = recheck.Delay(delay, m.cfg.MaxRetry, check.GetFailures())
	check.NextCheckAtMs = now.Add(recheck.Jitter(delay, e.mint, check.GetCheck(), -0.2, 0.2)).UnixMilli()
	return check
}

// immutable reports whether the URL names its content by a hash.
func immutable(url string) bool {
	return strings.HasPrefix(strings.ToLower(url), "ipfs:") || strings.HasPrefix(strings.ToLower(url), "ar:")
}

// keepGood copies what is known of the last good picture.
func keepGood(check, last *eventspb.Logo) {
	check.ContentHash, check.ContentType, check.Size = last.GetContentHash(), last.GetContentType(), last.GetSize()
	check.Width, check.Height, check.PerceptualHash = last.GetWidth(), last.GetHeight(), last.PerceptualHash
	check.Animated, check.ContentVerified = last.GetAnimated(), last.GetContentVerified()
	check.Etag, check.LastModified = last.GetEtag(), last.GetLastModified()
}

func setGood(check *eventspb.Logo, image *imageload.Image) {
	check.ContentHash, check.ContentType, check.Size = image.Key[:], image.Type, uint64(image.Size)
	check.Width, check.Height, check.PerceptualHash = uint32(image.Width), uint32(image.Height), image.PerceptualHash
	check.Animated, check.ContentVerified = image.Animated, image.Verified
	check.Etag, check.LastModified = image.ETag, image.LastModified
}

// plan returns when an entry is due; the zero time means never.
func (m *Machine) plan(e *entry) time.Time {
	now := m.deps.Now()
	switch {
	case e.url() == "":
		return time.Time{}
	case !e.checked():
		return now
	case e.last.GetNextCheckAtMs() == 0 && e.last.GetCheckedAtMs() != 0:
		return time.Time{} // conclude planned no other check
	case e.last.GetNextCheckAtMs() == 0:
		// The status was imported from another node, without a plan. The check comes some time
		// within the interval.
		return now.Add(recheck.Jitter(m.cfg.Recheck, e.mint, 0, -1, 0))
	}
	return time.UnixMilli(e.last.GetNextCheckAtMs())
}

// publish makes the fact of a check durable.
func (m *Machine) publish(ctx context.Context, fact *eventspb.Enrichment) error {
	record, err := factrecord.Record(fact, m.deps.Now())
	if err != nil {
		return err
	}
	err = m.deps.Producer.Produce(ctx, record)
	if err != nil {
		return fmt.Errorf("write logo fact: %w", err)
	}
	return nil
}
