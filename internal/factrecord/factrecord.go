// Package factrecord makes the records of facts that were read (accounts, documents, logos, token
// lists, imported snapshots) and of an operator's decisions. It also makes the records of token
// accounts that were read, and of requests to read a mint anew.
//
// In: a fact. Out: its record, for registry.enrichments.v1. Guarantees: equal facts give equal
// bytes.
package factrecord

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Kind returns the kind of a fact: the second part of its record's type, and a metric label.
func Kind(fact *eventspb.Enrichment) string {
	switch fact.GetFact().(type) {
	case *eventspb.Enrichment_MintAccount:
		return "mint_account"
	case *eventspb.Enrichment_MetaplexAccount:
		return "metaplex_account"
	case *eventspb.Enrichment_Offchain:
		return "offchain"
	case *eventspb.Enrichment_Logo:
		return "logo"
	case *eventspb.Enrichment_NotAMint:
		return "not_a_mint"
	case *eventspb.Enrichment_TokenListEntry:
		return "token_list_entry"
	case *eventspb.Enrichment_Facts:
		return "facts"
	case *eventspb.Enrichment_LogoOverride:
		return "logo_override"
	case *eventspb.Enrichment_DocumentCheck:
		return "document_check"
	case *eventspb.Enrichment_Retraction:
		return "retraction"
	default:
		return "unknown"
	}
}

// Type returns the type of a fact's record: the value of its header.
func Type(fact *eventspb.Enrichment) string { return "enrichment." + Kind(fact) }

// Record makes the record of a fact, whose mint must have 32 bytes. Its position is the end of the
// fact's slot if the fact has no order. A zero receivedAt says that the fact was not received from
// the chain just now: the record does not count for freshness.
func Record(fact *eventspb.Enrichment, receivedAt time.Time) (kafka.Record, error) {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(fact)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode %s fact: %w", Kind(fact), err)
	}
	position := schemas.EndOfSlot(fact.GetSlot())
	if fact.Order != nil {
		position.Order = fact.GetOrder()
	}
	record := kafka.Record{
		Topic: schemas.TopicEnrichments,
		Key:   pubkey.Key(fact.GetMint()).Append(nil),
		Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(Type(fact))},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderPosition, Value: fmt.Appendf(nil, "%016x%016x", position.Slot, position.Order)},
		},
	}
	if !receivedAt.IsZero() {
		record.Headers = append(record.Headers, kafka.Header{
			Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, receivedAt.UnixMilli(), 10),
		})
	}
	return record, nil
}
