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
	// settle is how long after a difference the mint is read again to decide it. A mint that
	// changes all the time differs once more, and needs no decision, because events cause its next
	// read.
	settle = 3 * time.Second
	// checkTries is how often a difference is looked at before it counts as undecided.
	checkTries = 5
	// uncheckedMaxAge is how long a read waits for its check. Then it stays unchecked.
	uncheckedMaxAge = 10 * time.Minute
)

// Checker checks the reads of mints: it reads each mint again at another upstream. If two later
// answers contradict a read, the mint is read anew. If they differ in more than amounts, the facts
// of the read are also retracted, because a newer read does not replace all of them. So a lie is
// mended whether or not it is proved. An upstream that contradicts two others at one slot is proved
// to lie, and is left out for a while.
//
// Honest upstreams differ, too: one of them is behind, or the account has changed in between. So
// only answers of equal slots prove a lie.
type Checker struct {
	upstreams *Upstreams
	producer  kafka.RecordProducer
	past      *Past
	pace      *rate.Limiter
	// taken counts the retractions of each mint in this run.
	taken *lru.Cache[pubkey.Key, int]
}

// maxTaken bounds the retractions of one mint in a run, because the registry keeps every
// retraction: whoever may change a mint can make reads differ, by a change between two reads.
const maxTaken = 16

// NewChecker returns a checker of the reads through upstreams, and of the reads of an earlier
// process, which it finds in past. A single upstream cannot be checked against another: then
// NewChecker returns nil.
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

// again puts a read back, to be checked again after settle.
func (c *Checker) again(n *noted) {
	c.upstreams.unchecked.putBack(n, c.upstreams.now().Add(settle))
}

// first compares a batch of reads from one upstream with what another upstream says now.
func (c *Checker) first(ctx context.Context, batch []*noted) error {
	others := c.upstreams.others(batch[0].upstream)
	var r reading
	err := solana.ErrMalformed // any error: it stays if nobody can be asked
	if len(others) > 0 {
		r, err = c.read(ctx, others[0], batch)
	}
	for i, n := range batch {
		// Nobody answered, or the other upstream has not reached the slot.
		if err != nil || r.slot < n.slot {
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

// second decides about reads that differed. It asks the upstream that was read and up to two
// others, all at the same time.
func (c *Checker) second(ctx context.Context, batch []*noted) error {
	asked := c.upstreams.others(batch[0].upstream)
	// Two upstreams that were not asked yet decide best, so the one that differed comes last.
	slices.SortStableFunc(asked, func(a, b *upstream) int { return rank(a, batch[0]) - rank(b, batch[0]) })
	asked = asked[:min(len(asked), 2)]
	if own := c.upstreams.named(batch[0].upstream); own != nil && !c.upstreams.isOut(own) {
		asked = append(asked, own)
	}
	for range len(asked) - 1 { // Run has waited for the first one
		if err := pause.Await(ctx, c.pace); err != nil {
			return err
		}
	}
	answers := make([]reading, len(asked))
	var group errgroup.Group // in parallel: only answers of equal slots prove a lie
	for i, one := range asked {
		group.Go(func() (err error) {
			answers[i], err = c.read(ctx, one, batch)
			return err
		})
	}
	_ = group.Wait() // an upstream that did not answer has no accounts
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

// rank returns 1 for the upstream whose answer differed, and 0 for all others.
func rank(one *upstream, n *noted) int {
	if one.Name == n.against.upstream {
		return 1
	}
	return 0
}

// decide ends a difference, or puts the read back if the answers do not decide it. If the shape
// agrees with the read, but the amounts are not those of the first check either, the mint changes
// all the time: nothing is mended, because events cause its next read.
func (c *Checker) decide(ctx context.Context, n *noted, says []said) error {
	truth, whole, found := agreement(says)
	if own := c.upstreams.named(n.upstream); !found && len(says) == 1 && own != nil && c.upstreams.isOut(own) {
		// The upstream is left out as a liar, and only one other answered.
		truth, whole, found = says[0], true, true
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

// accuse leaves out every upstream that is proved to lie: at one slot, it contradicts another
// upstream with which a third one agrees. accuse returns whether any two upstreams contradict each
// other at one slot.
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

// agreement returns an answer with which another one agrees, in everything if whole is true, else
// only in shape. Its slot is the higher one of the two. found is false if no two answers agree.
func agreement(says []said) (agreed said, whole, found bool) {
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

// mend requests a new read of a mint, not before slot. If retract is true, it also retracts the
// facts of the read n, unless n found no mint or the mint has had maxTaken retractions.
func (c *Checker) mend(ctx context.Context, n *noted, slot uint64, retract bool) error {
	now := c.upstreams.now()
	// A retraction holds for a slot, whichever upstream was read. So the next read must be of a
	// later slot.
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

// note remembers what an upstream said of a mint, so that it will be checked.
func (u *Upstreams) note(mint pubkey.Key, r reading, facts []*eventspb.Enrichment) {
	u.noteRead(mint, r, facts, u.now())
}

// noteRead is note for a read that was made at the time at.
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
