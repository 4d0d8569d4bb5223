package runner

import (
	"bytes"

	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// output is everything to write for one block.
type output struct {
	slot         uint64
	timed        bool // the block has a time
	transactions int
	events       int
	legs         int
	// records are those that depend on the block alone: dead letters of what could not be read,
	// token events, swaps, facts from accounts and enrichment requests. introduce and
	// introducePools add those that depend on earlier blocks.
	records []kafka.Record
	// mints are the mints that the block introduces or mentions, each once.
	mints []mention
	// pools are the pools that the block shows, each once. poolAt has their indexes.
	pools  []*eventspb.Pool
	poolAt map[pubkey.Key]int
}

// mention is what a block shows of a mint.
type mention struct {
	mint pubkey.Key
	how  how
	// sighting is the event to write if the mint turns out to be new, see introduce; nil unless the
	// mint is sighted.
	sighting *eventspb.TokenEvent
}

type how int

const (
	// mentioned: an event is about the mint, but nothing in the block shows the mint's decimals or
	// program.
	mentioned how = iota
	// sighted: a token balance in the block shows the mint.
	sighted
	// initialized: the block has the InitializeMint, so nothing has to be asked about the mint.
	initialized
)

// mentions collects mentions in the order of the block.
type mentions struct {
	list []mention
	at   map[pubkey.Key]int
}

// add notes that the block mentions a mint. It calls sighting only if the event may be needed.
func (m *mentions) add(mint pubkey.Key, how how, sighting func() *eventspb.TokenEvent) {
	i, ok := m.at[mint]
	if !ok {
		i = len(m.list)
		m.at[mint] = i
		m.list = append(m.list, mention{mint: mint, how: mentioned})
	}
	// The first sighting or initialization stays.
	if known := &m.list[i]; how > mentioned && known.how == mentioned {
		known.how = how
		if how == sighted {
			known.sighting = sighting()
		}
	}
}

// decodeBlock decodes all transactions of the job's block. Its result depends on the job alone. It
// also updates metrics and unknowns, completes j.slot, and moves j.letters into the output.
func (r *Runner) decodeBlock(j *job) (output, error) {
	block := j.block
	out := output{slot: block.Slot, timed: block.BlockTime > 0, transactions: len(block.Transactions)}
	out.records, j.letters = j.letters, nil
	found := mentions{at: make(map[pubkey.Key]int)}
	asked := make(map[string]struct{})
	for i := range block.Transactions {
		tx := &block.Transactions[i]
		for _, event := range r.decoder.Decode(tx, block.Slot, block.BlockTime) {
			record, err := eventRecord(event, j.receivedAt)
			if err != nil {
				return output{}, err
			}
			out.records = append(out.records, record)
			out.events++
			r.metrics.event(schemas.KindOf(event))
			r.noteRaw(event)
			found.event(event)
			if request := metadataRequest(event, asked); request != nil {
				if record, err = requestRecord(request, j.receivedAt); err != nil {
					return output{}, err
				}
				out.records = append(out.records, record)
				r.metrics.request(request.GetReason())
			}
		}
		if err := r.swaps(&out, r.decoder.Swaps(tx, block.Slot, block.BlockTime), j.receivedAt); err != nil {
			return output{}, err
		}
		for _, s := range decode.Sightings(tx) {
			found.add(s.Mint, sighted, func() *eventspb.TokenEvent { return s.Event(tx, block.Slot, block.BlockTime) })
		}
	}
	if err := r.addAccounts(&out, j); err != nil {
		return output{}, err
	}
	if err := r.addBalances(&out, j); err != nil {
		return output{}, err
	}
	out.mints = found.list
	if j.slot != nil {
		j.slot.TokenEvents, j.slot.SwapLegs = uint32(out.events), uint32(out.legs)
	}
	return out, nil
}

// event notes that an event of the block is about its mint. An event may have none.
func (m *mentions) event(event *eventspb.TokenEvent) {
	if len(event.GetMint()) != len(pubkey.Key{}) {
		return
	}
	mint := pubkey.Key(event.GetMint())
	if event.GetInitializeMint() != nil {
		m.add(mint, initialized, nil)
		return
	}
	m.add(mint, mentioned, nil)
}

// metadataRequest returns a request for what an event's metadata points to: the off-chain document
// at its URI, or the metadata account itself if the event does not name the mint. It returns nil if
// this block has made the same request before. Requests of earlier blocks do not count, because
// what a block requests must not depend on the run; enrichment skips what it has.
func metadataRequest(event *eventspb.TokenEvent, asked map[string]struct{}) *eventspb.EnrichmentRequest {
	set := event.GetMetadataSet()
	if set == nil {
		return nil
	}
	request := &eventspb.EnrichmentRequest{
		Mint: event.GetMint(), Reason: eventspb.RequestReason_REQUEST_REASON_METADATA_SET, Slot: event.GetPosition().GetSlot(),
	}
	if len(event.GetMint()) == 0 {
		request.MetadataAccount = set.GetMetadataAccount()
	} else {
		request.Uri = bytes.Clone(bytes.Trim(set.GetUri(), "\x00 \t\r\n"))
		if len(request.GetUri()) == 0 {
			return nil
		}
	}
	key := string(request.GetMint()) + string(request.GetMetadataAccount()) + string(request.GetUri())
	if _, ok := asked[key]; ok {
		return nil
	}
	asked[key] = struct{}{}
	return request
}

// introduce adds the records of mints that depend on the blocks before. A sighted mint that has not
// been seen yet, or only at higher slots, gets its sighting and an enrichment request. A mint that
// is only mentioned gets a request if it has not been seen at all. An initialized mint gets neither
// of the two.
func (r *Runner) introduce(j *job) error {
	at := seenAt(j.out.slot, j.out.timed)
	for _, m := range j.out.mints {
		switch {
		case m.how == initialized:
			r.seen.add(m.mint, at)
			continue
		case m.how == sighted && !r.seen.add(m.mint, at), m.how == mentioned && r.seen.has(m.mint):
			continue
		}
		if m.sighting != nil {
			record, err := eventRecord(m.sighting, j.receivedAt)
			if err != nil {
				return err
			}
			j.out.records = append(j.out.records, record)
			r.metrics.event(schemas.KindSighting)
		}
		request := &eventspb.EnrichmentRequest{
			Mint: bytes.Clone(m.mint[:]), Reason: eventspb.RequestReason_REQUEST_REASON_SIGHTED, Slot: j.out.slot,
		}
		record, err := requestRecord(request, j.receivedAt)
		if err != nil {
			return err
		}
		j.out.records = append(j.out.records, record)
		r.metrics.request(request.GetReason())
	}
	j.out.mints = nil
	return nil
}

// acknowledge enters a job whose records are all in the log into the ledger, the metrics and the
// status.
func (r *Runner) acknowledge(j *job) {
	if j.slot != nil {
		r.ledger.Apply(j.slot)
		r.metrics.slots.WithLabelValues(statusLabel(j.slot.GetStatus())).Inc()
	}
	if j.recordOnly {
		return
	}
	r.metrics.transactions.Add(float64(j.out.transactions))
	r.status.acknowledged(&j.out, j.slot != nil && j.slot.GetStatus() == eventspb.SlotStatus_SLOT_STATUS_INGESTED)
	r.metrics.slot.Set(float64(r.status.snapshot().Slot))
}
