package enrich

import (
	"context"
	"fmt"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

const (
	// checksPerSecond bounds the calls of getMultipleAccounts that checks make, 50 mints each.
	checksPerSecond = 2
	// checkAfter is how long after a read it is checked: by then, other upstreams have reached its
	// slot.
	checkAfter = 2 * time.Second
	// settle is how long after a difference it is looked at again. What changes all the time
	// differs once more, and events bring its next read.
	settle = 3 * time.Second
	// checkTries is how often a difference is looked at before it counts as undecided.
	checkTries = 5
	// uncheckedMaxAge is how long a read waits for its check.
	uncheckedMaxAge = 10 * time.Minute
)

// Checker reads again, at another upstream, what one has said of a mint. If two others contradict
// it, the mint is read anew; and where more than amounts differ, what it said is taken back, as a
// newer read does not replace all of it. So what an upstream lied about is mended whether or not
// the lie is proved. One that contradicts two others at one slot is proved to lie, and is left out
// for a while.
//
// Honest upstreams differ, too: one is behind, or the account has changed in between. That is no
// lie: only answers of equal slots prove one.
type Checker struct {
	upstreams *Upstreams
	producer  kafka.RecordProducer
	past      *Past
	pace      *rate.Limiter
	// taken is how often something about a mint was taken back.
	taken *lru.Cache[pubkey.Key, int]
}

// maxTaken bounds how often a run takes back something about a mint, since the registry keeps every
// retraction: whoever may change a mint can make reads differ by a change in the right moment.
const maxTaken = 16

// NewChecker returns a checker of what is read through upstreams, and of what an earlier process
// has read; nil if there is only one.
func NewChecker(upstreams *Upstreams, producer kafka.RecordProducer, past *Past) (*Checker, error) {
	if upstreams.unchecked == nil {
		return nil, nil
	}
	taken, err := lru.New[pubkey.Key, int](maxUnchecked)
	return &Checker{upstreams: upstreams, producer: producer, past: past, pace: pause.Evenly(checksPerSecond), taken: taken}, err
}

// Run checks until ctx ends, then returns nil. It returns an error if writing to Kafka fails for
// good.
func (c *Checker) Run(ctx context.Context) error {
	if !c.awaitPast(ctx) {
		return nil
	}
	for {
		if err := pause.Await(ctx, c.pace); err != nil {
			return nil
		}
		now := c.upstreams.now()
		batch, missed := c.upstreams.unchecked.take(now.Add(-checkAfter), now, now.Add(-uncheckedMaxAge))
		c.upstreams.count(checkMissed, missed)
		if len(batch) == 0 {
			continue
		}
		check := c.first
		if batch[0].against != nil {
			check = c.second
		}
		if err := check(ctx, batch); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("check what upstreams said: %w", err)
		}
	}
}

// again puts a read back, to be looked at after a pause.
func (c *Checker) again(n *noted) {
	c.upstreams.unchecked.putBack(n, c.upstreams.now().Add(settle))
}

// first compares a batch of reads of one upstream with what another says now.
func (c *Checker) first(ctx context.Context, batch []*noted) error {
	others := c.upstreams.others(batch[0].upstream)
	var r reading
	err := solana.ErrMalformed
	if len(others) > 0 {
		r, err = c.read(ctx, others[0], batch)
	}
	for i, n := range batch {
		if err != nil || r.slot < n.slot { // nobody to ask, or it has not reached the slot
			c.again(n)
			continue
		}
		if cutOff(r, r.accounts[2*i], r.accounts[2*i+1]) {
			n.length = wholeRead
			c.again(n)
			continue
		}
		if said := saidOf(n.mint, r, i); said.whole != n.whole {
			n.against = &said
			c.again(n)
			continue
		}
		c.upstreams.count(checkAgreed, 1)
	}
	return ctx.Err()
}

// second asks the upstream and up to two others at the same time about reads that differed.
func (c *Checker) second(ctx context.Context, batch []*noted) error {
	asked := c.upstreams.others(batch[0].upstream)
	// Two others decide best. The one that differed comes last.
	slices.SortStableFunc(asked, func(a, b *upstream) int { return rank(a, batch[0]) - rank(b, batch[0]) })
	asked = asked[:min(len(asked), 2)]
	if own := c.upstreams.named(batch[0].upstream); own != nil && !c.upstreams.isOut(own) {
		asked = append(asked, own)
	}
	for range len(asked) - 1 { // Run has waited for one of them
		if err := pause.Await(ctx, c.pace); err != nil {
			return err
		}
	}
	answers := make([]reading, len(asked))
	var group errgroup.Group // all at once: only answers of equal slots prove a lie
	for i, one := range asked {
		group.Go(func() (err error) {
			answers[i], err = c.read(ctx, one, batch)
			return err
		})
	}
	_ = group.Wait() // who did not answer says nothing
	for i, n := range batch {
		var says []said
		for _, r := range answers {
			if r.accounts != nil && r.slot >= n.slot {
				says = append(says, saidOf(n.mint, r, i))
			}
		}
		if err := c.decide(ctx, n, says); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func rank(one *upstream, n *noted) int {
	if one.Name == n.against.upstream {
		return 1
	}
	return 0
}

// decide ends a difference, or puts it back if the answers do not decide it. What has not been the
// same since the first look changes all the time, and is read again for that.
func (c *Checker) decide(ctx context.Context, n *noted, says []said) error {
	truth, whole, found := most(says)
	if own := c.upstreams.named(n.upstream); !found && len(says) == 1 && c.upstreams.isOut(own) {
		truth, whole, found = says[0], true, true // the upstream lies, and there is one other
	}
	n.contradicted = c.accuse(n.mint, says) || n.contradicted
	switch {
	case whole && truth.whole == n.whole:
		c.upstreams.count(checkAgreed, 1)
		return nil
	case found && truth.shape != n.shape && truth.shape == n.against.shape:
		return c.mend(ctx, n, truth.slot, true)
	case whole && truth.shape == n.shape && truth.whole == n.against.whole:
		return c.mend(ctx, n, truth.slot, false)
	case found && truth.shape == n.shape:
		c.upstreams.count(checkMoving, 1)
		return nil
	case found:
		n.against = &truth
	}
	if n.tries++; n.tries < checkTries {
		c.again(n)
		return nil
	}
	switch {
	case found:
		return c.mend(ctx, n, truth.slot, true)
	case !n.contradicted:
		c.upstreams.count(checkMoving, 1)
		return nil
	}
	c.upstreams.count(checkUndecided, 1)
	c.upstreams.logger.Warn("upstreams contradict each other about a mint, and nothing decides: compare with a third upstream by audit",
		"mint", n.mint, "upstream", n.upstream, "slot", n.slot, "other", n.against.upstream)
	return nil
}

// accuse leaves out who contradicts, at one slot, an upstream that a third one agrees with. It
// returns whether two contradict each other at one slot.
func (c *Checker) accuse(mint pubkey.Key, says []said) (contradicted bool) {
	for _, one := range says {
		for _, other := range says {
			if one.slot != other.slot || one.whole == other.whole {
				continue
			}
			contradicted = true
			if slices.ContainsFunc(says, func(third said) bool {
				return third.upstream != one.upstream && third.upstream != other.upstream && third.whole == other.whole
			}) {
				c.upstreams.lied(c.upstreams.named(one.upstream), fmt.Sprintf("of mint %s it said at slot %d what two others contradict", mint, one.slot))
			}
		}
	}
	return contradicted
}

// most returns what two answers agree on: the whole, or else the shape. slot is the highest of
// theirs.
func most(says []said) (agreed said, whole, found bool) {
	for _, byWhole := range []bool{true, false} {
		for i, one := range says {
			for _, other := range says[i+1:] {
				if one.whole == other.whole || !byWhole && one.shape == other.shape {
					one.slot = max(one.slot, other.slot)
					return one, byWhole, true
				}
			}
		}
	}
	return said{}, false, false
}

// mend has a mint read anew, not before slot, and takes back what the upstream said of it.
func (c *Checker) mend(ctx context.Context, n *noted, slot uint64, retract bool) error {
	now := c.upstreams.now()
	// What is taken back at a slot is so whoever read it: the next read must be a later one.
	request, err := factrecord.Reread(n.mint, max(slot, n.slot+1), now)
	if err != nil {
		return err
	}
	records := []kafka.Record{request}
	if taken, _ := c.taken.Get(n.mint); retract && !n.absent && taken < maxTaken {
		c.taken.Add(n.mint, taken+1)
		decision := factrecord.Decision{At: now, Reason: "two upstreams contradict " + n.upstream}
		for _, retraction := range decision.Retract(n.mint, factrecord.Ranges([]uint64{n.slot})) {
			record, err := factrecord.Record(retraction, now)
			if err != nil {
				return err
			}
			records = append(records, record)
		}
	}
	c.upstreams.count(checkDiffered, 1)
	return c.producer.Produce(ctx, records...)
}

// read reads the accounts of a batch from one upstream.
func (c *Checker) read(ctx context.Context, one *upstream, batch []*noted) (reading, error) {
	var keys []pubkey.Key
	for _, n := range batch {
		keys = append(keys, accountsOf(n.mint)...)
	}
	return c.upstreams.ask(ctx, one, keys, solana.AccountOptions{Commitment: solana.Confirmed, DataSlice: &solana.DataSlice{Length: batch[0].length}})
}

// saidOf returns what a reading says of its i-th mint.
func saidOf(mint pubkey.Key, r reading, i int) said {
	whole, shape := digest(factsOf(mint, r.slot, r.accounts[2*i], r.accounts[2*i+1]).facts)
	return said{upstream: r.upstream, slot: r.slot, whole: whole, shape: shape}
}

// note remembers what an upstream said of a mint, to be checked.
func (u *Upstreams) note(mint pubkey.Key, r reading, facts []*eventspb.Enrichment) {
	u.noteRead(mint, r, facts, u.now())
}

// noteRead is note of a read that was made at a time.
func (u *Upstreams) noteRead(mint pubkey.Key, r reading, facts []*eventspb.Enrichment, at time.Time) {
	if u.unchecked == nil || r.upstream == "" {
		return
	}
	absent := !slices.ContainsFunc(facts, func(fact *eventspb.Enrichment) bool { return fact.GetNotAMint() == nil })
	whole, shape := digest(facts)
	missed := u.unchecked.add(&noted{
		mint: mint, said: said{upstream: r.upstream, slot: r.slot, whole: whole, shape: shape}, length: r.length, absent: absent, at: at,
	})
	u.count(checkMissed, missed)
}
