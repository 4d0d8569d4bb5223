package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Facts takes back facts that are not to be believed.
type Facts struct {
	// Upstreams are the hosts that the facts were read from; all if it is empty.
	Upstreams []string
	// mints is nil for all mints.
	mints map[pubkey.Key]bool
	// slots covers the facts to take back.
	slots registry.Retracted
	// readFrom and readTo bound when the record of a fact was written; the zero time is no bound.
	readFrom, readTo time.Time
	// Events takes back facts of blocks too.
	Events bool
	// Reason is kept with the retractions.
	Reason   string
	Out      io.Writer
	Progress meter.Meter

	// found counts the facts to take back, by mint and slot.
	found map[pubkey.Key]map[uint64]int
	// earlier are the ranges that retractions in the log name already.
	earlier map[pubkey.Key][]registry.Retracted
}

// maxReasonBytes bounds the reason, which is in every retraction.
const maxReasonBytes = 200

// Choose sets which facts are taken back: those that fulfil all conditions. An empty parameter is
// no condition. At least one condition must be given.
func (r *Facts) Choose(mints []string, slots, readFrom, readTo string) (err error) {
	if len(r.Upstreams)+len(mints) == 0 && slots == "" && readFrom == "" && readTo == "" {
		return errors.New("say which facts: --upstream, --mint, --slots, --read-from or --read-to")
	}
	if r.Events && len(r.Upstreams) > 0 {
		return errors.New("facts of blocks do not tell their upstream: choose them by --mint, --slots, --read-from and --read-to")
	}
	if len(r.Reason) > maxReasonBytes {
		return fmt.Errorf("--reason has %d bytes, at most %d are kept", len(r.Reason), maxReasonBytes)
	}
	r.slots = registry.Retracted{To: ^uint64(0), Events: r.Events}
	if slots != "" {
		from, to, _ := strings.Cut(slots, "-")
		first, errFrom := strconv.ParseUint(from, 10, 64)
		last, errTo := strconv.ParseUint(to, 10, 64)
		if errFrom != nil || errTo != nil || first > last {
			return fmt.Errorf("--slots is %q, must be such as 361774000-361775000", slots)
		}
		r.slots.From, r.slots.To = first, last
	}
	if r.readFrom, err = parseTime("--read-from", readFrom); err != nil {
		return err
	}
	if r.readTo, err = parseTime("--read-to", readTo); err != nil {
		return err
	}
	for _, text := range mints {
		mint, err := pubkey.Parse(text)
		if err != nil {
			return fmt.Errorf("--mint %s is no mint: %w", text, err)
		}
		if r.mints == nil {
			r.mints = map[pubkey.Key]bool{}
		}
		r.mints[mint] = true
	}
	return nil
}

// parseTime reads the value of a flag; the zero time if it is empty.
func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %q, must be such as 2026-11-27T08:00:00Z", flag, text)
	}
	return at, nil
}

// Run prints what is to be taken back, and takes it back if yes is true.
func (r *Facts) Run(ctx context.Context, log eventlog.Log, producer kafka.RecordProducer, yes bool) error {
	highest := uint64(0)
	if err := eventlog.ReadSlots(ctx, log, func(slot *eventspb.SlotRecord) { highest = max(highest, slot.GetSlot()) }); err != nil {
		return fmt.Errorf("repair facts: %w", err)
	}
	if err := r.find(ctx, log); err != nil {
		return fmt.Errorf("repair facts: read the log: %w", err)
	}
	r.tell()
	switch {
	case len(r.found) == 0:
		return nil
	case !yes:
		_, err := fmt.Fprintln(r.Out, "nothing is written; --yes takes them back")
		return err
	}
	return r.write(ctx, producer, highest)
}

// find reads the log and collects the slots of the facts to take back. It leaves out slots that an
// earlier retraction covers.
func (r *Facts) find(ctx context.Context, log eventlog.Log) error {
	r.found, r.earlier = map[pubkey.Key]map[uint64]int{}, map[pubkey.Key][]registry.Retracted{}
	topics := []string{schemas.TopicEnrichments}
	if r.Events {
		topics = append(topics, schemas.TopicTokenEvents)
	}
	all, err := log.Records(ctx, topics)
	if err != nil {
		return err
	}
	count, stop := r.Progress.Begin("look for the facts", "records", all)
	defer stop()
	err = log.Read(ctx, topics, func(record *kafka.Record) {
		count(1)
		if mint, err := pubkey.Parse(string(record.Key)); err == nil && (r.mints == nil || r.mints[mint]) {
			r.look(record)
		}
	})
	for mint, slots := range r.found {
		maps.DeleteFunc(slots, func(slot uint64, _ int) bool {
			return slices.ContainsFunc(r.earlier[mint], func(e registry.Retracted) bool { return e.HasSlot(slot) && (e.Events || !r.Events) })
		})
		if len(slots) == 0 {
			delete(r.found, mint)
		}
	}
	return err
}

// look collects the slots of a record's facts that are to be taken back. If the record is a
// retraction, it also collects the ranges. It ignores a malformed record, which has no facts.
func (r *Facts) look(record *kafka.Record) {
	var facts []registry.Fact
	switch record.Topic {
	case schemas.TopicTokenEvents:
		event := new(eventspb.TokenEvent)
		if proto.Unmarshal(record.Value, event) == nil {
			facts = registry.FactsOfEvent(event)
		}
	case schemas.TopicEnrichments:
		fact := new(eventspb.Enrichment)
		if proto.Unmarshal(record.Value, fact) != nil || len(fact.GetMint()) != pubkey.Size {
			return
		}
		mint := pubkey.Key(fact.GetMint())
		r.earlier[mint] = append(r.earlier[mint], registry.RetractedBy(fact)...)
		isOne := func(host string) bool { return strings.EqualFold(host, fact.GetUpstream()) }
		if len(r.Upstreams) > 0 && !slices.ContainsFunc(r.Upstreams, isOne) {
			return
		}
		facts = registry.FactsOfEnrichment(fact)
		// NotAMint makes no fact of the registry, but stops further reads of the mint.
		if fact.GetNotAMint() != nil {
			facts = append(facts, registry.Fact{Mint: mint, Position: schemas.EndOfSlot(fact.GetSlot())})
		}
	}
	if record.Time.Before(r.readFrom) || !r.readTo.IsZero() && record.Time.After(r.readTo) {
		return
	}
	for i := range facts {
		if !r.slots.Covers(&facts[i]) {
			continue
		}
		if r.found[facts[i].Mint] == nil {
			r.found[facts[i].Mint] = map[uint64]int{}
		}
		r.found[facts[i].Mint][root.SlotOf(&facts[i])]++
	}
}

// mostListed is how many mints are listed at most.
const mostListed = 20

// tell prints what is to be taken back.
func (r *Facts) tell() {
	if len(r.found) == 0 {
		_, _ = fmt.Fprintln(r.Out, "there is nothing to take back: no such fact is in the log, or all are taken back already")
		return
	}
	first, last, ranges, facts := ^uint64(0), uint64(0), 0, 0
	for n, mint := range r.sorted() {
		list := factrecord.Ranges(slices.Collect(maps.Keys(r.found[mint])))
		ranges += len(list)
		for _, n := range r.found[mint] {
			facts += n
		}
		first, last = min(first, list[0].GetFrom()), max(last, list[len(list)-1].GetTo())
		if n < mostListed {
			_, _ = fmt.Fprintf(r.Out, "%s: %s\n", mint, textOf(list))
		}
	}
	if more := len(r.found) - mostListed; more > 0 {
		_, _ = fmt.Fprintf(r.Out, "and %d more mints\n", more)
	}
	_, _ = fmt.Fprintf(r.Out, "%d facts of %d mints, at slots %d to %d in %d ranges\n", facts, len(r.found), first, last, ranges)
}

func (r *Facts) sorted() []pubkey.Key {
	return slices.SortedFunc(maps.Keys(r.found), pubkey.Compare)
}

// textOf returns the first five ranges of a list as text, and how many more there are.
func textOf(list []*eventspb.SlotRange) string {
	var texts []string
	for _, slots := range list[:min(len(list), 5)] {
		text := fmt.Sprintf("slots %d to %d", slots.GetFrom(), slots.GetTo())
		if slots.GetFrom() == slots.GetTo() {
			text = fmt.Sprintf("slot %d", slots.GetFrom())
		}
		texts = append(texts, text)
	}
	if more := len(list) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more ranges", more))
	}
	return strings.Join(texts, ", ")
}

// write writes the retractions, and then for each mint a request to read it anew: at a slot behind
// its ranges that were taken back. A range that ends above reached, the highest slot in the ledger,
// does not count, because the chain may never reach its end.
func (r *Facts) write(ctx context.Context, producer kafka.RecordProducer, reached uint64) error {
	decision := factrecord.Decision{At: time.Now(), Events: r.Events, Reason: r.Reason}
	for mints := range slices.Chunk(r.sorted(), mintsAtOnce) {
		var retractions, requests []kafka.Record
		for _, mint := range mints {
			ranges, after := factrecord.Ranges(slices.Collect(maps.Keys(r.found[mint]))), uint64(0)
			for _, retraction := range decision.Retract(mint, ranges) {
				record, err := factrecord.Record(retraction, decision.At)
				if err != nil {
					return err
				}
				retractions = append(retractions, record)
			}
			for _, slots := range ranges {
				if slots.GetTo() <= reached {
					after = slots.GetTo() + 1
				}
			}
			request, err := factrecord.Reread(mint, after, decision.At)
			if err != nil {
				return err
			}
			requests = append(requests, request)
		}
		if err := producer.Produce(ctx, append(retractions, requests...)...); err != nil {
			return fmt.Errorf("repair facts: write: %w; run it again for what is left", err)
		}
	}
	_, err := fmt.Fprintf(r.Out, "taken back; %d mints are folded again, and read anew where accounts can be read\n", len(r.found))
	return err
}

// mintsAtOnce is how many mints' records are written in one call.
const mintsAtOnce = 500
