package enrich

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Past is where a Checker finds the reads of an earlier process. *kafka.Admin implements Offsets.
type Past struct {
	Offsets kafka.Offsets
	// OpenTail starts to read schemas.TopicEnrichments at these offsets.
	OpenTail func(start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
}

// resume notes the reads of the last minutes again: only the process that made them knew which of
// them it had checked, and it has ended. resume looks at the last maxUnchecked records.
func (c *Checker) resume(ctx context.Context) error {
	at, ends, err := kafka.Bounds(ctx, c.past.Offsets, schemas.TopicEnrichments)
	if err != nil {
		return err
	}
	for tp, end := range ends {
		at[tp] = max(at[tp], end-int64(maxUnchecked/len(ends)))
	}
	if kafka.Covers(at, ends) {
		return nil
	}
	tail, err := c.past.OpenTail(maps.Clone(at))
	if err != nil {
		return err
	}
	defer tail.Close()
	reads := pastReads{}
	err = kafka.ReadTo(ctx, tail, at, ends, resumedBatch, func(records []kafka.Record) error {
		for i := range records {
			if c.upstreams.now().Sub(records[i].Time) < uncheckedMaxAge {
				reads.add(&records[i])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, facts := range reads {
		c.upstreams.noteRead(key.mint, reading{upstream: key.upstream, slot: key.slot, length: firstRead}, facts.list(), facts.at)
	}
	return nil
}

// resumedBatch is how many records of the past are taken at once.
const resumedBatch = 1000

// resumeRetry is how long a failed resume waits. Checks of new reads wait with it.
const resumeRetry = time.Second

// awaitPast calls resume until it succeeds. It returns false if ctx ends before that.
func (c *Checker) awaitPast(ctx context.Context) bool {
	for failures := 0; ; failures++ {
		err := c.resume(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil || errors.Is(err, context.Canceled) {
			return false
		}
		if failures == 0 {
			c.upstreams.logger.Warn("what was read before this start cannot be checked yet, trying again", "err", err)
		}
		if pause.For(ctx, resumeRetry) != nil {
			return false
		}
	}
}

// pastReads has the facts of each read.
type pastReads map[pastRead]*pastFacts

type pastRead struct {
	mint     pubkey.Key
	upstream string
	slot     uint64
}

// pastFacts are the facts of one read. mint is the fact about the mint's account, or that it is not
// a mint; metaplex is the fact about its Metaplex account. Either may be nil.
type pastFacts struct {
	mint, metaplex *eventspb.Enrichment
	at             time.Time
}

// list has the facts in the order of factsOf.
func (f *pastFacts) list() []*eventspb.Enrichment {
	return slices.DeleteFunc([]*eventspb.Enrichment{f.mint, f.metaplex}, func(fact *eventspb.Enrichment) bool { return fact == nil })
}

// add adds the fact of a record to its read, if the fact was read from an upstream.
func (p pastReads) add(record *kafka.Record) {
	fact := &eventspb.Enrichment{}
	if proto.Unmarshal(record.Value, fact) != nil || fact.GetUpstream() == "" || len(fact.GetMint()) != pubkey.Size {
		return
	}
	key := pastRead{pubkey.Key(fact.GetMint()), fact.GetUpstream(), fact.GetSlot()}
	facts := p[key]
	if facts == nil {
		facts = &pastFacts{}
	}
	switch {
	case fact.GetMintAccount() != nil, fact.GetNotAMint() != nil:
		facts.mint = fact
	case fact.GetMetaplexAccount() != nil:
		facts.metaplex = fact
	default:
		return
	}
	facts.at, p[key] = record.Time, facts
}
