package projector

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Batch is the content of one batch of records, by table.
type Batch struct {
	TokenEvents []*eventspb.TokenEvent
	Statements  []Statement
	Slots       []*eventspb.SlotRecord
	// LogoChecks are enrichments with a check of a logo, Documents those with the original text of
	// an off-chain document.
	LogoChecks, Documents []*eventspb.Enrichment
}

// Mints returns the mints that the batch has facts about, each once, in the order of their texts.
func (b *Batch) Mints() []pubkey.Key {
	return sortedOnce(appendMints(nil, b.Statements))
}

// appendMints appends the mints that statements have facts about.
func appendMints(mints []pubkey.Key, statements []Statement) []pubkey.Key {
	for i := range statements {
		if len(statements[i].Facts) > 0 {
			mints = append(mints, statements[i].Mint)
		}
	}
	return mints
}

func sortedOnce(mints []pubkey.Key) []pubkey.Key {
	slices.SortFunc(mints, pubkey.Compare)
	return slices.Compact(mints)
}

// Add sorts a record into the batch. An error says why the record is not a message of its topic.
func (b *Batch) Add(record *kafka.Record) error {
	switch record.Topic {
	case schemas.TopicTokenEvents:
		return b.addTokenEvent(record.Value)
	case schemas.TopicEnrichments:
		return b.addEnrichment(record.Value)
	case schemas.TopicSlots:
		return b.addSlot(record)
	default:
		return fmt.Errorf("unexpected topic %q", record.Topic)
	}
}

func (b *Batch) addTokenEvent(value []byte) error {
	event := new(eventspb.TokenEvent)
	if err := proto.Unmarshal(value, event); err != nil {
		return fmt.Errorf("decode token event: %w", err)
	}
	if n := len(event.GetMint()); n != 0 && n != 32 { // 0: the instruction names no mint
		return fmt.Errorf("token event: mint has %d bytes instead of 32", n)
	}
	if event.GetPosition() == nil {
		return fmt.Errorf("token event: no position")
	}
	b.AddEvent(event)
	return nil
}

// AddEvent adds a well-formed token event.
func (b *Batch) AddEvent(event *eventspb.TokenEvent) {
	b.Statements = append(b.Statements, statementOfEvent(event)...)
	if schemas.KindOf(event) != schemas.KindSighting {
		b.TokenEvents = append(b.TokenEvents, event)
	}
}

func (b *Batch) addEnrichment(value []byte) error {
	enrichment := new(eventspb.Enrichment)
	if err := proto.Unmarshal(value, enrichment); err != nil {
		return fmt.Errorf("decode enrichment: %w", err)
	}
	if len(enrichment.GetMint()) != 32 {
		return fmt.Errorf("enrichment: mint has %d bytes instead of 32", len(enrichment.GetMint()))
	}
	b.AddEnrichment(enrichment)
	return nil
}

// AddEnrichment adds a well-formed enrichment.
func (b *Batch) AddEnrichment(enrichment *eventspb.Enrichment) {
	b.Statements = append(b.Statements, statementsOfEnrichment(enrichment)...)
	switch {
	case enrichment.GetLogo().GetCheck() > 0:
		b.LogoChecks = append(b.LogoChecks, enrichment)
	case len(enrichment.GetOffchain().GetRaw()) > 0:
		b.Documents = append(b.Documents, enrichment)
	}
}

func (b *Batch) addSlot(record *kafka.Record) error {
	if string(record.Key) == schemas.SourceStatusKey {
		return nil // only the API needs to know how far ingest is
	}
	slot := new(eventspb.SlotRecord)
	if err := proto.Unmarshal(record.Value, slot); err != nil {
		return fmt.Errorf("decode slot: %w", err)
	}
	if slot.GetStatus() == eventspb.SlotStatus_SLOT_STATUS_UNSPECIFIED {
		return fmt.Errorf("slot %d: no status", slot.GetSlot())
	}
	switch slot.GetStatus() { //nolint:exhaustive // the others have a row
	case eventspb.SlotStatus_SLOT_STATUS_LOST: // the tables still have what the log has lost
		return nil
	case eventspb.SlotStatus_SLOT_STATUS_PARTIAL: // a row means that all of the block is here
		return nil
	}
	b.Slots = append(b.Slots, slot)
	return nil
}
