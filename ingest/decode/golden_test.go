package decode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// goldenEvent is an event as the golden files state it: fields by name, numbers and keys as text,
// null where there is none.
type goldenEvent map[string]any

type goldenTransaction struct {
	Signature string        `json:"sig"`
	Slot      *uint64       `json:"slot"`
	Index     *int          `json:"index"`
	File      string        `json:"file"`
	Events    []goldenEvent `json:"token_events"`
	Mints     []goldenMint  `json:"mints"`
}

type goldenMint struct {
	Mint     string  `json:"mint"`
	Decimals uint8   `json:"decimals"`
	Program  *string `json:"program"`
}

func loadGolden(t testing.TB, rel string) []goldenTransaction {
	t.Helper()
	var parsed struct {
		Transactions []goldenTransaction `json:"transactions"`
	}
	require.NoError(t, json.Unmarshal(readShared(t, rel), &parsed))
	require.NotEmpty(t, parsed.Transactions)
	return parsed.Transactions
}

// differences explains, by name, each way in which our events deliberately say less, more or other
// words than the goldens.
var differences = map[string]string{
	"height": "the stack height is no part of a position: slot, transaction, outer and inner index identify an instruction",
	"kind Extension: prefix": "the instruction's published name has no prefix; that it is an extension's is the payload's kind, " +
		"extension_set",
	"authority_type mint": "we use the program's own names in snake case, MintTokens is mint_tokens",
	"MetadataInitialize mint_authority": "the mint's authority signs but nothing about it changes; InitializeMint and SetAuthority " +
		"state it",
	"MetadataUpdateAuthority old": "metadata_set carries what is set; the old authority is what the fold held before",
	"launch, graduate":            "the goldens know no launchpads; TestLaunchesAreWhatTheProgramTold compares with the program's events",
	"freeze, thaw":                "the goldens list no FreezeAccount and ThawAccount; where they occur they are events of ours",
}

// usedDifferences counts the explanations that the data at hand needed. Each golden test states
// them exactly, so that no explanation hides more than it was written for.
type usedDifferences map[string]int

func (u usedDifferences) note(t testing.TB, name string) {
	_, ok := differences[name]
	require.True(t, ok, "difference %q is not explained", name)
	u[name]++
}

func TestGoldenBlocks(t *testing.T) {
	for name, want := range map[string]usedDifferences{
		"254170887.json.gz":           {"height": 68, "freeze, thaw": 2},
		"332254855.confirmedblock.pb": {"height": 2},
		"361774429.json.gz":           {"height": 2},
	} {
		t.Run(name, func(t *testing.T) {
			block := loadBlock(t, "data/blocks/"+name)
			golden := loadGolden(t, "data/golden/"+strings.SplitN(name, ".", 2)[0]+".json")
			used := usedDifferences{}
			require.Equal(t, want["height"], compareBlock(t, block, golden, used), "events")
			require.Equal(t, want, used)
		})
	}
}

// compareBlock compares a block with its golden. It returns how many events were equal.
func compareBlock(t *testing.T, block *chain.Block, golden []goldenTransaction, used usedDifferences) (total int) {
	t.Helper()
	bySignature := make(map[string]goldenTransaction)
	for _, g := range golden {
		bySignature[g.Signature] = g
	}
	for i := range block.Transactions {
		tx := &block.Transactions[i]
		signature := base58.Encode(tx.Signature[:])
		g, ok := bySignature[signature]
		delete(bySignature, signature)
		if !ok {
			require.Empty(t, decode.New(nil).Decode(tx, block.Slot, block.BlockTime), "%s is failed or a vote", signature)
			require.Empty(t, decode.Sightings(tx))
			continue
		}
		require.Equal(t, *g.Index, tx.Index)
		total += compareTransaction(t, block, tx, g, used)
	}
	require.Empty(t, bySignature, "transactions of the golden that the block does not have")
	return total
}

func TestGoldenTransactions(t *testing.T) {
	blocks := loadTransactions(t)
	used := usedDifferences{}
	total := 0
	golden := loadGolden(t, "data/golden/transactions.json")
	for _, g := range golden {
		block, ok := blocks[g.Signature]
		require.True(t, ok, g.File)
		delete(blocks, g.Signature)
		tx := &block.Transactions[0]
		if g.Index == nil {
			require.Negative(t, tx.Index, g.File)
		} else {
			require.Equal(t, *g.Index, tx.Index, g.File)
		}
		total += compareTransaction(t, block, tx, g, used)
	}
	for signature, block := range blocks {
		require.Empty(t, decode.New(nil).Decode(&block.Transactions[0], block.Slot, 0), "%s is failed", signature)
	}
	require.Len(t, golden, 49)
	require.Equal(t, 24, total, "events")
	require.Equal(t, usedDifferences{
		"launch, graduate": 3, "height": 24, "kind Extension: prefix": 2, "authority_type mint": 2, "MetadataInitialize mint_authority": 2,
		"MetadataUpdateAuthority old": 2,
	}, used)
}

func compareTransaction(t *testing.T, block *chain.Block, tx *chain.Transaction, g goldenTransaction, used usedDifferences) int {
	t.Helper()
	var events []*eventspb.TokenEvent
	for _, event := range decode.New(nil).Decode(tx, block.Slot, block.BlockTime) {
		switch schemas.KindOf(event) {
		case schemas.KindFreezeAccount, schemas.KindThawAccount:
			used.note(t, "freeze, thaw")
		case schemas.KindLaunch, schemas.KindGraduate:
			used.note(t, "launch, graduate")
		default:
			events = append(events, event)
		}
	}
	require.Len(t, events, len(g.Events), "transaction %s: %v", g.Signature, events)
	for i, event := range events {
		require.Equal(t, block.BlockTime, event.GetBlockTime())
		require.Equal(t, tx.Signature[:], event.GetSignature())
		require.Equal(t, block.Slot, event.GetPosition().GetSlot())
		want, got := normalize(t, g.Events[i], used), describe(event)
		require.Equal(t, want, got, "transaction %s, event %d", g.Signature, i)
	}
	compareMints(t, tx, g)
	return len(events)
}

func compareMints(t *testing.T, tx *chain.Transaction, g goldenTransaction) {
	t.Helper()
	want, got := make(map[string]string), make(map[string]string)
	for _, m := range g.Mints {
		program := ""
		if m.Program != nil {
			program = *m.Program
		}
		want[m.Mint] = fmt.Sprint(m.Decimals, " ", program)
	}
	for _, s := range decode.Sightings(tx) {
		got[base58.Encode(s.Mint[:])] = fmt.Sprint(s.Decimals, " ", text(s.Program[:]))
	}
	require.Equal(t, want, got, "mints of %s", g.Signature)
}

// normalize takes from a golden event what the explained differences are about.
func normalize(t *testing.T, golden goldenEvent, used usedDifferences) goldenEvent {
	t.Helper()
	event := maps.Clone(golden)
	delete(event, "height")
	used.note(t, "height")
	kind, _ := event["kind"].(string)
	if name, ok := strings.CutPrefix(kind, "Extension:"); ok {
		event["kind"] = name
		used.note(t, "kind Extension: prefix")
	}
	if event["authority_type"] == "mint" {
		event["authority_type"] = "mint_tokens"
		used.note(t, "authority_type mint")
	}
	switch kind {
	case "MetadataInitialize":
		delete(event, "mint_authority")
		used.note(t, "MetadataInitialize mint_authority")
	case "MetadataUpdateAuthority":
		delete(event, "old")
		used.note(t, "MetadataUpdateAuthority old")
	}
	return event
}

// describe writes one of our events with the goldens' field names.
func describe(event *eventspb.TokenEvent) goldenEvent {
	position := event.GetPosition()
	g := goldenEvent{
		"outer": float64(position.GetInstructionIndex()), "inner": nil, "kind": event.GetInstruction(),
		"program": map[string]string{
			schemas.ProgramToken: "spl-token", schemas.ProgramToken2022: "token-2022", schemas.ProgramMetaplex: "metaplex",
		}[text(event.GetProgramId())],
		"mint": text(event.GetMint()),
	}
	if position.InnerInstructionIndex != nil {
		g["inner"] = float64(position.GetInnerInstructionIndex())
	}
	switch payload := event.GetPayload().(type) {
	case *eventspb.TokenEvent_InitializeMint:
		g["decimals"] = float64(payload.InitializeMint.GetDecimals())
		g["mint_authority"] = optionalText(payload.InitializeMint.GetMintAuthority())
		g["freeze_authority"] = optionalText(payload.InitializeMint.GetFreezeAuthority())
	case *eventspb.TokenEvent_MintTo:
		describeAmount(g, payload.MintTo)
	case *eventspb.TokenEvent_Burn:
		describeAmount(g, payload.Burn)
	case *eventspb.TokenEvent_SetAuthority:
		g["authority_type"] = payload.SetAuthority.GetAuthorityType()
		g["old"] = optionalText(payload.SetAuthority.GetOldAuthority())
		g["new"] = optionalText(payload.SetAuthority.GetNewAuthority())
	case *eventspb.TokenEvent_ExtensionSet:
		for _, a := range payload.ExtensionSet.GetAttributes() {
			g[strings.TrimPrefix(a.GetName(), "metadata_")] = optionalText([]byte(a.GetValue()), asIs)
		}
	case *eventspb.TokenEvent_MetadataSet:
		describeMetadata(g, payload.MetadataSet)
	default:
		g["payload"] = fmt.Sprint(payload)
	}
	return g
}

func describeAmount(g goldenEvent, change *eventspb.AmountChange) {
	g["amount"] = fmt.Sprint(change.GetAmount())
	g["account"] = text(change.GetTokenAccount())
	g["authority"] = text(change.GetAuthority())
	if change.Decimals != nil {
		g["decimals"] = float64(change.GetDecimals())
	}
}

func describeMetadata(g goldenEvent, set *eventspb.MetadataSet) {
	g["metadata"] = text(set.GetMetadataAccount())
	for name, value := range map[string][]byte{"name": set.Name, "symbol": set.Symbol, "uri": set.Uri} {
		if value != nil {
			g[name] = string(value)
		}
	}
	if set.UpdateAuthority != nil {
		name := "update_authority"
		if !set.GetCreates() {
			name = "new"
		}
		g[name] = optionalText(set.UpdateAuthority)
	}
}

func text(key []byte) string {
	if len(bytes.Trim(key, "\x00")) == 0 {
		return ""
	}
	return base58.Encode(key)
}

func asIs(value []byte) string { return string(value) }

func optionalText(value []byte, encode ...func([]byte) string) any {
	if len(value) == 0 {
		return nil
	}
	if len(encode) > 0 {
		return encode[0](value)
	}
	return text(value)
}
