package projector

import (
	"slices"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Statement is what one message states about one mint at one position, and where that came from: a
// row of token_fact_history. The registry's facts have no origin, because the fold needs none.
type Statement struct {
	Mint pubkey.Key
	// Position is the position of all Facts. Only a fact of which the earliest holds (first_seen)
	// has the reverse of it.
	Position schemas.Position
	// Place tells the messages of one slot and signature apart: schemas.PackPlace for an
	// instruction, Position.Order for a read.
	Place uint64
	Kind  string
	// Source is the kind of message, one of SourceInstruction ….
	Source      string
	Instruction string
	Signature   string
	// TransactionIndex is -1 if the source does not state it, and for reads.
	TransactionIndex int32
	// BlockTime is in Unix seconds; 0 if the source does not state it, and for reads.
	BlockTime int64
	// Facts may be empty: an instruction can be about a mint and change nothing that the registry
	// holds.
	Facts []registry.Fact
}

// Values of token_fact_history.source.
const (
	SourceInstruction = "instruction"
	SourceSighting    = "sighting"
	SourceAccountRead = "account_read"
	SourceOffchain    = "off_chain"
	SourceLogo        = "logo"
	SourceTokenList   = "token_list"
	SourceRetraction  = "retraction"
	SourceImport      = "import"
)

// statementOfEvent returns the statement of an event; nil if the event has no mint.
func statementOfEvent(event *eventspb.TokenEvent) []Statement {
	if len(event.GetMint()) != pubkey.Size {
		return nil
	}
	position, kind := event.GetPosition(), schemas.KindOf(event)
	statement := Statement{
		Mint:             pubkey.Key(event.GetMint()),
		Position:         schemas.PositionOf(position, event.GetSignature()),
		Kind:             string(kind),
		Source:           SourceInstruction,
		Instruction:      event.GetInstruction(),
		Signature:        keyText(event.GetSignature()),
		TransactionIndex: place(position.TransactionIndex, maxTransactionIndex),
		BlockTime:        event.GetBlockTime(),
		Facts:            registry.FactsOfEvent(event),
	}
	if kind == schemas.KindSighting {
		statement.Source, statement.Instruction = SourceSighting, ""
	}
	statement.Place = schemas.PackPlace(position)
	return []Statement{statement}
}

// statementsOfEnrichment returns one statement for each position: a read has one, imported facts
// have many.
func statementsOfEnrichment(enrichment *eventspb.Enrichment) []Statement {
	source, kind := sourceOfEnrichment(enrichment)
	var statements []Statement
	for _, fact := range registry.FactsOfEnrichment(enrichment) {
		position := fact.Position
		if fact.Register == registry.RegisterFirstSeen {
			position = position.Reverse()
		}
		i := slices.IndexFunc(statements, func(s Statement) bool { return s.Position == position })
		if i < 0 {
			i = len(statements)
			statements = append(statements, Statement{
				Mint: fact.Mint, Position: position, Place: position.Order, Kind: kind, Source: source, TransactionIndex: -1,
			})
		}
		statements[i].Facts = append(statements[i].Facts, fact)
	}
	return statements
}

// sourceOfEnrichment returns the source and the kind of an enrichment.
func sourceOfEnrichment(enrichment *eventspb.Enrichment) (source, kind string) {
	switch enrichment.GetFact().(type) {
	case *eventspb.Enrichment_MintAccount:
		return SourceAccountRead, "mint_account"
	case *eventspb.Enrichment_MetaplexAccount:
		return SourceAccountRead, "metaplex_account"
	case *eventspb.Enrichment_Offchain:
		return SourceOffchain, SourceOffchain
	case *eventspb.Enrichment_Logo:
		return SourceLogo, SourceLogo
	case *eventspb.Enrichment_LogoOverride:
		return SourceLogo, "logo_override"
	case *eventspb.Enrichment_TokenListEntry:
		return SourceTokenList, SourceTokenList
	case *eventspb.Enrichment_Retraction:
		return SourceRetraction, SourceRetraction
	default:
		return SourceImport, SourceImport
	}
}
