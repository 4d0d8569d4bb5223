package registrytest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Record is one Kafka record's value: a token event or an enrichment.
type Record struct {
	Event bool
	Value []byte
}

// chain writes records like those of mainnet. Most are mint_to and burn of pool tokens, a few of
// which are very busy. Some are launches of new tokens, six instructions each. Others are older
// mints that are sighted for the first time, then read and described. One in twenty supply changes
// is followed by a read of the mint, as enrichment does.
type chain struct {
	random  *rand.Rand
	records []Record
	mints   [][]byte
	slot    uint64
	index   uint32
	program []byte
}

func (c *chain) newKey() []byte {
	key := make([]byte, 32)
	for i := 0; i < 32; i += 8 {
		binary.LittleEndian.PutUint64(key[i:], c.random.Uint64())
	}
	return key
}

func (c *chain) write(event bool, message proto.Message) {
	value, err := proto.Marshal(message)
	if err != nil {
		panic(err) // what is made here always encodes
	}
	c.records = append(c.records, Record{event, value})
}

// event writes an event. Six events in a row are inner instructions of one transaction.
func (c *chain) event(mint []byte, instruction string, set func(*eventspb.TokenEvent)) {
	c.index++
	e := &eventspb.TokenEvent{
		Position:  &eventspb.Position{Slot: c.slot, TransactionIndex: proto.Uint32(c.index / 6), InstructionIndex: c.index % 6, InnerInstructionIndex: proto.Uint32(2)},
		BlockTime: 1_700_000_000 + int64(c.slot/2), Signature: append(c.newKey(), c.newKey()...), ProgramId: c.program, Mint: mint, Instruction: instruction,
	}
	set(e)
	c.write(true, e)
}

// amount writes a mint_to or a burn.
func (c *chain) amount(mint []byte) {
	change := &eventspb.AmountChange{Amount: c.random.Uint64N(1 << 40), TokenAccount: c.newKey(), Authority: c.newKey()}
	c.event(mint, "MintTo", func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_MintTo{MintTo: change}
		if c.random.IntN(2) == 0 {
			e.Payload = &eventspb.TokenEvent_Burn{Burn: change}
		}
	})
}

// launch writes the events of a token's creation on pump.fun under Token-2022, as recorded on
// mainnet.
func (c *chain) launch() {
	mint, authority := c.newKey(), c.newKey()
	n := len(c.mints)
	c.mints = append(c.mints, mint)
	metadata := &eventspb.MetadataSet{
		MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022, MetadataAccount: mint, Name: fmt.Appendf(nil, "The coin number %d", n),
		Symbol: fmt.Appendf(nil, "COIN%d", n), Uri: fmt.Appendf(nil, "https://ipfs.io/ipfs/bafkreihq6d%040d", n), UpdateAuthority: authority, Creates: true,
	}
	c.event(mint, "InitializeMetadataPointer", func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_ExtensionSet{ExtensionSet: &eventspb.ExtensionSet{
			Extension: registry.ExtensionMetadataPointer, Attributes: []*eventspb.Attribute{{Name: "authority"}, {Name: registry.AttributeMetadataAddress, Value: "x"}},
		}}
	})
	c.event(mint, "InitializeMint2", func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{Decimals: 6, MintAuthority: authority}}
	})
	c.event(mint, "MetadataInitialize", func(e *eventspb.TokenEvent) { e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: metadata} })
	c.event(mint, "MetadataUpdateAuthority", func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022, MetadataAccount: mint, UpdateAuthority: []byte{},
		}}
	})
	c.amount(mint)
	c.event(mint, "SetAuthority", func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_SetAuthority{SetAuthority: &eventspb.SetAuthority{AuthorityType: registry.AuthorityMintTokens, OldAuthority: authority}}
	})
	c.describe(mint, metadata.GetUri())
}

func (c *chain) describe(mint, uri []byte) {
	c.write(false, &eventspb.Enrichment{Mint: mint, Slot: c.slot, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{
		Uri: uri, Name: "The coin", Symbol: "COIN", Description: strings.Repeat("To the moon and back. ", 8), Image: "https://ipfs.io/ipfs/" + string(uri[20:]),
		Extensions: map[string]string{"website": "https://example.org", "twitter": "https://x.com/example"},
	}}})
}

// read writes a read of the mint's account.
func (c *chain) read(mint, authority []byte) {
	c.write(false, &eventspb.Enrichment{Mint: mint, Slot: c.slot, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
		ProgramId: c.program, Decimals: 9, Supply: 1<<60 + c.random.Uint64N(1<<40), MintAuthority: authority, FreezeAuthority: authority,
	}}})
}

// sight writes the sighting of an old mint that is new to the log, and what enrichment reads of it.
func (c *chain) sight() {
	mint := c.newKey()
	n := len(c.mints)
	c.mints = append(c.mints, mint)
	c.event(mint, "", func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_Sighting{Sighting: &eventspb.Sighting{Decimals: 9}}
	})
	c.read(mint, c.newKey())
	uri := fmt.Appendf(nil, "https://arweave.net/%043d", n)
	c.write(false, &eventspb.Enrichment{Mint: mint, Slot: c.slot, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{
		Metadata: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: fmt.Appendf(nil, "Old coin %d\x00\x00\x00\x00", n), Symbol: []byte("OLD\x00\x00"),
			Uri: uri, UpdateAuthority: c.newKey(), SellerFeeBasisPoints: proto.Uint32(0), TokenStandard: proto.Uint32(2),
		},
	}}})
	c.describe(mint, uri)
}

// History returns a log of at least n records. It begins with 4,000 older mints.
func History(n int) []Record {
	c := &chain{random: rand.New(rand.NewPCG(1, 2)), slot: 400_000_000, program: Mint(3)} //nolint:gosec // the same each time
	for range 4000 {
		c.sight()
	}
	for len(c.records) < n {
		switch p := c.random.IntN(100); {
		case p < 90: // the k-th busiest mint has a share of about 1/k
			k := int(math.Exp(c.random.Float64() * math.Log(float64(len(c.mints)))))
			c.amount(c.mints[len(c.mints)-k])
			if c.random.IntN(20) == 0 {
				c.read(c.mints[len(c.mints)-k], nil)
			}
		case p < 95:
			c.launch()
		default:
			c.sight()
		}
		if c.random.IntN(30) == 0 {
			c.slot++
			c.index = 0
		}
	}
	return c.records
}
