package apitest

import (
	"time"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Address returns a key in base58.
func Address(key []byte) string { return base58.Encode(key) }

// Event returns a token event of a mint at a slot.
func Event(mint []byte, slot uint64) *eventspb.TokenEvent {
	program, err := base58.Decode(schemas.ProgramToken)
	if err != nil {
		panic(err)
	}
	return &eventspb.TokenEvent{
		Position: &eventspb.Position{Slot: slot, TransactionIndex: new(uint32)}, BlockTime: int64(1_700_000_000 + slot),
		Signature: make([]byte, 64), ProgramId: program, Mint: mint,
	}
}

// Created returns the mint's InitializeMint.
func Created(mint []byte, slot uint64) *eventspb.TokenEvent {
	event := Event(mint, slot)
	event.Payload = &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{Decimals: 6, MintAuthority: mint}}
	return event
}

// Named returns an event that sets the mint's Metaplex name and symbol.
func Named(mint []byte, slot uint64, symbol, name string) *eventspb.TokenEvent {
	event := Event(mint, slot)
	event.Position.InstructionIndex = 1
	event.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
		MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: []byte(name), Symbol: []byte(symbol), Uri: []byte("https://example.org/x.json"),
	}}
	return event
}

// Token appends the creation and the naming of the i-th test mint, and returns its address.
func (l *Log) Token(i int, slot uint64, symbol, name string, received time.Time) string {
	mint := Mint(i)
	address := Address(mint)
	l.Message(schemas.TopicTokenEvents, address, Created(mint, slot), received)
	l.Message(schemas.TopicTokenEvents, address, Named(mint, slot, symbol, name), received)
	return address
}

// Source appends a report of the source.
func (l *Log) Source(status *eventspb.SourceStatus) {
	l.Message(schemas.TopicSlots, schemas.SourceStatusKey, status, time.Now())
}

// Token2022 returns the address of the program Token-2022.
func Token2022() []byte {
	program, err := base58.Decode(schemas.ProgramToken2022)
	if err != nil {
		panic(err)
	}
	return program
}
